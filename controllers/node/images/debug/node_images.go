// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Path is the path of the images on the metrics endpoint of an agent.
const Path = "/images"

// NodeImages is the images of a node at one moment.
type NodeImages struct {
	Taken  time.Time // when the snapshot of the node began
	Node   engine.Node
	Images []engine.Image
	// Uses has one use of each image in words for people, by image ID. An image may have more uses.
	Uses map[string]string
}

// form is the JSON form of a NodeImages: a list of objects, as in files, with additional fields.
type form struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Taken      time.Time         `json:"taken"`
	Node       node              `json:"node"`
	Uses       map[string]string `json:"uses,omitempty"`
	Items      []map[string]any  `json:"items"`
}

// node is an engine.Node with the field names that rules use.
type node struct {
	Name       string                        `json:"name"`
	Labels     map[string]string             `json:"labels"`
	Filesystem *v1alpha1.NodeImageFilesystem `json:"imageFs,omitempty"`
}

// The type of a list of objects of any kind.
const (
	listVersion = "v1"
	listKind    = "List"
)

// MarshalJSON implements json.Marshaler.
func (s *NodeImages) MarshalJSON() ([]byte, error) {
	f := form{
		APIVersion: listVersion, Kind: listKind, Taken: s.Taken.UTC(), Node: node(s.Node), Uses: s.Uses,
		Items: make([]map[string]any, len(s.Images)),
	}
	for i := range s.Images {
		f.Items[i] = s.Images[i].Object()
	}
	return json.Marshal(f)
}

var errForm = errors.New("not a list of the images of a node")

// Read decodes the output of MarshalJSON.
func Read(data []byte) (*NodeImages, error) {
	var f form
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", errForm, err)
	}
	if f.APIVersion != listVersion || f.Kind != listKind || f.Taken.IsZero() || f.Node.Name == "" {
		return nil, errForm
	}
	s := &NodeImages{Taken: f.Taken, Node: engine.Node(f.Node), Images: make([]engine.Image, len(f.Items)), Uses: f.Uses}
	for i, object := range f.Items {
		image, err := imageOf(object)
		if err != nil {
			return nil, fmt.Errorf("item %d of the list: %w", i+1, err)
		}
		s.Images[i] = *image
	}
	return s, nil
}

func imageOf(object map[string]any) (*engine.Image, error) {
	if version := v1alpha1.ImageKind.GroupVersion().String(); object["apiVersion"] != version || object["kind"] != v1alpha1.ImageKind.Kind {
		return nil, fmt.Errorf("want kind %s of %s, not %v of %v", v1alpha1.ImageKind.Kind, version, object["kind"], object["apiVersion"])
	}
	return engine.ImageOf(object)
}
