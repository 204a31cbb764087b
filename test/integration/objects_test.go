// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// configMap creates a minimal ConfigMap.
func (w *env) configMap(name string, labels map[string]string) *corev1.ConfigMap {
	w.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}}
	w.create(cm)
	return cm
}

// previews deletes ConfigMaps of preview environments some time after their creation.
const previews = `
mode: %s
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: %s
`

var preview = map[string]string{"env": "preview"}

func TestFinishedPodsGo(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	w.policy("pods", `
mode: Enforce
rules:
- name: pods
  target: {apiVersion: v1, kind: Pod}
  eligible: finished(object) && !controllerOf(object).hasValue()
  startTime: finishedAt(object)
  ttl: 1s
`)
	succeeds, fails, runs := w.pod("succeeds", nil, cluster.Succeeded), w.pod("fails", nil, cluster.Failed), w.pod("runs", nil, cluster.Endless)
	ofJob := w.job("owner", cluster.Succeeded, 0)
	w.gone(succeeds, fails)
	w.finished(ofJob)
	w.stays(1500*time.Millisecond, runs, ofJob)
	pods := &corev1.PodList{}
	if err := w.List(t.Context(), pods, client.InNamespace(w.namespace), client.MatchingLabels{"job-name": "owner"}); err != nil || len(pods.Items) != 1 {
		t.Errorf("the Job's Pod should have stayed: %d, %v", len(pods.Items), err)
	}
}

func TestPodsThatTheirJobHasNotCountedStay(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("pods", `
mode: Enforce
rules:
- name: pods
  target: {apiVersion: v1, kind: Pod}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`)
	job := w.job("elsewhere", cluster.Succeeded, 0, func(j *batchv1.Job) { j.Spec.ManagedBy = ptr.To("example.com/other") })
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "uncounted", Finalizers: []string{"batch.kubernetes.io/job-tracking"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}
	w.create(pod)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Matched == 1 && s.Due.Now == 0, "wrong counts")
	})
	w.stays(time.Second, pod)
	pod.Finalizers = nil
	expect.NoError(t, w.Update(t.Context(), pod))
	w.gone(pod)
}

func TestDryRunCountsAndDeletesNothing(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "DryRun", "0s"))
	due, other := w.configMap("due", preview), w.configMap("other", nil)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		ready := w.condition(s, v1alpha1.ConditionReady)
		switch {
		case s.Matched != 1, s.Eligible != 1, s.Due.Now != 1, s.Deleted != 0, s.NextDueTime == nil:
			return errors.New("wrong counts")
		case len(s.Rules) != 1 || len(s.Rules[0].Soonest) != 1 || s.Rules[0].Soonest[0].Name != "due":
			return errors.New("wrong sample")
		case ready.Status != metav1.ConditionTrue || ready.Reason != "DryRun":
			return errors.New("wrong Ready condition")
		}
		return contains(fmt.Sprint(s.Rules[0].Reads), "metadata.creationTimestamp", "metadata.labels")
	})
	w.stays(time.Second, due, other)

	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
	w.gone(due)
	w.stays(500*time.Millisecond, other)
}

// ofAllConfigMaps matches lists and watches of the kind in all namespaces.
func ofAllConfigMaps(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/api/v1/configmaps"
}

// Edits of settings cause no lists.
func TestSettingsTakeEffectWithoutListing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec string
		edit func(w *env, p *v1alpha1.ClusterRetentionPolicy)
	}{
		"a shorter TTL": {fmt.Sprintf(previews, "Enforce", "1h"), func(w *env, p *v1alpha1.ClusterRetentionPolicy) {
			w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL = "0s" })
		}},
		"another mode": {fmt.Sprintf(previews, "DryRun", "0s"), func(w *env, p *v1alpha1.ClusterRetentionPolicy) {
			w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
		}},
		"a namespace label": {fmt.Sprintf(previews, "Enforce", "0s") + "namespaceSelector: {matchLabels: {clean: \"yes\"}}\n", func(w *env, _ *v1alpha1.ClusterRetentionPolicy) {
			w.labelNamespace("clean", "yes")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := behindProxy(t)
			p := w.policy("previews", test.spec)
			// Another policy keeps the kind listed, independent of this policy.
			other := w.policy("others", strings.Replace(fmt.Sprintf(previews, "Enforce", "0s"), "env: preview", "env: other", 1))
			cm := w.configMap("cm", preview)
			w.gone(w.configMap("probe", map[string]string{"env": "other"}))
			w.status(other, func(s v1alpha1.RetentionPolicyStatus) error {
				return cluster.Want(s.Deleted == 1, "the kind is not listed yet")
			})
			listings := recorded(g, ofAllConfigMaps)
			test.edit(w, p)
			w.gone(cm)
			if l := listings(); len(l) > 0 {
				t.Errorf("the edit caused lists: %v", l)
			}
		})
	}
}

