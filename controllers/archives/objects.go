// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/policy"
)

// Objects reads from the API server, without a cache. It is safe for concurrent use. An error means that nothing is known.
type Objects interface {
	// Get returns an object as the API server sends it. The error is NotFound if none has its name.
	Get(ctx context.Context, t policy.Target) ([]byte, error)
	// List passes the objects of one page to visit.
	List(ctx context.Context, q Query, visit Visit) (Page, error)
	// Log opens the last lines of the log of a container.
	Log(ctx context.Context, namespace, pod, container string, lines int64) (io.ReadCloser, error)
}

// Visit takes an object of a listing and its kind. The JSON is as the API server sends it: often without apiVersion and kind. It is
// valid only during the call. An error ends the listing.
type Visit func(kind schema.GroupVersionKind, data []byte) error

// Query selects the objects of a listing.
type Query struct {
	Kind      schema.GroupVersionKind // without a version: the one that the API server prefers
	Namespace string                  // empty for all
	Labels    string                  // label selector; empty for all
	Fields    string                  // field selector; empty for all
	Continue  string                  // of the page before; empty for the first page
}

// Page says what follows a page of a listing.
type Page struct {
	Continue  string // for the next page; empty after the last one
	Remaining int64  // how many objects follow; 0 if that is not known
}

// Cluster reads from an API server. It implements Objects.
type Cluster struct {
	rest   rest.Interface
	mapper meta.RESTMapper
}

// NewCluster makes a Cluster. The mapper must find kinds that are added later.
func NewCluster(config *rest.Config, client *http.Client, mapper meta.RESTMapper) (*Cluster, error) {
	c := rest.CopyConfig(config)
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	r, err := rest.UnversionedRESTClientForConfigAndClient(c, client)
	if err != nil {
		return nil, err
	}
	return &Cluster{rest: r, mapper: mapper}, nil
}

// path returns the path of the objects of a kind: all, or those in a namespace.
func (c *Cluster) path(kind schema.GroupVersionKind, namespace string) ([]string, *meta.RESTMapping, error) {
	var versions []string
	if kind.Version != "" {
		versions = []string{kind.Version}
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), versions...)
	if err != nil {
		return nil, nil, err
	}
	path := listwatch.Root(mapping.Resource.GroupVersion())
	if namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		path = append(path, "namespaces", namespace)
	}
	return append(path, mapping.Resource.Resource), mapping, nil
}

// Get implements Objects.
func (c *Cluster) Get(ctx context.Context, t policy.Target) ([]byte, error) {
	path, mapping, err := c.path(t.Kind, t.Namespace)
	if err != nil {
		return nil, err
	}
	data, err := listwatch.Body(c.rest.Get().AbsPath(append(path, t.Name)...).SetHeader("Accept", listwatch.AcceptJSON).Do(ctx))
	return data, explain(err, mapping.Resource.GroupResource().String(), "get")
}

// List implements Objects.
func (c *Cluster) List(ctx context.Context, q Query, visit Visit) (Page, error) {
	path, mapping, err := c.path(q.Kind, q.Namespace)
	if err != nil {
		return Page{}, err
	}
	passOn := visitor(func(data []byte) error { return visit(mapping.GroupVersionKind, data) })
	list := &listwatch.Collection{Client: c.rest, Path: path, LabelSelector: q.Labels, FieldSelector: q.Fields, Decoder: passOn}
	page, err := list.Page(ctx, metav1.ListOptions{Limit: listwatch.PageSize, Continue: q.Continue})
	if err != nil {
		return Page{}, explain(err, mapping.Resource.GroupResource().String(), "list")
	}
	p := Page{Continue: page.Continue}
	if page.RemainingItemCount != nil {
		p.Remaining = *page.RemainingItemCount
	}
	return p, nil
}

// visitor passes the objects of a listing on. It implements listwatch.Decoder.
type visitor func(data []byte) error

func (v visitor) Object(data []byte) (listwatch.Object, error)  { return nil, v(data) }
func (v visitor) Deleted(data []byte) (listwatch.Object, error) { return nil, v(data) }

// Log implements Objects.
func (c *Cluster) Log(ctx context.Context, namespace, pod, container string, lines int64) (io.ReadCloser, error) {
	log, err := c.rest.Get().AbsPath("/api/v1/namespaces", namespace, "pods", pod, "log").
		SpecificallyVersionedParams(&corev1.PodLogOptions{Container: container, TailLines: &lines}, scheme.ParameterCodec, corev1.SchemeGroupVersion).
		Stream(ctx)
	return log, explain(err, "pods/log", "get")
}

// explain adds to an error about a missing permission how to grant it.
func explain(err error, resource, verb string) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%s: %w", listwatch.Refused(resource, verb), err)
	}
	return err
}
