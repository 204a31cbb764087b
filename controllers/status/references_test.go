// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// asking makes a rule read the references to Jobs, which replace ConfigMaps in these tests.
func asking(r *policy.Rule) { r.Relations = policy.AsksReferences }

const job references.Kind = "Job.batch"

// withReferences runs a test in which Pods may refer to Jobs.
func withReferences(t *testing.T, test func(t *testing.T, w *harness, x *references.Index)) {
	t.Helper()
	var x *references.Index
	inBubble(t, func(w *harness) {
		x = references.New(clock.RealClock{})
		x.Expect("Pod", job)
		w.References = x
	}, func(t *testing.T, w *harness) { test(t, w, x) })
}

// asks puts a policy in force whose rules read references to Jobs. Five Jobs are due.
func (w *harness) asks(p *policy.Policy) policyset.CompiledSnapshot { return w.asksSince(p, w.began) }

// asksSince is asks with declarations that changed at a time.
func (w *harness) asksSince(p *policy.Policy, declared time.Time) policyset.CompiledSnapshot {
	e := compiledOf(p)
	e.Asked, e.ReferencesSince = references.Asked{job: policy.AsksReferences}, declared
	now := time.Now()
	w.store(p, noStatus)
	w.set(func() { w.kinds = []retention.KindState{kindOf(e, now, backlog(5, now)...)} })
	w.Use(e)
	return e
}

func TestReferencesKnownCondition(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, x *references.Index) {
		say := func(when, known, ready string) {
			t.Helper()
			bubble.Pass(5 * time.Second)
			expect.Equal(t, when+": known", known, condition(w.status(), "ReferencesKnown"))
			expect.Equal(t, when+": ready", ready, condition(w.status(), "Ready"))
		}
		w.asks(policyOf(v1alpha1.DryRun, rule("a", asking), rule("b")))
		say("before Pods are listed", "Unknown Listing", "Unknown Listing")
		expect.Equal(t, "message", "rules that read references, targets or selected keep every Job.batch, because some references are not known: Pod: it has not been listed yet",
			message(w.status(), "ReferencesKnown"))
		expect.Equal(t, "message of Ready", message(w.status(), "ReferencesKnown"), message(w.status(), "Ready"))
		x.Replace("Pod", nil)
		say("once Pods are listed", "True ReferencesKnown", "True DryRun")
		writes := len(w.written())
		bubble.Pass(2 * time.Minute)
		if more := len(w.written()) - writes; more > 1 { // one write is for the end of the quiet period
			t.Errorf("%d writes without a change", more)
		}
		for _, kind := range []references.SourceID{"A", "B", "C"} {
			x.Expect(kind, job)
			x.Lose(kind, errors.New("forbidden"))
		}
		x.Lose("Pod", errors.New("no answer"))
		say("when the lists are lost", "False ReferencesUnknown", "False ReferencesUnknown")
		expect.Equal(t, "message about many",
			"rules that read references, targets or selected keep every Job.batch, because some references are not known: A: forbidden; B: forbidden; C: forbidden; and 1 more",
			message(w.status(), "ReferencesKnown"))
	})
}

func TestReferencesKnownOnlyOnReadingPolicies(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, _ *references.Index) {
		e := w.asks(policyOf(v1alpha1.DryRun, rule("a", asking)))
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "of a policy that reads references", "Unknown Listing", condition(w.status(), "ReferencesKnown"))
		e.Snapshot = compiledOf(policyOf(v1alpha1.DryRun, rule("a"))).Snapshot
		w.Use(e)
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "of a policy that no longer reads references", "", condition(w.status(), "ReferencesKnown"))
		expect.Equal(t, "ready", "True DryRun", condition(w.status(), "Ready"))
	})
}

func TestReferencesThatNothingDeclaresAreReported(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, x *references.Index) {
		x.Replace("Pod", nil)
		x.SetUndeclared(references.Asked{job: policy.AsksTargets})
		w.asks(policyOf(v1alpha1.DryRun, rule("a", asking)))
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "of a policy that reads references", "True ReferencesKnown", condition(w.status(), "ReferencesKnown"))
		w.asks(policyOf(v1alpha1.DryRun, rule("a", func(r *policy.Rule) { r.Relations = policy.AsksReferences | policy.AsksTargets })))
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "targets too", "False ReferencesUnknown", condition(w.status(), "ReferencesKnown"))
		got := message(w.status(), "ReferencesKnown")
		expect.Equal(t, "names the field: "+got, true, strings.HasPrefix(got, "rules that read targets keep every Job.batch: no policy declares targets for this kind"))
	})
}

// states are the states of kinds that refer to others.
type states []referrers.State

func (s states) States() []referrers.State { return s }

func TestDeclaredKindThatDoesNotExistIsReported(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, x *references.Index) {
		x.Replace("Pod", nil)
		app, gateway := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, schema.GroupVersionKind{Kind: "Gateway"}
		w.Referrers = states{
			{Kind: app, From: "App.v1.example.com", Phase: referrers.Absent}, {Kind: gateway, From: "Gateway", Phase: referrers.Absent},
		}
		e := w.asks(policyOf(v1alpha1.DryRun, rule("a", asking)))
		e.References = []references.Declared{{From: app, To: job}}
		w.Use(e)
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "known", "True ReferencesKnown", condition(w.status(), "ReferencesKnown"))
		expect.Equal(t, "message", "all references to the kinds that the rules ask about are known; the cluster does not have these kinds: App.v1.example.com",
			message(w.status(), "ReferencesKnown"))
	})
}

