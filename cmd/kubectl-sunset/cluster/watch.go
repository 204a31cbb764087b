// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// WatchPolicies calls changed with each policy that exists, and again after each change and deletion, until the context ends or
// changed returns an error. It watches all policies, or the RetentionPolicies of one namespace. After a watch ends, it lists and
// watches again, so it may repeat a policy that has not changed. It calls changed in several goroutines.
func (c *Cluster) WatchPolicies(ctx context.Context, namespace string, changed func(object map[string]any, deleted bool) error) error {
	group, ctx := errgroup.WithContext(ctx)
	watchKind := func(kind Kind) {
		group.Go(func() error { return c.watchPolicies(ctx, kind, namespace, changed) })
	}
	watchKind(namespacedPolicies)
	if namespace == "" {
		watchKind(clusterPolicies)
	}
	if err := group.Wait(); !wait.Interrupted(err) {
		return err
	}
	return nil
}

func (c *Cluster) watchPolicies(ctx context.Context, kind Kind, namespace string, changed func(map[string]any, bool) error) error {
	client := c.objects.Resource(kind.Resource).Namespace(namespace)
	policies := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
	_, err := watchtools.UntilWithSync(ctx, policies, &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return false, nil
		}
		return false, changed(object.Object, event.Type == watch.Deleted)
	})
	return err
}
