// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// unusedByWorkloads deletes Services that select nothing, and autoscalers of workloads that do not exist, after the quiet period.
const unusedByWorkloads = `
mode: Enforce
rules:
- name: services
  target: {apiVersion: v1, kind: Service}
  eligible: has(object.spec.selector) && selected.count == 0 && references.count == 0
  startTime: object.metadata.creationTimestamp
  ttl: 0s
- name: autoscalers
  target: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}
  eligible: targets.missing.exists(t, t.kind == 'Deployment')
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// missingTargetsAndSelectors: the template of a Deployment that is scaled to zero matches the selector of a Service. When the
// Deployment is deleted, the Service and the autoscaler follow after the quiet period.
func (w *env) missingTargetsAndSelectors() {
	w.Helper()
	view := w.view(w.policy("unused", unusedByWorkloads))
	w.sunset(func(c *manager.Config) { c.Rest = view.Config() })
	d := w.deployment("web", w.configMap("site", nil).Name, 0, 1)
	web, retired := w.service("web", map[string]string{"app": "web"}), w.service("retired", map[string]string{"app": "retired"})
	external := w.service("external", nil)
	scales, lost := w.autoscaler("web"), w.autoscaler("gone")
	w.gone(retired, lost)
	w.stays(time.Second, web, external, scales)
	began := time.Now()
	w.delete(d)
	w.gone(web, scales)
	if early := quiet - time.Since(began); early > 0 {
		w.Errorf("deleted %s early after the Deployment", early)
	}
	w.stays(0, external)
}

// finishedWithoutPods deletes finished Jobs whose Pods are gone, after the quiet period.
const finishedWithoutPods = `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object) && references.count == 0
  startTime: finishedAt(object)
  ttl: 0s
references:
- from: {apiVersion: v1, kind: Pod}
  to: Job.batch
  names: object.metadata.?ownerReferences.orValue([]).map(o, o.kind == 'Job' && o.apiVersion.startsWith('batch/'), o.name)
`

// declaredOwners: a policy declares that Pods refer to the Job that owns them. A finished Job stays while one of its Pods exists.
func (w *env) declaredOwners() {
	w.Helper()
	view := w.view(w.policy("jobs", finishedWithoutPods))
	w.sunset(func(c *manager.Config) { c.Rest = view.Config() })
	alone, owner := w.job("alone", cluster.Succeeded, 0), w.job("owner", cluster.Succeeded, 0)
	w.finished(alone)
	w.finished(owner)
	expect.NoError(w, w.DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace(w.namespace), client.MatchingLabels{batchv1.JobNameLabel: alone.Name}))
	w.gone(alone)
	w.stays(time.Second, owner)
}

// service creates a Service with a selector; without one it has no Pods of its own.
func (w *env) service(name string, selector map[string]string) *corev1.Service {
	w.Helper()
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.create(s)
	return s
}

// autoscaler creates a HorizontalPodAutoscaler of a Deployment.
func (w *env) autoscaler(deployment string) *autoscalingv2.HorizontalPodAutoscaler {
	w.Helper()
	a := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: deployment},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 2, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: deployment},
		},
	}
	w.create(a)
	return a
}
