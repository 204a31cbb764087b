// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/peers/compare"
)

// endpointsKnown waits until each Service with a selector has EndpointSlices, which kor reads. The running Pods get an address first,
// because the samples have none.
func (a *applier) endpointsKnown(ctx context.Context, s *compare.State) error {
	for i, o := range s.Objects {
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		if o.GetKind() != "Pod" || phase != string(corev1.PodRunning) {
			continue
		}
		if err := a.setAddress(ctx, client.ObjectKeyFromObject(o), fmt.Sprintf("10.0.0.%d", i%250+1)); err != nil {
			return err
		}
	}
	for _, o := range s.Objects {
		if !hasEndpoints(o) {
			continue
		}
		if err := a.waitForEndpoints(ctx, client.ObjectKeyFromObject(o)); err != nil {
			return fmt.Errorf("wait for the EndpointSlices of Service %s/%s: %w", o.GetNamespace(), o.GetName(), err)
		}
	}
	return nil
}

// setAddress gives a running Pod an address. A Pod without conditions becomes ready.
func (a *applier) setAddress(ctx context.Context, key client.ObjectKey, address string) error {
	var pod corev1.Pod
	if err := a.client.Get(ctx, key, &pod); err != nil {
		return err
	}
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	if len(pod.Status.Conditions) == 0 {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return a.client.Status().Update(ctx, &pod)
}

// hasEndpoints reports whether a controller writes EndpointSlices for an object.
func hasEndpoints(o *unstructured.Unstructured) bool {
	selector, _, _ := unstructured.NestedMap(o.Object, "spec", "selector")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "type")
	return o.GetKind() == "Service" && len(selector) > 0 && kind != string(corev1.ServiceTypeExternalName)
}

func (a *applier) waitForEndpoints(ctx context.Context, key client.ObjectKey) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var slices discoveryv1.EndpointSliceList
		err := a.client.List(ctx, &slices, client.InNamespace(key.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: key.Name})
		return err == nil && len(slices.Items) > 0, err
	})
}
