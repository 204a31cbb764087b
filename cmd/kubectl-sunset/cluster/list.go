package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
)

// Query says which objects to read.
type Query struct {
	Kind         schema.GroupVersionKind
	Namespace    string // empty means all; cluster-scoped objects are in none
	Selector     string // labels; empty means all
	MetadataOnly bool   // nothing but metadata is needed
}

// pageSize is how many objects are held at a time.
const pageSize = 500

// Page is some objects.
type Page []map[string]any

// Objects gives them.
func (p Page) Objects() ([]map[string]any, error) { return p, nil }

// ListError says that a kind cannot be listed. Other kinds may well be.
type ListError struct {
	Kind schema.GroupVersionKind
	Err  error
}

// Error says which kind, and why.
func (e *ListError) Error() string {
	return fmt.Sprintf("cannot list %s of %s: %v", e.Kind.Kind, e.Kind.GroupVersion(), e.Err)
}

// Unwrap gives why.
func (e *ListError) Unwrap() error { return e.Err }

// Each gives the objects page by page. It stops at the first error: a *ListError, or what yield gave.
func (c *Cluster) Each(ctx context.Context, q Query, yield func(Page) error) error {
	mapping, err := c.mapper.RESTMapping(q.Kind.GroupKind(), q.Kind.Version)
	if err != nil {
		return &ListError{q.Kind, err}
	}
	if q.Namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return nil
	}
	options := metav1.ListOptions{LabelSelector: q.Selector}
	if isSecret(q.Kind.GroupKind()) {
		options.FieldSelector = engine.UnheldSecrets
	}
	if !q.MetadataOnly {
		return listError(ctx, q.Kind, c.eachObject(ctx, mapping.Resource, q.Namespace, options, func(items []unstructured.Unstructured) error {
			page := make(Page, len(items))
			for i := range items {
				page[i] = items[i].Object
			}
			return yielded(yield(page))
		}))
	}
	return listError(ctx, q.Kind, c.eachMetadata(ctx, mapping.Resource, q.Namespace, options, func(items []Metadata) error {
		page := make(Page, len(items))
		for i := range items {
			if page[i], err = withoutContent(&items[i], q.Kind); err != nil {
				return err
			}
		}
		return yielded(yield(page))
	}))
}

// yieldError is what a caller's function gave. It is no error of the list.
type yieldError struct{ error }

func yielded(err error) error {
	if err == nil {
		return nil
	}
	return yieldError{err}
}

// listError is a *ListError, but for what yield gave, and for what ends the command.
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

// eachObject gives the objects of a resource page by page.
func (c *Cluster) eachObject(ctx context.Context, r schema.GroupVersionResource, namespace string, options metav1.ListOptions, yield func([]unstructured.Unstructured) error) error {
	return pages(ctx, options, func(options metav1.ListOptions) (string, error) {
		list, err := c.objects.Resource(r).Namespace(namespace).List(ctx, options)
		if err != nil {
			return "", err
		}
		return list.GetContinue(), yield(list.Items)
	})
}

// eachMetadata is the same for objects without their content.
func (c *Cluster) eachMetadata(ctx context.Context, r schema.GroupVersionResource, namespace string, options metav1.ListOptions, yield func([]Metadata) error) error {
	return pages(ctx, options, func(options metav1.ListOptions) (string, error) {
		list, err := c.metadata.Resource(r).Namespace(namespace).List(ctx, options)
		if err != nil {
			return "", err
		}
		return list.GetContinue(), yield(list.Items)
	})
}

// withoutContent is an object of a kind that has metadata only.
func withoutContent(metadata *metav1.PartialObjectMetadata, kind schema.GroupVersionKind) (map[string]any, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(metadata)
	if err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = kind.GroupVersion().String(), kind.Kind
	return object, nil
}

// pages asks for one page after the other. When a listing takes so long that its snapshot expires, it goes on with the
// objects as they are by then, which a preview can live with.
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

// resume is where a listing whose snapshot expired can go on; empty when err is anything else.
func resume(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}
