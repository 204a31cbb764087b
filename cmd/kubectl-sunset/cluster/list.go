// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
)

// Query selects the objects to read.
type Query struct {
	Kind         schema.GroupVersionKind
	Namespace    string // empty means all; a cluster-scoped object has none
	Selector     string // labels; empty means all
	MetadataOnly bool   // only metadata is needed
}

// pageSize is the number of objects in a page.
const pageSize = 500

// Page is a list of objects. It is a preview.Batch.
type Page []map[string]any

// Objects returns the objects.
func (p Page) Objects() ([]map[string]any, error) { return p, nil }

// ListError reports that a kind cannot be listed. The caller can continue with other kinds.
type ListError struct {
	Kind schema.GroupVersionKind
	Err  error
}

// Error names the kind and the cause.
func (e *ListError) Error() string {
	return fmt.Sprintf("cannot list %s of %s: %v", e.Kind.Kind, e.Kind.GroupVersion(), e.Err)
}

// Unwrap returns the cause.
func (e *ListError) Unwrap() error { return e.Err }

// Each yields the objects page by page. It stops at the first error: a *ListError, or the error of yield.
func (c *Cluster) Each(ctx context.Context, q Query, yield func(Page) error) error {
	kind, err := c.served(q.Kind.GroupKind(), q.Kind.Version)
	if err != nil {
		return &ListError{q.Kind, err}
	}
	if q.Namespace != "" && !kind.Namespaced {
		return nil
	}
	options := metav1.ListOptions{LabelSelector: q.Selector}
	if isSecret(q.Kind.GroupKind()) {
		options.FieldSelector = engine.UnheldSecrets
	}
	if !q.MetadataOnly {
		return listError(ctx, q.Kind, c.eachObject(ctx, kind.Resource, q.Namespace, options, func(items []unstructured.Unstructured) error {
			page := make(Page, len(items))
			for i := range items {
				page[i] = items[i].Object
			}
			return yielded(yield(page))
		}))
	}
	return listError(ctx, q.Kind, c.eachMetadata(ctx, kind.Resource, q.Namespace, options, func(items []Metadata) error {
		page := make(Page, len(items))
		for i := range items {
			if page[i], err = withoutContent(&items[i], q.Kind); err != nil {
				return err
			}
		}
		return yielded(yield(page))
	}))
}

// yieldError is an error of the caller's yield. It is not an error of the list.
type yieldError struct{ error }

func yielded(err error) error {
	if err == nil {
		return nil
	}
	return yieldError{err}
}

// listError returns a *ListError, unless the error comes from yield or the command was canceled.
func listError(ctx context.Context, kind schema.GroupVersionKind, err error) error {
	var refused yieldError
	switch {
	case errors.As(err, &refused):
		return refused.error
	case err == nil, ctx.Err() != nil:
		return err
	default:
		return &ListError{kind, err}
	}
}

// eachObject yields the objects of a resource page by page.
func (c *Cluster) eachObject(ctx context.Context, r schema.GroupVersionResource, namespace string, options metav1.ListOptions, yield func([]unstructured.Unstructured) error) error {
	return pages(ctx, options, func(options metav1.ListOptions) (string, error) {
		list, err := c.objects.Resource(r).Namespace(namespace).List(ctx, options)
		if err != nil {
			return "", err
		}
		c.count(len(list.Items))
		return list.GetContinue(), yield(list.Items)
	})
}

// eachMetadata is eachObject for the metadata of objects.
func (c *Cluster) eachMetadata(ctx context.Context, r schema.GroupVersionResource, namespace string, options metav1.ListOptions, yield func([]Metadata) error) error {
	return pages(ctx, options, func(options metav1.ListOptions) (string, error) {
		list, err := c.metadata.Resource(r).Namespace(namespace).List(ctx, options)
		if err != nil {
			return "", err
		}
		c.count(len(list.Items))
		return list.GetContinue(), yield(list.Items)
	})
}

func (c *Cluster) count(objects int) {
	if c.Listed != nil {
		c.Listed(objects)
	}
}

// withoutContent returns an object with kind and metadata only.
func withoutContent(metadata *metav1.PartialObjectMetadata, kind schema.GroupVersionKind) (map[string]any, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(metadata)
	if err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = kind.GroupVersion().String(), kind.Kind
	return object, nil
}

// pages requests one page after the other. If the snapshot of a long listing expires, it continues with the present objects. A
// preview tolerates this inconsistency.
func pages(ctx context.Context, options metav1.ListOptions, list func(metav1.ListOptions) (next string, err error)) error {
	options.Limit = pageSize
	for {
		next, err := list(options)
		if token := resume(err); token != "" && token != options.Continue {
			next, err = token, nil
		}
		if err != nil || next == "" {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		options.Continue = next
	}
}

// resume returns the continue token of a listing whose snapshot expired, or an empty string for any other error.
func resume(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}
