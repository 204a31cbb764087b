// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// manifold is a policy for which a controller sends every type of request: for ledgers, owners, marks, quotas and a custom
// resource.
const manifold = `
mode: Enforce
limits: {maxDeletions: 100000, window: 1h}
rules:
- name: by-age
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
- name: by-mark
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: retired}}}
  eligible: "true"
  ttl: 1s
- name: by-owner
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: owned}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
  delete: {target: Owner}
- name: by-quota
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: crowd}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 1d
  capacity: {percentOfQuota: 1}
- name: sites
  target: {apiVersion: GROUP/v1, kind: Site}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// ownSecrets is a RetentionPolicy, whose ServiceAccount needs permissions.
const ownSecrets = `
mode: Enforce
serviceAccountName: cleaner
rules:
- name: secrets
  target: {apiVersion: v1, kind: Secret, selector: {matchLabels: {env: own}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// TestF50EachSortOfRequestFailsForAWhile makes each type of request of a controller fail for a while: as forbidden, not found
// or unavailable. Soon afterwards, Sunset deletes the due objects, and the conditions of the policies report no problem. The
// types are those of a round without faults, so that the scenario includes new ones. A request that is sent only at the start
// fails while a controller starts.
func TestF50EachSortOfRequestFailsForAWhile(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]*proxy.Answer{
		"forbidden":   {Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden},
		"not found":   {Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound},
		"unavailable": {Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			s := scenario.New(t, scenario.Options{})
			m := newManifold(s)
			r := s.Sunset(scenario.Start{Failover: true})
			s.Gone(m.probe()...)
			enforcing(s, m.policy)
			sorts := sortsOf(r.Proxy.Journal())
			var slowest time.Duration
			var spared []string
			for _, name := range slices.Sorted(maps.Keys(sorts)) {
				armed := r.Proxy.Arm(proxy.Fault{Match: sorts[name], Answer: answer})
				r.Proxy.Cut() // so that watches start again
				due := m.probe()
				if !strikes(armed, 3*time.Second) {
					r.Restart()
					if !strikes(armed, 15*time.Second) {
						spared = append(spared, name)
					}
				}
				time.Sleep(2 * time.Second) // some states need several refusals
				armed.Lift()
				took := goesSoon(s, r, name, due)
				slowest = max(slowest, took)
				t.Logf("%s: refused %d times; all objects were deleted after %s", name, armed.Fired(), took.Round(100*time.Millisecond))
			}
			t.Logf("%d types of requests; not sent again: %q; all objects were deleted within %s", len(sorts), spared, slowest.Round(100*time.Millisecond))
			if len(spared) > len(sorts)/4 {
				t.Errorf("only %d of %d types were refused", len(sorts)-len(spared), len(sorts))
			}
			enforcing(s, m.policy)
			s.Calm()
		})
	}
}

// strikes reports whether a fault fires within a time.
func strikes(armed *proxy.Armed, within time.Duration) bool {
	select {
	case <-armed.Arrived():
		return true
	case <-time.After(within):
		return armed.Fired() > 0
	}
}

// goesSoon waits until objects are deleted, and returns how long that took. It restarts an ended replica, as a kubelet does.
func goesSoon(s *scenario.Scenario, r *scenario.Replica, refused string, objects []client.Object) time.Duration {
	s.Helper()
	const soon = 90 * time.Second
	began := time.Now()
	for _, object := range objects {
		for !apierrors.IsNotFound(s.Get(s.Context(), client.ObjectKeyFromObject(object), object)) {
			restartIfEnded(r)
			if time.Since(began) > soon {
				s.Fatalf("%s after %s was refused, %s still exists", soon, refused, object.GetName())
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return time.Since(began)
}

// manifolds is a scenario in which a controller sends every type of request.
type manifolds struct {
	*scenario.Scenario
	policy *v1alpha1.ClusterRetentionPolicy
	kind   schema.GroupVersionKind
	rounds int
	newest *corev1.ConfigMap // of the objects that the quota limits
}

func newManifold(s *scenario.Scenario) *manifolds {
	s.Helper()
	m := &manifolds{Scenario: s, kind: schema.GroupVersionKind{Group: s.Namespace + ".example.com", Version: "v1", Kind: "Site"}}
	define(s, m.kind, "sites", nil)
	grant(s, "system:serviceaccounts:"+s.Namespace, "own", on("secrets"))
	s.MustCreate(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "configmaps"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("100")}}})
	m.policy = s.Policy("manifold", strings.ReplaceAll(manifold, "GROUP", m.kind.Group))
	s.Override("own", ownSecrets)
	m.newest = s.ConfigMap("crowd-0", map[string]string{"env": "crowd"})
	return m
}

// probe creates objects for each rule, and returns those that are due.
func (m *manifolds) probe() []client.Object {
	m.Helper()
	m.rounds++
	name, before := fmt.Sprintf("probe-%d", m.rounds), m.newest
	job := m.FinishedJob(name)
	time.Sleep(time.Until(before.CreationTimestamp.Add(time.Second))) // the API server truncates times to seconds, and the rule deletes the oldest
	m.newest = m.ConfigMap(fmt.Sprintf("crowd-%d", m.rounds), map[string]string{"env": "crowd"})
	return []client.Object{
		before, job,
		m.ConfigMap(name+"-by-age", preview),
		m.ConfigMap(name+"-by-mark", map[string]string{"env": "retired"}),
		m.ConfigMap(name+"-by-owner", map[string]string{"env": "owned"}, func(cm *corev1.ConfigMap) {
			cm.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		}),
		secret(m.Scenario, name, func(own *corev1.Secret) { own.Labels = map[string]string{"env": "own"} }),
		instance(m.Scenario, m.kind, name, map[string]any{}),
	}
}

// sortsOf returns the types of requests in a journal: by verb and resource, or by path for requests without a resource. It
// excludes leases, see F20.
func sortsOf(journal []proxy.Entry) map[string]proxy.Match {
	sorts := map[string]proxy.Match{}
	for _, e := range journal {
		switch {
		case e.Resource == "leases":
		case e.Resource != "":
			sorts[e.Verb+" "+e.Resource] = proxy.Requests(e.Verb, e.Resource)
		default:
			sorts[e.Verb+" "+e.Path] = func(r *http.Request) bool { return r.URL.Path == e.Path }
		}
	}
	return sorts
}
