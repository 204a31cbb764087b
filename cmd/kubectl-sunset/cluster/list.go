package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	list := c.full
	if q.MetadataOnly {
		list = c.metadataOf
	}
	var refused error
	options := metav1.ListOptions{LabelSelector: q.Selector}
	if isSecret(q.Kind.GroupKind()) {
		options.FieldSelector = engine.UnheldSecrets
	}
	err = pages(ctx, options, func(options metav1.ListOptions) (string, error) {
		page, next, err := list(ctx, mapping.Resource, q, options)
		if err != nil {
			return "", err
		}
		refused = yield(page)
		return next, refused
	})
	if err != nil && refused == nil && ctx.Err() == nil {
		return &ListError{q.Kind, err}
	}
	return err
}

func (c *Cluster) full(ctx context.Context, r schema.GroupVersionResource, q Query, options metav1.ListOptions) (Page, string, error) {
	list, err := c.objects.Resource(r).Namespace(q.Namespace).List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	page := make(Page, len(list.Items))
	for i := range list.Items {
		page[i] = list.Items[i].Object
	}
	return page, list.GetContinue(), nil
}

// metadataOf gives objects that have metadata only, each with its own kind.
func (c *Cluster) metadataOf(ctx context.Context, r schema.GroupVersionResource, q Query, options metav1.ListOptions) (Page, string, error) {
	list, err := c.metadata.Resource(r).Namespace(q.Namespace).List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	page := make(Page, len(list.Items))
	for i := range list.Items {
		object, err := withoutContent(&list.Items[i], q.Kind)
		if err != nil {
			return nil, "", err
		}
		page[i] = object
	}
	return page, list.GetContinue(), nil
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
