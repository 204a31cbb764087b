// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

var guarded = map[string]string{"env": "preview", "guarded": "yes"}

// TestF26AdmissionRefusesDeletions makes admission refuse to delete some objects, or fail. Sunset retries them with backoff,
// does not charge them to the limit permanently, and deletes the other objects. When admission allows it, Sunset deletes the
// refused objects too.
func TestF26AdmissionRefusesDeletions(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*scenario.Scenario) (lift func()){
		"a policy denies them":      denies,
		"a webhook does not answer": unanswered,
	} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			const stuck, free = 5, 20
			const limit = free + 3*stuck // a namespace leaves as much room for others as its deletions with an unknown result take
			s := scenario.New(t, scenario.Options{})
			lift := refuse(s)
			defer lift()
			refused := configMaps(s, "refused", stuck, guarded)
			s.Eventually(func() error { return refusal(s, refused[0]) })
			configMaps(s, "free", free, preview)
			leads, waits := pair(s, scenario.Start{})
			p := s.Policy("previews", previews("Enforce", "0s")+limited(limit))
			atMost(s, preview, stuck)
			s.ExpectThat("a refused DELETE", func() bool { return len(leads.Deletes()) > free })

			from := time.Now()
			s.Stays(8*time.Second, refused[0])
			tries := since(from, leads.Deletes())
			t.Logf("%d attempts in 8s for %d objects", len(tries), stuck)
			if len(tries) > 8*stuck {
				t.Errorf("%d attempts in 8s for %d objects", len(tries), stuck)
			}
			began := time.Now()
			other := s.Policy("other", labelled("other", "Enforce", "0s"))
			s.Gone(s.ConfigMap("other", map[string]string{"env": "other"}))
			t.Logf("an object of another policy was deleted after %s", time.Since(began).Round(time.Millisecond))
			deleted(s, other, 1)

			lift()
			s.Eventually(func() error {
				if refusal(s, refused[0]) != nil {
					return nil
				}
				return errors.New("the DELETE is still refused")
			})
			for _, cm := range refused {
				s.Gone(cm)
			}
			byLedger(s, p, stuck+free)
			silent(t, time.Second, leads, waits)
			s.Calm()
		})
	}
}

// TestF26DoubtAboutRefusedDeletionsEnds has a webhook that fails, so that the result of deletions is unknown and they use up
// the limit. The entries with an unknown result end, and Sunset deletes other objects.
func TestF26DoubtAboutRefusedDeletionsEnds(t *testing.T) {
	scenario.Long(t)
	const stuck, limit = 3, 3
	s := scenario.New(t, scenario.Options{})
	lift := unanswered(s)
	defer lift()
	refused := configMaps(s, "refused", stuck, guarded)
	s.Eventually(func() error { return refusal(s, refused[0]) })
	r := s.Sunset(scenario.Start{Binary: build.Brief(t)})
	p := s.Policy("previews", previews("Enforce", "0s")+limited(limit))
	s.Eventually(func() error {
		l := s.Ledger(p)
		return cluster.Want(l != nil && open(l) >= stuck, "the ledger lacks some of the objects")
	})
	free := configMaps(s, "free", limit-1, preview)
	tells(s, p, v1alpha1.ConditionEnforcing, "LimitReached")
	if sent := len(r.Deletes()); sent < stuck {
		t.Errorf("%d DELETEs were sent, want at least %d", sent, stuck)
	}
	began := time.Now()
	s.Stays(10*time.Second, free[0], free[1])
	cluster.Eventually(s, 3*time.Minute, func() error {
		n := s.Left(&corev1.ConfigMapList{}, preview)
		return cluster.Want(n <= stuck, "%d objects left", n)
	})
	t.Logf("other objects were deleted after %s", time.Since(began).Round(time.Second))
	lift()
	cluster.Eventually(s, 3*time.Minute, func() error {
		l := s.Ledger(p)
		return cluster.Want(l.Total.Deleted+l.Total.Gone == limit && open(l) == 0, "counted %+v, %d open", l.Total, open(l))
	})
	s.Calm()
}

// open returns the number of open entries of a ledger.
func open(l *v1alpha1.RetentionLedger) (n int) {
	for _, o := range l.Open {
		n += len(o.Objects)
	}
	return n
}

// refusal returns an error unless the API server refuses to delete an object, or the object is gone.
func refusal(s *scenario.Scenario, cm *corev1.ConfigMap) error {
	return cluster.Want(s.Delete(s.Context(), cm.DeepCopy(), client.DryRunAll) != nil, "the API server would delete the object")
}

// denies creates a ValidatingAdmissionPolicy that denies DELETEs of guarded ConfigMaps.
func denies(s *scenario.Scenario) (lift func()) {
	s.Helper()
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: inNamespace(s), ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: deletions}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "the ConfigMap is guarded"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: s.Namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	s.MustCreate(policy)
	s.MustCreate(binding)
	return func() {
		_ = s.Delete(context.Background(), binding)
		_ = s.Delete(context.Background(), policy)
	}
}

// unanswered registers a webhook without a server for DELETEs of guarded ConfigMaps.
func unanswered(s *scenario.Scenario) (lift func()) {
	s.Helper()
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	hook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "dead.example.com", FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To[int32](2),
			ClientConfig:      admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
			NamespaceSelector: inNamespace(s), ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}},
			Rules: []admissionv1.RuleWithOperations{deletions},
		}},
	}
	s.MustCreate(hook)
	return func() { _ = s.Delete(context.Background(), hook) }
}

var deletions = admissionv1.RuleWithOperations{
	Operations: []admissionv1.OperationType{admissionv1.Delete},
	Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
}

func inNamespace(s *scenario.Scenario) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.Namespace}}
}
