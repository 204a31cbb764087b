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
