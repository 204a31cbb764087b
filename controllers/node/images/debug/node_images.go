// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Path is the path of the images on the metrics endpoint of an agent.
const Path = "/images"

// NodeImages is the images of a node at one moment.
type NodeImages struct {
	Taken  time.Time      `json:"taken"` // when the snapshot of the node began
	Node   engine.Node    `json:"node"`
	Images []engine.Image `json:"-"`
	// Uses has one use of each image in words for people, by image ID. An image may have more uses.
	Uses map[string]string `json:"uses,omitempty"`
}

type fields NodeImages

// list is the JSON form of a NodeImages: a list of objects, as in files, with additional fields.
type list struct {
	metav1.TypeMeta
	fields
	Items []map[string]any `json:"items"`
}

var listType = metav1.TypeMeta{APIVersion: "v1", Kind: "List"}

// MarshalJSON implements json.Marshaler.
func (s *NodeImages) MarshalJSON() ([]byte, error) {
	l := list{TypeMeta: listType, fields: fields(*s), Items: make([]map[string]any, len(s.Images))}
	for i := range s.Images {
		l.Items[i] = s.Images[i].Object()
	}
	return json.Marshal(l)
}

var errForm = errors.New("not a list of the images of a node")

// Read decodes the output of MarshalJSON.
func Read(data []byte) (*NodeImages, error) {
	var l list
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &l); err != nil {
		return nil, fmt.Errorf("%w: %w", errForm, err)
	}
	if l.TypeMeta != listType || l.Taken.IsZero() || l.Node.Name == "" {
		return nil, errForm
	}
	s := NodeImages(l.fields)
	for i, object := range l.Items {
		image, err := imageOf(object)
		if err != nil {
			return nil, fmt.Errorf("item %d of the list: %w", i+1, err)
		}
		s.Images = append(s.Images, *image)
	}
	return &s, nil
}

func imageOf(object map[string]any) (*engine.Image, error) {
	if version := v1alpha1.ImageKind.GroupVersion().String(); object["apiVersion"] != version || object["kind"] != v1alpha1.ImageKind.Kind {
		return nil, fmt.Errorf("want kind %s of %s, not %v of %v", v1alpha1.ImageKind.Kind, version, object["kind"], object["apiVersion"])
	}
	return engine.ImageOf(object)
}
