// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// behindProxy runs Sunset behind a proxy.
func behindProxy(t *testing.T) (*env, *proxy.Proxy) {
	w := newEnv(t)
	g := proxy.New(t, w.plane.Config())
	w.sunset(func(c *manager.Config) { c.Rest = g.Config() })
	return w, g
}

// ofConfigMap matches requests with a method for one ConfigMap, or for any if the name is empty.
func (w *env) ofConfigMap(method, name string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.Contains(r.URL.Path, "/namespaces/"+w.namespace+"/configmaps/"+name)
	}
}

func TestFinalizerGetsOneDeleteAndDelaysNobody(t *testing.T) {
	w, g := behindProxy(t)
	deletes := recorded(g, w.ofConfigMap(http.MethodDelete, ""))
	stuck := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "stuck", Labels: preview, Finalizers: []string{"example.com/never"}}}
	leaving := stuck.DeepCopy()
	leaving.Name = "leaving"
	w.create(stuck)
	w.create(leaving)
	t.Cleanup(func() {
		for _, cm := range []*corev1.ConfigMap{stuck, leaving} {
			_ = w.Patch(context.Background(), cm, edit(`{"metadata":{"finalizers":null}}`))
		}
	})
	expect.NoError(t, w.Client.Delete(t.Context(), leaving))
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "1s"))
	for i := range 5 {
		w.gone(w.configMap(fmt.Sprintf("free-%d", i), preview))
	}
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Deleted == 6 && s.Matched == 2 && s.Due.Now == 0, "wrong counts")
	})
	sent := strings.Join(deletes(), "\n")
	if n := strings.Count(sent, "/stuck "); n != 1 {
		t.Errorf("%d DELETEs for an object with a finalizer", n)
	}
	if strings.Contains(sent, "/leaving ") {
		t.Error("a DELETE for a terminating object")
	}
}

func TestNamespaceIsRecreated(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	name := w.namespace + "-again"
	w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s")+"namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "+name+"}}\n")
	create := func(labels map[string]string) *corev1.ConfigMap {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		cluster.Eventually(t, patience, func() error { return w.Create(t.Context(), ns) })
		t.Cleanup(func() { _ = w.Client.Delete(context.Background(), ns) })
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "cm", Labels: labels}}
		// The API server's cache may still contain the previous namespace.
		cluster.Eventually(t, patience, func() error { return w.Create(t.Context(), cm) })
		return cm
	}
	w.gone(create(preview))
	expect.NoError(t, w.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	stays := create(nil)
	goes := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "goes", Labels: preview}}
	w.create(goes)
	w.gone(goes)
	w.stays(500*time.Millisecond, stays)
}

func TestAPIServerIsKilledAndComesBack(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	w.gone(w.configMap("before", preview))
	expect.NoError(t, w.plane.Kill(cluster.APIServer))
	expect.NoError(t, w.plane.Restart(t.Context(), cluster.APIServer))
	w.gone(w.configMap("after", preview))
}

func TestStormsShrinkWhatIsUnderWayAndPass(t *testing.T) {
	t.Parallel()
	for name, storm := range map[string]struct {
		proxy.Answer
		requests int64 // maximum in three seconds
		together int64 // maximum in flight in the third second
	}{
		"429 with Retry-After": {proxy.Answer{Code: 429, Headers: map[string]string{"Retry-After": "1"}, Reason: metav1.StatusReasonTooManyRequests}, 60, 8},
		"500":                  {proxy.Answer{Code: 500, Reason: metav1.StatusReasonInternalError}, 300, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := behindProxy(t)
			const n = 60
			p := w.policy("previews", fmt.Sprintf(previews, "Suspend", "0s"))
			for i := range n {
				w.configMap(fmt.Sprintf("cm-%d", i), preview)
			}
			s := &stormy{match: w.ofConfigMap(http.MethodDelete, ""), answer: storm.Answer}
			raging := g.Answers(s.respond)
			w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
			cluster.Eventually(t, patience, func() error { return cluster.Want(s.requests.Load() > 0, "no object is due yet") })
			w.stays(3*time.Second, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cm-0"}})
			t.Logf("%d requests during 3s of errors, at most %d in flight at the end", s.requests.Load(), s.together.Load())
			if got := s.requests.Load(); got == 0 || got > storm.requests {
				t.Errorf("%d requests during the errors", got)
			}
			if got := s.together.Load(); got > storm.together {
				t.Errorf("%d requests in flight after two seconds of errors", got)
			}
			raging.Lift()
			w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
				return cluster.Want(s.Deleted == n, "not all deleted")
			})
		})
	}
}

