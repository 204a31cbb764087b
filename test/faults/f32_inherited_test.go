// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// leftovers deletes ReplicaSets with a label and without a controller, and finished Pods with the label.
const leftovers = `
mode: Enforce
rules:
- name: replicasets
  target: {apiVersion: apps/v1, kind: ReplicaSet, selector: {matchLabels: {env: preview}}}
  eligible: "!controllerOf(object).hasValue()"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
- name: pods
  target: {apiVersion: v1, kind: Pod, selector: {matchLabels: {env: preview}}}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 0s
`

// TestF32ChildrenInheritTheLabel has a Deployment whose ReplicaSet and Pods inherit the label that policies select. Sunset
// keeps what is in use and what other controllers manage, and deletes a ReplicaSet without an owner and a finished Pod.
func TestF32ChildrenInheritTheLabel(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Nodes: true})
	deployment := web(s, 3)
	orphan := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: preview},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](0), Selector: deployment.Spec.Selector.DeepCopy(),
			Template: *deployment.Spec.Template.DeepCopy()},
	}
	orphan.Spec.Selector.MatchLabels = map[string]string{"app": "orphan"}
	orphan.Spec.Template.Labels = map[string]string{"app": "orphan", "env": "preview"}
	s.MustCreate(orphan)
	ended := s.Pod("ended", cluster.Succeeded, 0, func(p *corev1.Pod) { p.Labels = preview })
	kept := managed(s)
	s.Policy("leftovers", leftovers)
	s.Policy("deployments", `
mode: Enforce
rules:
- name: deployments
  target: {apiVersion: apps/v1, kind: Deployment, selector: {matchLabels: {env: old}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`)
	s.Sunset(scenario.Start{})
	s.Gone(orphan, ended)
	sets := &appsv1.ReplicaSetList{}
	if err := s.List(t.Context(), sets, client.InNamespace(s.Namespace), client.MatchingLabels{"app": "web"}); err != nil || len(sets.Items) != 1 {
		t.Fatalf("%d ReplicaSets: %v", len(sets.Items), err)
	}
	alive, err := running(s, 3)
	expect.NoError(t, err)
	s.Stays(3*time.Second, append(append(alive, kept...), deployment, &sets.Items[0])...)
	s.Calm()
}

// managed creates finished Pods that other controllers manage.
func managed(s *scenario.Scenario) (pods []client.Object) {
	s.Helper()
	for i, pod := range []metav1.ObjectMeta{
		{Labels: map[string]string{"kueue.x-k8s.io/multikueue-origin": "manager"}},
		{Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"}},
		{Annotations: map[string]string{"argocd.argoproj.io/tracking-id": "apps:/Pod:" + s.Namespace + "/managed-2"}},
		{Annotations: map[string]string{"helm.sh/hook": "test"}},
	} {
		pods = append(pods, s.Pod(fmt.Sprint("managed-", i), cluster.Succeeded, 0, func(p *corev1.Pod) {
			p.Labels, p.Annotations = labels.Merge(preview, pod.Labels), labels.Merge(p.Annotations, pod.Annotations)
		}))
	}
	return pods
}

// web creates a Deployment and waits until its Pods run.
func web(s *scenario.Scenario, replicas int) *appsv1.Deployment {
	s.Helper()
	inherited := map[string]string{"app": "web", "env": "preview"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: inherited},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: inherited},
				Spec:       corev1.PodSpec{NodeName: cluster.NodeName(0), Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
			},
		},
	}
	s.MustCreate(d)
	s.Eventually(func() error {
		_, err := running(s, replicas)
		return err
	})
	return d
}

// running returns the Pods of the Deployment, if the wanted number runs and none is terminating.
func running(s *scenario.Scenario, want int) ([]client.Object, error) {
	pods := &corev1.PodList{}
	if err := s.List(s.Context(), pods, client.InNamespace(s.Namespace), client.MatchingLabels{"app": "web"}); err != nil {
		return nil, err
	}
	var all []client.Object
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			all = append(all, p)
		}
	}
	if len(all) != want || len(pods.Items) != want {
		return nil, fmt.Errorf("%d of %d Pods run", len(all), len(pods.Items))
	}
	return all, nil
}
