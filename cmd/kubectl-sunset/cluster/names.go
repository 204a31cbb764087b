package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PolicyNames are the names of the policies of a namespace, or without one of the cluster.
func (c *Cluster) PolicyNames(ctx context.Context, namespace string) ([]string, error) {
	if namespace == "" {
		return c.names(ctx, ClusterPolicies.Resource, "")
	}
	return c.names(ctx, NamespacedPolicies.Resource, namespace)
}

// NamespaceNames are the names of all namespaces.
func (c *Cluster) NamespaceNames(ctx context.Context) ([]string, error) {
	return c.names(ctx, namespaces, "")
}

// NodeNames are the names of all nodes.
func (c *Cluster) NodeNames(ctx context.Context) ([]string, error) {
	return c.names(ctx, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "")
}

// ObjectNames are the names of the objects of a kind, in a namespace where it has any.
func (c *Cluster) ObjectNames(ctx context.Context, kind Kind, namespace string) ([]string, error) {
	if !kind.Namespaced {
		namespace = ""
	}
	return c.names(ctx, kind.Resource, namespace)
}

// KindNames are the names by which Kind finds the Changeable kinds: those of resources, with their group.
func (c *Cluster) KindNames() (names []string, err error) {
	kinds, err := c.Changeable()
	for _, kind := range kinds {
		names = append(names, kind.Resource.GroupResource().String())
	}
	return names, err
}

func (c *Cluster) names(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]string, error) {
	var found []string
	err := pages(ctx, metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		list, err := c.metadata.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return "", err
		}
		for _, item := range list.Items {
			found = append(found, item.Name)
		}
		return list.GetContinue(), nil
	})
	return found, err
}