func TestReferencesAreExported(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, x *references.Index) {
		deployments := func(version string) schema.GroupVersionKind {
			return schema.GroupVersionKind{Group: "apps", Version: version, Kind: "Deployment"}
		}
		w.Referrers = states{
			{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, From: "Pod"}, {Kind: deployments("v1"), From: "D"}, {Kind: deployments("v2"), From: "E"},
			{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Unasked"}, From: "Unasked"},
		}
		x.Expect("Unasked", "Other")
		to := func(name string) []references.Target {
			return []references.Target{{Kind: job, Namespace: "n", Name: name}}
		}
		x.Expect("D", job)
		x.Replace("D", []references.Referrer{{UID: "1", Targets: to("a")}, {UID: "2"}})
		x.Expect("E", job)
		x.Replace("Pod", []references.Referrer{{UID: "3", Targets: to("a")}})
		e := w.asks(policyOf(v1alpha1.DryRun, rule("a", asking)))
		bubble.Pass(5 * time.Second)
		want := map[string]float64{
			" Job.batch": 2, "_referrers Pod": 1, "_referrers Deployment.apps": 2, "_synced Pod": 1, "_synced Deployment.apps": 0,
		}
		expect.Equal(t, "gauges", want, gathered(t, "sunset_references"))
		e.Asked = nil
		w.Use(e)
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "gauges when no rule reads references", map[string]float64{}, gathered(t, "sunset_references"))
	})
}

// TestNamespaceLearnsNothingOfOthersReferrers: the message of a RetentionPolicy does not contain which object cannot be read,
// and why.
func TestNamespaceLearnsNothingOfOthersReferrers(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, x *references.Index) {
		x.Replace("Pod", []references.Referrer{{UID: "1", Name: references.Name{Kind: "Pod", Namespace: "secret", Name: "hidden"}, Err: errors.New("broken")}})
		p := policyOf(v1alpha1.DryRun, rule("a", asking))
		p.Name, p.Namespace = "team-a/p", "team-a"
		p.Rules[0].ID.Policy, p.Rules[0].Namespace = p.Name, "team-a"
		w.asks(p)
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "message", "rules that read references, targets or selected keep every Job.batch, because some references are not known: Pod", message(w.statusOf("team-a/p"), "ReferencesKnown"))
	})
}

// expectUncounted checks which rules of the policy are not counted five seconds later.
func (w *harness) expectUncounted(t *testing.T, when string, want ...string) {
	t.Helper()
	bubble.Pass(5 * time.Second)
	if previews := w.status().Previews; len(previews) != 1 || !slices.Equal(want, previews[0].Uncounted) {
		t.Errorf("%s: %v; want uncounted %v", when, previews, want)
	}
}

// TestRulesThatReadWhatNothingDeclaresAreNotCounted: a declaration can make many objects eligible at once.
func TestRulesThatReadWhatNothingDeclaresAreNotCounted(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, x *references.Index) {
		x.Replace("Pod", nil)
		x.SetUndeclared(references.Asked{job: policy.AsksReferences})
		w.asks(gated(everywhere, rule("a", asking), rule("b")))
		bubble.Pass(time.Minute)
		w.expectUncounted(t, "while nothing declares them", "a")
		x.SetUndeclared(nil)
		bubble.Pass(time.Minute)
		w.expectUncounted(t, "after they were declared")
	})
}

// TestRulesThatAskAreCountedOnceTheyCanBe: until references to Jobs have been known for the quiet period, no object is due by
// such a rule. A count before that would always pass.
func TestRulesThatAskAreCountedOnceTheyCanBe(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, x *references.Index) {
		w.asks(gated(everywhere, rule("a", asking), rule("b")))
		uncounted := func(when string, want ...string) { t.Helper(); w.expectUncounted(t, when, want...) }
		uncounted("while Pods are not listed", "a")
		x.Replace("Pod", nil)
		uncounted("once Pods are listed", "a")
		bubble.Pass(15 * time.Second)
		uncounted("25 seconds later", "a")
		bubble.Pass(5 * time.Second)
		uncounted("later still")
	})
}

func TestChangeOfWhatIsDeclaredIsCountedOnceItCanBe(t *testing.T) {
	withReferences(t, func(t *testing.T, w *harness, x *references.Index) {
		x.Replace("Pod", nil)
		bubble.Pass(time.Minute)
		w.asksSince(gated(newNamespaces, rule("a", asking), rule("b")), time.Now())
		passed := func() int {
			n := 0
			w.set(func() { n = len(w.previewed) })
			return n
		}
		bubble.Pass(29 * time.Second)
		expect.Equal(t, "gates opened within the quiet period", 0, passed())
		bubble.Pass(3 * time.Second)
		synctest.Wait()
		if passed() == 0 {
			t.Error("the gate does not open")
		}
	})
}
