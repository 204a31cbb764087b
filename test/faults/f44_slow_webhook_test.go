// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF44TheWebhookOfANamespaceIsSlow has an admission webhook of one namespace that takes ten seconds and fails, for each of
// 500 due objects there. Sunset deletes objects of other namespaces as fast as without it, and objects that become due in
// that time without delay. When the webhook is removed, Sunset deletes the 500.
func TestF44TheWebhookOfANamespaceIsSlow(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true}) // it compares speeds
	const stuck, others, scheduled = 500, 5000, 25
	punctual := s.More("punctual")
	manyMaps(s, s.Namespace, "stuck", stuck)
	manyMaps(s, s.More("alone"), "alone", others)
	manyMaps(s, s.More("beside"), "beside", others)
	hook := slowly(s, 10*time.Second)

	r := s.Sunset(scenario.Start{})
	s.Policy("punctual", labelled("punctual", v1alpha1.Enforce, "2s"))
	rounds := map[string]func() (perSecond float64, late time.Duration){}
	for _, name := range []string{"alone", "beside"} {
		rounds[name] = func() (float64, time.Duration) {
			p := s.Policy(name, labelled(name, v1alpha1.DryRun, "0s")+manyAtOnce)
			counted(s, p, others)
			falls := make(chan map[string]time.Time, 1)
			go func() { falls <- fallDue(s, punctual, name, scheduled, 400*time.Millisecond) }()
			s.Edit(p, enforces)
			perSecond := drained(s, r, s.Namespace+"-"+name, others)
			return perSecond, lateness(s, r, punctual, <-falls)
		}
	}
	without, usually := rounds["alone"]()
	s.Policy("stuck", labelled("stuck", v1alpha1.Enforce, "0s")+manyAtOnce)
	s.Eventually(func() error {
		return cluster.Want(hook.asked.Load() > 0, "the webhook was not called")
	})
	with, late := rounds["beside"]()
	t.Logf("%.0f deletions a second without the webhook, %.0f with it: %.2f; at most %s and %s late; the webhook was called %d times, at most %d at a time",
		without, with, with/without, usually.Round(time.Millisecond), late.Round(time.Millisecond), hook.asked.Load(), hook.most.Load())
	if with < without/5 { // the simulation in controllers/retention is exact; the load of this machine varies
		t.Errorf("%.0f deletions a second with the webhook, but %.0f without", with, without)
	}
	if late > 2*time.Second+10*usually { // a busy machine is late without the webhook, too
		t.Errorf("due objects were deleted %s late, but %s late without the webhook", late, usually)
	}
	if s.Left(&corev1.ConfigMapList{}, map[string]string{"env": "stuck"}) != stuck {
		t.Error("objects were deleted although the webhook failed")
	}
	hook.lift()
	atMost(s, map[string]string{"env": "stuck"}, 0)
	s.Calm()
}

// manyAtOnce allows a policy to delete a backlog without approval.
const manyAtOnce = "approval: {maxObjects: 1000000, maxPercent: 100}\n"

// fallDue creates ConfigMaps one after the other, and returns when each is due.
func fallDue(s *scenario.Scenario, namespace, name string, n int, every time.Duration) map[string]time.Time {
	due := map[string]time.Time{}
	for i := range n {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i), Labels: map[string]string{"env": "punctual"}}}
		if err := s.Create(s.Context(), cm); err != nil {
			s.Error(err)
			break
		}
		due[cm.Name] = cm.CreationTimestamp.Add(2 * time.Second)
		time.Sleep(every)
	}
	return due
}

// manyMaps creates n ConfigMaps with a name prefix that is also their label.
func manyMaps(s *scenario.Scenario, namespace, name string, n int) {
	s.Helper()
	all := &errgroup.Group{}
	all.SetLimit(8)
	for i := range n {
		all.Go(func() error {
			return s.Create(s.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i), Labels: map[string]string{"env": name},
			}})
		})
	}
	expect.NoError(s, all.Wait())
}

// drained waits until a replica has deleted n objects of a namespace, and returns the deletions per second.
func drained(s *scenario.Scenario, r *scenario.Replica, namespace string, n int) (perSecond float64) {
	s.Helper()
	var sent []proxy.Entry
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		sent = slices.DeleteFunc(deletesIn(r, namespace), func(e proxy.Entry) bool { return e.Done.IsZero() })
		if len(sent) >= n {
			break
		}
		if time.Now().After(deadline) {
			s.Fatalf("%d of %d DELETEs in %s within ten minutes", len(sent), n, namespace)
		}
	}
	last := slices.MaxFunc(sent, func(a, b proxy.Entry) int { return a.Done.Compare(b.Done) })
	return float64(n) / last.Done.Sub(sent[0].At).Seconds()
}

func deletesIn(r *scenario.Replica, namespace string) (some []proxy.Entry) {
	for _, e := range r.Deletes() {
		if e.Namespace == namespace {
			some = append(some, e)
		}
	}
	return some
}

// lateness waits until all due objects are deleted, and returns how late the latest one was.
func lateness(s *scenario.Scenario, r *scenario.Replica, namespace string, due map[string]time.Time) time.Duration {
	s.Helper()
	return slices.Max(delays(s, r, namespace, due))
}

// webhook is a slow admission webhook that fails.
type webhook struct {
	asked, underWay, most atomic.Int64
	repaired              atomic.Bool
	lift                  func() // unregisters the webhook
}

// slowly registers a webhook for DELETEs of ConfigMaps in the scenario's namespace.
func slowly(s *scenario.Scenario, takes time.Duration) *webhook {
	s.Helper()
	h := &webhook{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.asked.Add(1)
		h.most.Store(max(h.most.Load(), h.underWay.Add(1)))
		defer h.underWay.Add(-1)
		for began := time.Now(); time.Since(began) < takes && !h.repaired.Load(); time.Sleep(50 * time.Millisecond) {
		}
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	s.Cleanup(server.Close)
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	hook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "slow.example.com", FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To[int32](30),
			ClientConfig:      admissionv1.WebhookClientConfig{URL: ptr.To(server.URL + "/"), CABundle: pemOf(server.Certificate())},
			NamespaceSelector: inNamespace(s), Rules: []admissionv1.RuleWithOperations{deletions},
		}},
	}
	s.MustCreate(hook)
	h.lift = func() {
		h.repaired.Store(true)
		_ = s.Delete(context.Background(), hook)
	}
	s.Cleanup(h.lift)
	return h
}

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
