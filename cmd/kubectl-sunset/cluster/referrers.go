// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
)

// Referrers is a batch of objects of a kind of a Table. They are not decoded yet. Decoding reads only the fields that contain
// references.
type Referrers struct {
	table *extract.Table
	kind  schema.GroupVersionKind
	items []json.RawMessage
}

// Objects decodes the objects.
func (r *Referrers) Objects() ([]map[string]any, error) {
	decoder, objects := r.table.NewDecoder(r.kind), make([]map[string]any, len(r.items))
	for i, item := range r.items {
		object, err := decoder.Decode(item)
		if err != nil {
			return nil, fmt.Errorf("decode a %s: %w", r.kind.Kind, err)
		}
		object["apiVersion"], object["kind"] = r.kind.GroupVersion().String(), r.kind.Kind
		objects[i] = object
	}
	return objects, nil
}

// EachReferrer yields all objects of a kind of a Table page by page. If the cluster certainly does not serve the kind, it
// yields none and returns absent. It stops at the first error: a *ListError, or the error of yield.
func (c *Cluster) EachReferrer(ctx context.Context, t *extract.Table, kind schema.GroupVersionKind, yield func(*Referrers) error) (absent bool, err error) {
	place, err := referrers.Find(ctx, c.raw, t, kind)
	if err != nil {
		return false, &ListError{kind, err}
	}
	if place == nil {
		return true, nil
	}
	err = pages(ctx, metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		items, next, err := c.rawPage(ctx, place, options)
		if err != nil {
			return "", err
		}
		return next, yielded(yield(&Referrers{table: t, kind: kind, items: items}))
	})
	return false, listError(ctx, kind, err)
}

// acceptMetadataList is the media type of a list with only the metadata of its objects.
const acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// rawPage reads a page of objects without decoding them.
func (c *Cluster) rawPage(ctx context.Context, place *referrers.Endpoint, options metav1.ListOptions) (items []json.RawMessage, next string, err error) {
	accept := listwatch.AcceptJSON
	if place.MetadataOnly {
		accept = acceptMetadataList
	}
	data, err := listwatch.Body(c.raw.Get().AbsPath(place.Path...).SetHeader("Accept", accept).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.SchemeGroupVersion).Do(ctx))
	if err != nil {
		return nil, "", err
	}
	var list struct {
		Metadata metav1.ListMeta
		Items    []json.RawMessage
	}
	err = json.Unmarshal(data, &list)
	return list.Items, list.Metadata.Continue, err
}