// A changed expression is evaluated for every object beside the old facts. Then objects that only the new expression
// selects are deleted, and objects that only the old one selected stay.
func TestChangedExpressionIsListedAndSwapped(t *testing.T) {
	w, g := behindProxy(t)
	p := w.policy("by-data", `
mode: Enforce
rules:
- name: by-data
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: object.?data[?'old'].hasValue()
  startTime: object.metadata.creationTimestamp
  ttl: 2s
`)
	with := func(name, key string) *corev1.ConfigMap {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: preview}, Data: map[string]string{key: "yes"}}
		w.create(cm)
		return cm
	}
	w.gone(with("first", "old"))
	isNew := with("is-new", "new")
	listings := recorded(g, ofAllConfigMaps)
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].Eligible = "object.?data[?'new'].hasValue()" })
	isOld := with("is-old", "old")
	w.gone(isNew)
	w.stays(3*time.Second, isOld)
	if len(listings()) == 0 {
		t.Error("the changed expression caused no list")
	}
}

func TestHoldKeepsUntilItIsLifted(t *testing.T) {
	t.Parallel()
	places := map[string]func(w *env, inside *corev1.ConfigMap) client.Object{
		"on the object": func(_ *env, inside *corev1.ConfigMap) client.Object { return inside },
		"on its namespace": func(w *env, _ *corev1.ConfigMap) client.Object {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
		},
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			w := newEnv(t)
			w.sunset()
			inside := w.configMap("inside", preview)
			w.annotate(place(w, inside), `"true"`)
			p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
			w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
				return cluster.Want(s.Held == 1 && s.Due.Now == 0, "the object is not held")
			})
			w.stays(time.Second, inside)
			w.annotate(place(w, inside), "null")
			w.gone(inside)
		})
	}
}

// annotate sets the hold of an object to a JSON value.
func (w *env) annotate(object client.Object, hold string) {
	w.Helper()
	w.setAnnotation(object, v1alpha1.HoldAnnotation, hold)
}

// setAnnotation sets an annotation to a JSON value.
func (w *env) setAnnotation(object client.Object, key, value string) {
	w.Helper()
	w.merge(object, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value))
}

func TestSuspendedKeepsWhatAnotherPolicyWouldDelete(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	keeps := w.policy("a-keeps", fmt.Sprintf(previews, "Suspend", "0s"))
	w.status(keeps, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(w.condition(s, v1alpha1.ConditionReady).Status == metav1.ConditionTrue, "not ready")
	})
	w.policy("b-deletes", fmt.Sprintf(previews, "Enforce", "0s"))
	cm := w.configMap("cm", preview)
	w.stays(2*time.Second, cm)
	expect.NoError(t, w.Client.Delete(t.Context(), keeps))
	w.gone(cm)
}

func TestNamespaceLabelsAndExclusionsTakeEffect(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s")+`
namespaceSelector: {matchLabels: {clean: "`+w.namespace+`"}}
`)
	cm := w.configMap("cm", preview)
	w.stays(2*time.Second, cm)
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.ExcludeNamespaces = []string{w.namespace} })
	w.sees(p, 2)
	w.labelNamespace("clean", w.namespace)
	w.stays(2*time.Second, cm)
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.ExcludeNamespaces = nil })
	w.gone(cm)
}

func TestCustomResourceWhoseDefinitionComesLater(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("builds", `
mode: Enforce
rules:
- name: builds
  target: {apiVersion: `+w.namespace+`.example.com/v1, kind: Build}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 1s
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		c := w.condition(s, v1alpha1.ConditionWatching)
		if c.Status != metav1.ConditionFalse || c.Reason != "KindNotFound" {
			return errors.New("the status does not report the missing kind")
		}
		return contains(c.Message, "Build", w.namespace+".example.com/v1")
	})
	w.gone(w.configMap("other-kind", preview)) // a missing kind does not delay another kind

	gvk := schema.GroupVersionKind{Group: w.namespace + ".example.com", Version: "v1", Kind: "Build"}
	crd := w.define(gvk, "builds", map[string]apiextensionsv1.JSONSchemaProps{})
	w.gone(w.finishedBuild(gvk))

	// The kind is deleted, and installed again with another schema.
	expect.NoError(t, w.Client.Delete(t.Context(), crd))
	w.expect(p, v1alpha1.ConditionWatching, "KindNotFound", "builds")
	w.gone(w.configMap("meanwhile", preview))
	w.define(gvk, "builds", map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", XPreserveUnknownFields: ptr.To(true)}})
	w.gone(w.finishedBuild(gvk))
}

// finishedBuild creates a custom resource that has finished.
func (w *env) finishedBuild(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	w.Helper()
	build := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": "Complete", "status": "True", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}}}}
	build.SetGroupVersionKind(gvk)
	build.SetNamespace(w.namespace)
	build.SetName("done")
	cluster.Eventually(w, patience, func() error { return w.Create(w.Context(), build) })
	return build
}

// define installs a CustomResourceDefinition that accepts any object, and removes it at the end of the test.
func (w *env) define(gvk schema.GroupVersionKind, plural string, properties map[string]apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
	w.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + gvk.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvk.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: gvk.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gvk.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true), Properties: properties}},
			}},
		},
	}
	cluster.Eventually(w, patience, func() error { return w.Create(w.Context(), crd.DeepCopy()) }) // the previous one may still be terminating
	w.Cleanup(func() { _ = w.Client.Delete(context.Background(), crd) })
	return crd
}

func (w *env) labelNamespace(key, value string) {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.merge(ns, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value))
}
