// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Metadata is one version of an object, without its content.
type Metadata = metav1.PartialObjectMetadata

// MetadataOf reads the metadata of an object.
func MetadataOf(object map[string]any) (*Metadata, error) {
	m := &Metadata{}
	return m, runtime.DefaultUnstructuredConverter.FromUnstructured(object, m)
}

// GetMetadata gets the metadata of one object.
func (c *Cluster) GetMetadata(ctx context.Context, kind Kind, namespace, name string) (*Metadata, error) {
	return c.metadata.Resource(kind.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// EachMetadata yields the metadata of the objects of a kind page by page: of one namespace, or of all if namespace is empty. It
// stops at the first error: a *ListError, or the error of yield.
func (c *Cluster) EachMetadata(ctx context.Context, kind Kind, namespace string, yield func([]Metadata) error) error {
	return listError(ctx, kind.GroupVersionKind, c.eachMetadata(ctx, kind.Resource, namespace, metav1.ListOptions{}, func(items []Metadata) error {
		return yielded(yield(items))
	}))
}

// Annotate sets one annotation of an object, or removes it if value is nil. It patches only this version: if the object has
// changed since, it returns a conflict.
func (c *Cluster) Annotate(ctx context.Context, kind Kind, version *Metadata, annotation string, value *string) error {
	var patch struct {
		Metadata struct {
			UID             types.UID          `json:"uid,omitempty"`
			ResourceVersion string             `json:"resourceVersion"`
			Annotations     map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	patch.Metadata.UID, patch.Metadata.ResourceVersion = version.UID, version.ResourceVersion
	patch.Metadata.Annotations = map[string]*string{annotation: value}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.metadata.Resource(kind.Resource).Namespace(version.Namespace).
		Patch(ctx, version.Name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: "kubectl-sunset"})
	return err
}