// stormy refuses requests, slowly enough to count the requests in flight.
type stormy struct {
	match    func(*http.Request) bool
	answer   proxy.Answer
	began    atomic.Pointer[time.Time]
	requests atomic.Int64 // in three seconds
	underWay atomic.Int64
	together atomic.Int64 // maximum in flight after two seconds
}

func (s *stormy) respond(r *http.Request) *proxy.Answer {
	if !s.match(r) {
		return nil
	}
	now := time.Now()
	s.began.CompareAndSwap(nil, &now)
	if now.Sub(*s.began.Load()) <= 3*time.Second {
		s.requests.Add(1)
	}
	n := s.underWay.Add(1)
	defer s.underWay.Add(-1)
	if now.Sub(*s.began.Load()) > 2*time.Second && n > s.together.Load() {
		s.together.Store(n)
	}
	time.Sleep(20 * time.Millisecond) // like an API server under load
	return &s.answer
}

// TestFrozenWatchHidesNoEdit: an edit of a policy, and of the labels of a namespace, keeps objects although no watch reports it.
func TestFrozenWatchHidesNoEdit(t *testing.T) {
	w, g := behindProxy(t)
	w.labelNamespace("clean", w.namespace)
	spec := fmt.Sprintf(previews, "Enforce", "15s")
	edited := w.policy("edited", spec)
	selecting := w.policy("selecting", strings.Replace(spec, "env: preview", "env: other", 1)+"namespaceSelector: {matchLabels: {clean: "+w.namespace+"}}\n")
	for _, p := range []*v1alpha1.ClusterRetentionPolicy{edited, selecting} {
		w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
			return cluster.Want(w.condition(s, v1alpha1.ConditionReady).Status == metav1.ConditionTrue, "not ready")
		})
	}
	cm, other := w.configMap("cm", preview), w.configMap("other", map[string]string{"env": "other"})
	for _, p := range []*v1alpha1.ClusterRetentionPolicy{edited, selecting} {
		w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
			return cluster.Want(s.Due.Hour == 1, "no object waits yet")
		})
	}
	thaw := g.Freeze(nil)
	defer thaw()
	w.edit(edited, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Suspend })
	w.labelNamespace("clean", "no-more")
	w.stays(16*time.Second, cm, other)
	thaw()
	w.edit(edited, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
	w.gone(cm)
	w.stays(0, other)
}

func TestSkewedClockStopsDeletions(t *testing.T) {
	w, g := behindProxy(t)
	g.Skew(10 * time.Minute)
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	cm := w.configMap("cm", preview)
	w.expect(p, v1alpha1.ConditionEnforcing, "Stale", "clock skew")
	w.stays(time.Second, cm)
	g.Skew(0)
	w.gone(cm)
}

func TestObjectThatAlwaysConflictsDelaysNobody(t *testing.T) {
	w, g := behindProxy(t)
	var attempts atomic.Int64
	conflicts := w.ofConfigMap(http.MethodDelete, "conflicts")
	conflict := g.Answers(func(r *http.Request) *proxy.Answer {
		if !conflicts(r) {
			return nil
		}
		attempts.Add(1)
		return &proxy.Answer{Code: 409, Reason: metav1.StatusReasonConflict}
	})
	w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	never := w.configMap("conflicts", preview)
	for i := range 10 {
		w.gone(w.configMap(fmt.Sprintf("cm-%d", i), preview))
	}
	w.stays(3*time.Second, never)
	if n := attempts.Load(); n < 3 || n > 10 {
		t.Errorf("%d attempts in a few seconds", n)
	}
	conflict.Lift()
	w.gone(never)
}

func TestBusyObjectIsNotStarved(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	cm := w.configMap("busy", preview)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			_ = w.Patch(ctx, cm.DeepCopy(), edit(fmt.Sprintf(`{"data":{"n":"%d"}}`, n)))
		}
	}()
	w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	w.gone(cm)
}
