// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KindNames returns names by which Kind finds the Changeable kinds: resources with their group.
func (c *Cluster) KindNames() (names []string, err error) {
	kinds, err := c.changeable()
	for _, kind := range kinds {
		names = append(names, kind.Resource.GroupResource().String())
	}
	return names, err
}

// ObjectNames returns the names of the objects of a kind that have labels; all if labels is empty. namespace only applies to
// namespaced kinds.
func (c *Cluster) ObjectNames(ctx context.Context, kind Kind, namespace, labels string) (names []string, err error) {
	if !kind.Namespaced {
		namespace = ""
	}
	err = c.eachMetadata(ctx, kind.Resource, namespace, metav1.ListOptions{LabelSelector: labels}, func(items []Metadata) error {
		for _, item := range items {
			names = append(names, item.Name)
		}
		return nil
	})
	return names, err
}
