// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// idleServices counts preview Services that select nothing. It reads only their metadata, unlike the watch that reads their selectors.
const idleServices = `
mode: DryRun
rules:
- name: services
  target: {apiVersion: v1, kind: Service, selector: {matchLabels: {env: preview}}}
  eligible: selected.count == 0
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// TestF52ASelectorIsReadLate: the watch that reads the selectors of Services stands still, and the watch by which rules evaluate them
// does not. A user changes a selector, so that it matches a Pod. Sunset evaluates the new version of the Service with the selector
// of the old one, and must not delete it.
func TestF52ASelectorIsReadLate(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	podOf(s, "web", "web")
	changed, unused := service(s, "changed", "none"), service(s, "unused", "none")
	p := s.Policy("services", idleServices)
	r := s.Sunset(scenario.Start{Flags: longLeases})
	dueNow(s, p, 2)

	thaw := r.Proxy.Freeze(readsSelectors)
	befell(s, r, "events that were held back", func(t proxy.Counts) int { return t.HeldBack })
	s.Change(changed, func() { changed.Spec.Selector = map[string]string{"app": "web"} })
	s.Edit(p, enforces)
	s.Gone(unused)
	s.Stays(5*time.Second, changed)
	thaw()
	s.Stays(5*time.Second, changed)
	s.Change(changed, func() { changed.Spec.Selector = map[string]string{"app": "none"} })
	s.Gone(changed)
	s.Calm()
}

// TestF52ALabelChangesWhileTheWatchIsBroken: the watch of Pods ends and cannot be opened again. A user changes the label of a Pod, so
// that a Service selects it. Then the policy that would delete the Service is enforced.
func TestF52ALabelChangesWhileTheWatchIsBroken(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	pod, web := podOf(s, "web", "other"), service(s, "web", "web")
	p := s.Policy("services", idleServices)
	r := s.Sunset(scenario.Start{Flags: longLeases})
	dueNow(s, p, 1)
	s.Stays(quiet, web) // nothing but the unknown label keeps it from now on

	broken := r.Proxy.Arm(proxy.Fault{Match: proxy.Requests("watch", "pods").Or(proxy.Requests("list", "pods")),
		Answer: &proxy.Answer{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}})
	s.Expect(broken)
	r.Proxy.Cut()
	fired(s, broken)
	s.Change(pod, func() { pod.Labels["app"] = "web" })
	s.Edit(p, enforces)
	s.Stays(15*time.Second, web)
	broken.Lift()
	s.Stays(5*time.Second, web)
	s.Remove(pod)
	s.Gone(web)
	s.Calm()
}

// unusedObjects deletes Sites whose ConfigMap is missing, and preview Services that select nothing.
func unusedObjects(kind schema.GroupVersionKind) string {
	return strings.ReplaceAll(strings.Replace(idleServices, "DryRun", "Enforce", 1)+`
- name: sites
  target: {apiVersion: GROUP/v1, kind: Site}
  eligible: targets.missing.exists(t, t.kind == 'ConfigMap')
  startTime: object.metadata.creationTimestamp
  ttl: 0s
references:
- from: {apiVersion: GROUP/v1, kind: Site}
  to: ConfigMap
  names: "[object.spec.configMap]"
`, "GROUP", kind.Group)
}

// TestF52ATargetDisappearsForAMoment: the ConfigMap that a Site names, and the Pod that a Service selects, are deleted and created again
// within the quiet period. Sunset keeps the Site and the Service, and deletes them after both are gone.
func TestF52ATargetDisappearsForAMoment(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	kind := siteKind(s)
	named, pod := s.ConfigMap("named", nil), podOf(s, "web", "web")
	site, lost := siteOf(s, kind, "shop", named.Name), siteOf(s, kind, "lost", "none")
	web, unused := service(s, "web", "web"), service(s, "unused", "none")
	s.Sunset(scenario.Start{Flags: longLeases})
	s.Policy("unused", unusedObjects(kind))
	s.Gone(lost, unused)

	s.Remove(named, pod)
	s.Stays(quiet/3, site, web)
	named, pod = s.ConfigMap("named", nil), podOf(s, "web", "web")
	s.Stays(quiet+5*time.Second, site, web)
	s.Remove(named, pod)
	s.Gone(site, web)
	s.Calm()
}

// TestF52TargetsCannotBeListed: the permission to list and watch ConfigMaps is missing for longer than the quiet period. Until Sunset
// knows which ConfigMaps exist, no Site counts as one whose ConfigMap is missing.
func TestF52TargetsCannotBeListed(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	kind := siteKind(s)
	named := s.ConfigMap("named", nil)
	site, lost := siteOf(s, kind, "shop", named.Name), siteOf(s, kind, "lost", "none")
	r := s.Sunset(scenario.Start{Flags: longLeases})
	refused := r.Proxy.Arm(proxy.Fault{Match: proxy.Requests("watch", "configmaps").Or(proxy.Requests("list", "configmaps")),
		Answer: &proxy.Answer{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}})
	s.Expect(refused)
	p := s.Policy("unused", unusedObjects(kind))
	fired(s, refused)
	silent(t, quiet+5*time.Second, r)
	tells(s, p, v1alpha1.ConditionReferencesKnown, "ReferencesUnknown", "configmaps")
	s.Stays(0, site, lost)
	refused.Lift()
	s.Gone(lost)
	s.Stays(0, site)
	s.Remove(named)
	s.Gone(site)
	s.Calm()
}

// readsSelectors matches the watch of Services that reads more than their metadata.
func readsSelectors(r *http.Request) bool {
	return proxy.Requests("watch", "services")(r) && !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
}

// dueNow waits until a policy's status has n objects that are due.
func dueNow(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy, n int64) {
	s.Helper()
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(status.Due.Now == n, "%d objects are due, want %d", status.Due.Now, n)
	})
}

// service creates a preview Service that selects the Pods of an app.
func service(s *scenario.Scenario, name, app string) *corev1.Service {
	s.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: preview},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	s.MustCreate(service)
	return service
}

// podOf creates a Pod of an app; no node runs it.
func podOf(s *scenario.Scenario, name, app string) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}
	s.MustCreate(pod)
	return pod
}

func siteKind(s *scenario.Scenario) schema.GroupVersionKind {
	s.Helper()
	kind := schema.GroupVersionKind{Group: s.Namespace + ".example.com", Version: "v1", Kind: "Site"}
	define(s, kind, "sites", nil)
	return kind
}

// siteOf creates a Site that names a ConfigMap.
func siteOf(s *scenario.Scenario, kind schema.GroupVersionKind, name, configMap string) *unstructured.Unstructured {
	s.Helper()
	return instance(s, kind, name, map[string]any{"spec": map[string]any{"configMap": configMap}})
}
