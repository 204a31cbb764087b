// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// EventsAbout returns the Events about the objects of a name, of all kinds. Those about cluster-scoped objects are in namespace
// default.
func (c *Cluster) EventsAbout(ctx context.Context, namespace, name string) (found []eventsv1.Event, err error) {
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("regarding.name", name).String()}
	err = c.eachObject(ctx, eventsv1.SchemeGroupVersion.WithResource("events"), namespace, options, decoded(&found))
	return found, err
}

// Ledgers returns the RetentionLedgers.
func (c *Cluster) Ledgers(ctx context.Context) (found []v1alpha1.RetentionLedger, err error) {
	err = c.eachObject(ctx, v1alpha1.GroupVersion.WithResource("retentionledgers"), "", metav1.ListOptions{}, decoded(&found))
	return found, err
}

// decoded returns a function that decodes objects into a list.
func decoded[T any](into *[]T) func([]unstructured.Unstructured) error {
	return func(items []unstructured.Unstructured) error {
		for i := range items {
			var one T
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &one); err != nil {
				return err
			}
			*into = append(*into, one)
		}
		return nil
	}
}
