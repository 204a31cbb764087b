// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/audit"
)

// Kind is a kind that the cluster serves.
type Kind struct {
	schema.GroupVersionKind
	Resource   schema.GroupVersionResource
	Namespaced bool
}

func kindOf(m *meta.RESTMapping) Kind {
	return Kind{m.GroupVersionKind, m.Resource, m.Scope.Name() == meta.RESTScopeNameNamespace}
}

// served returns a kind as the cluster serves it: in a version, or without one in the version that the cluster prefers. If it does not
// serve the kind, the error is one of meta.IsNoMatchError.
func (c *Cluster) served(kind schema.GroupKind, version ...string) (Kind, error) {
	m, err := c.mapper.RESTMapping(kind, version...)
	if err != nil {
		return Kind{}, err
	}
	return kindOf(m), nil
}

// Kind finds a kind as kubectl does: by resource, singular or short name, with or without group and version, or by kind.
func (c *Cluster) Kind(name string) (Kind, error) {
	m, err := resource.NewBuilder(c.flags).Unstructured().ResourceTypes(name).SelectAllParam(true).Do().ResourceMapping()
	if err != nil {
		return Kind{}, fmt.Errorf("find kind %s: %w", name, err)
	}
	return kindOf(m), nil
}

// Preferred returns the version of a kind that the cluster prefers; zero if it does not serve the kind, or cannot be asked.
func (c *Cluster) Preferred(kind schema.GroupKind) schema.GroupVersionKind {
	preferred, _ := c.served(kind)
	return preferred.GroupVersionKind
}

// At returns the same kind at another version, or under another name for the same objects. It returns kind if the cluster does
// not serve that version.
func (c *Cluster) At(kind Kind, version schema.GroupVersionKind) Kind {
	if at, err := c.served(version.GroupKind(), version.Version); err == nil {
		return at
	}
	return kind
}

// Changeable returns the kinds whose objects can be listed and patched, each once, by name and group. If discovery fails for
// some groups, it returns an error together with the kinds that it found. It does not use cached discovery documents, which lack
// new kinds.
func (c *Cluster) Changeable() ([]Kind, error) {
	c.kinds.Invalidate()
	return c.changeable()
}

func (c *Cluster) changeable() ([]Kind, error) {
	lists, err := discovery.ServerPreferredResources(c.kinds)
	if lists == nil && err != nil {
		return nil, fmt.Errorf("discover kinds: %w", err)
	}
	seen := sets.New[schema.GroupKind]()
	var kinds []Kind
	for _, list := range lists {
		gv, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			err = errors.Join(err, parseErr)
			continue
		}
		for _, r := range list.APIResources {
			kind := Kind{gv.WithKind(r.Kind), gv.WithResource(r.Name), r.Namespaced}
			if stored := policy.StoredAs(kind.GroupVersionKind); canChange(r) && !seen.Has(stored) {
				seen.Insert(stored)
				kinds = append(kinds, kind)
			}
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group)) })
	return kinds, err
}

func canChange(r metav1.APIResource) bool {
	return slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "patch")
}

// Serving returns a kind as the cluster serves it in exactly this version.
func (c *Cluster) Serving(kind schema.GroupVersionKind) (Kind, error) {
	served, err := c.served(kind.GroupKind(), kind.Version)
	if err == nil {
		return served, nil
	}
	if other := c.Preferred(kind.GroupKind()); !other.Empty() {
		return served, fmt.Errorf("%w; the cluster serves %s: change the manifest to this version, and create the object with kubectl", err, other.GroupVersion())
	}
	return served, fmt.Errorf("%w; ensure that its CustomResourceDefinition is installed", err)
}

// Rediscover finds out again which kinds the cluster serves.
func (c *Cluster) Rediscover() { meta.MaybeResetRESTMapper(c.mapper) }

// IsBuiltIn reports whether Kubernetes itself serves a group.
func IsBuiltIn(group string) bool {
	return scheme.Scheme.IsGroupRegistered(group) || group == "apiextensions.k8s.io"
}

// Live gets the object with a name, in another version if the cluster does not serve that one; an empty one if there is none, or the
// cluster does not serve its kind. The namespace of a cluster-scoped object does not matter.
func (c *Cluster) Live(ctx context.Context, name audit.Object) (*unstructured.Unstructured, error) {
	kind := schema.FromAPIVersionAndKind(name.APIVersion, name.Kind)
	object, err := c.Owner(ctx, policy.Owner{Kind: kind, Name: name.Name}, name.Namespace)
	if meta.IsNoMatchError(err) {
		if kind, err = c.Preferred(kind.GroupKind()), nil; !kind.Empty() {
			object, err = c.Owner(ctx, policy.Owner{Kind: kind, Name: name.Name}, name.Namespace)
		}
	}
	return &unstructured.Unstructured{Object: object}, err
}

// Owner gets the owner of an object in a namespace. It returns nil if the owner does not exist.
func (c *Cluster) Owner(ctx context.Context, o policy.Owner, namespace string) (map[string]any, error) {
	kind, err := c.served(o.Kind.GroupKind(), o.Kind.Version)
	if err != nil {
		return nil, err
	}
	if !kind.Namespaced {
		namespace = ""
	}
	object, err := c.Get(ctx, kind, namespace, o.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// Get gets one object. For a Secret it gets only the metadata, and the type if that type holds the Secret.
func (c *Cluster) Get(ctx context.Context, kind Kind, namespace, name string) (map[string]any, error) {
	if isSecret(kind.GroupKind()) {
		return c.secret(ctx, kind, namespace, name)
	}
	object, err := c.objects.Resource(kind.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.Object, nil
}
