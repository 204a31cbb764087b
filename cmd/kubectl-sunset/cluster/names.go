package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PolicyNames returns the names of the RetentionPolicies of a namespace, or of the ClusterRetentionPolicies if namespace is
// empty.
func (c *Cluster) PolicyNames(ctx context.Context, namespace string) ([]string, error) {
	if namespace == "" {
		return c.names(ctx, ClusterPolicies.Resource, "")
	}
	return c.names(ctx, NamespacedPolicies.Resource, namespace)
}

// NamespaceNames returns the names of all namespaces.
func (c *Cluster) NamespaceNames(ctx context.Context) ([]string, error) {
	return c.names(ctx, namespaces, "")
}

// NodeNames returns the names of all nodes.
func (c *Cluster) NodeNames(ctx context.Context) ([]string, error) {
	return c.names(ctx, nodes, "")
}

// ObjectNames returns the names of the objects of a kind. namespace only applies to namespaced kinds.
func (c *Cluster) ObjectNames(ctx context.Context, kind Kind, namespace string) ([]string, error) {
	if !kind.Namespaced {
		namespace = ""
	}
	return c.names(ctx, kind.Resource, namespace)
}

// KindNames returns names by which Kind finds the Changeable kinds: resources with their group.
func (c *Cluster) KindNames() (names []string, err error) {
	kinds, err := c.Changeable()
	for _, kind := range kinds {
		names = append(names, kind.Resource.GroupResource().String())
	}
	return names, err
}

func (c *Cluster) names(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]string, error) {
	var found []string
	err := c.eachMetadata(ctx, resource, namespace, metav1.ListOptions{}, func(items []Metadata) error {
		for _, item := range items {
			found = append(found, item.Name)
		}
		return nil
	})
	return found, err
}
