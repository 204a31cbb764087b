package policyset_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestAnApprovalIsForOneChange: the same namespace waits again when the policy applies there again again.
func TestAnApprovalIsForOneChange(t *testing.T) {
	l := rescoped(t)
	first := l.named("p").Gate.Hash
	l.approve("p", first)
	l.refresh()
	expect.Equal(t, "waiting once it is approved", free, l.waiting("team-b"))
	l.namespace("team-b", nil)
	l.refresh()
	l.later(time.Second)
	l.namespace("team-b", map[string]string{"tier": "ci"})
	l.refresh()
	expect.Equal(t, "waiting when it comes back", waits, l.waiting("team-b"))
	if l.named("p").Gate.Hash == first {
		t.Error("what was approved before approves this too")
	}
}

// TestWhatChangesWhileItIsCountedWasNotCounted, though it is about the same namespace.
func TestWhatChangesWhileItIsCountedWasNotCounted(t *testing.T) {
	l := running(t)
	l.policy("team-a/own", longer)
	l.refresh()
	counted := l.named("p")
	l.policy("team-a/own", strings.Replace(longer, "4h", "5h", 1))
	l.refresh()
	l.Previewed(policyset.Count{Policy: counted.UID, Generation: counted.Generation, Preview: v1alpha1.Preview{Hash: counted.Hash}, Gate: counted.Gate})
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	l.counted("p")
	expect.Equal(t, "waiting once that is counted", free, l.waiting("team-a"))
}

// TestWhatASuspendedPolicyComesToApplyToIsCounted when it goes on: nobody has seen what it would delete there.
func TestWhatASuspendedPolicyComesToApplyToIsCounted(t *testing.T) {
	l := running(t)
	mode := func(mode string) {
		l.edit("p", func(p *unstructured.Unstructured) { _ = unstructured.SetNestedField(p.Object, mode, "spec", "mode") })
		l.refresh()
	}
	mode("Suspended")
	l.namespace("team-b", map[string]string{"tier": "ci"})
	l.refresh()
	mode("Enforce")
	expect.Equal(t, "waiting", waits, l.waiting("team-b"))
	expect.Equal(t, "waiting in another", free, l.waiting("team-a"))
}

// marking is a rule without startTime.
func marking(mode, eligible string) string {
	return strings.NewReplacer(", startTime: finishedAt(object)", "", "finished(object)", eligible).Replace(spec(mode, "1h"))
}

// TestMarksCountSinceSomebodySawToThem: of rules in force from the start, all of them; of others, those since they are.
func TestMarksCountSinceSomebodySawToThem(t *testing.T) {
	const one, other = "finished(object)", "failed(object)"
	started := policy.Rule{}.MarksSince
	tests := map[string]struct {
		first string
		then  []string // specs
		fresh bool     // only marks from the last edit on count
	}{
		"in force from the start":           {marking("Enforce", one), nil, false},
		"another time to live":              {marking("Enforce", one), []string{strings.Replace(marking("Enforce", one), "1h", "2h", 1)}, false},
		"suspended, and in force again":     {marking("Enforce", one), []string{marking("Suspended", one), marking("Enforce", one)}, false},
		"another expression":                {marking("Enforce", one), []string{marking("Enforce", other)}, true},
		"another expression, and back":      {marking("Enforce", one), []string{marking("Enforce", other), marking("Enforce", one)}, true},
		"a dry run at first":                {marking("DryRun", one), []string{marking("Enforce", one)}, true},
		"suspended at first":                {marking("Suspended", one), []string{marking("Enforce", one)}, false},
		"a startTime for a while":           {marking("Enforce", one), []string{spec("Enforce", "1h"), marking("Enforce", one)}, true},
		"in force, and edited in a dry run": {marking("Enforce", one), []string{marking("DryRun", other), marking("Enforce", one)}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.policy("p", test.first)
			l := newHarness(t, s)
			for _, next := range test.then {
				l.later(time.Minute)
				l.policy("p", next)
				l.refresh()
			}
			want := started
			if test.fresh {
				want = s.clock.Now()
			}
			if got := l.named("p").Rules[0].MarksSince; !got.Equal(want) {
				t.Errorf("marks count since %s, want %s", got, want)
			}
		})
	}
}

// TestMarksOfBeforeADryRunDoNotCountAfterARestart: who led before, perhaps with --dry-run, saw to none.
func TestMarksOfBeforeADryRunDoNotCountAfterARestart(t *testing.T) {
	for reason, fresh := range map[string]bool{"DryRun": true, "Enforcing": false, "Suspended": false} {
		t.Run(reason, func(t *testing.T) {
			s := newServer()
			s.policy("p", marking("Enforce", "finished(object)"))
			s.report("p", v1alpha1.RetentionPolicyStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionEnforcing, Reason: reason}}})
			var want time.Time
			if fresh {
				want = s.clock.Now()
			}
			l := newHarness(t, s)
			l.later(time.Minute)
			l.policy("p", strings.Replace(marking("Enforce", "finished(object)"), "1h", "2h", 1))
			l.refresh()
			if got := l.named("p").Rules[0].MarksSince; !got.Equal(want) {
				t.Errorf("marks count since %s, want %s", got, want)
			}
		})
	}
}

// TestARuleWithoutRightsKeepsWhateverThereIs, from before it is known that it has them.
func TestARuleWithoutRightsKeepsWhateverThereIs(t *testing.T) {
	s := newServer()
	s.policy("team-a/own", ownRules("Enforce", "1h"))
	l := newUnreadHarness(t, s)
	l.rights.unknown = true
	s.sync()
	l.reconcile()
	unpermitted := func() bool { return l.named("team-a/own").Rules[0].Unpermitted }
	expect.Equal(t, "unpermitted before anybody has asked", true, unpermitted())
	l.rights.unknown = false
	l.Republish()
	expect.Equal(t, "unpermitted when it has the rights", false, unpermitted())
	l.rights.err = errors.New("missing permission")
	l.Republish()
	expect.Equal(t, "unpermitted when it has lost them", true, unpermitted())
}

// TestEachRuleNeedsThePermissionsOfItsOwn: those for another kind, or without marks, say nothing about it.
func TestEachRuleNeedsThePermissionsOfItsOwn(t *testing.T) {
	s := newServer()
	s.policy("team-a/own", `{mode: Enforce, serviceAccountName: cleaner, rules: [
		{name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), ttl: 1h},
		{name: marked, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), ttl: 1h},
		{name: pods, target: {apiVersion: v1, kind: Pod}, eligible: 'true', ttl: 1h},
		{name: more, target: {apiVersion: v1, kind: Pod}, eligible: 'true', ttl: 2h}]}`)
	l := newHarness(t, s)
	unpermitted := func() (names []string) {
		for _, r := range l.named("team-a/own").Rules {
			if r.Unpermitted {
				names = append(names, r.ID.Rule)
			}
		}
		return names
	}
	l.rights.denied = func(r *policy.Rule) bool { return r.Kind.Kind == "Pod" }
	l.Republish()
	expect.Equal(t, "unpermitted without the permission for Pods", []string{"pods", "more"}, unpermitted())
	l.rights.denied = func(r *policy.Rule) bool { return r.Mark != "" && r.Kind.Kind == "Job" }
	l.Republish()
	expect.Equal(t, "unpermitted without the permission to mark Jobs", []string{"marked"}, unpermitted())
}

// TestMarksFromBeforeARightWasMissingDoNotCount: its kind may not have been watched meanwhile. While the API server does not tell, it is
// watched as before.
func TestMarksFromBeforeARightWasMissingDoNotCount(t *testing.T) {
	s := newServer()
	s.policy("team-a/own", strings.Replace(ownRules("Enforce", "1h"), "startTime: finishedAt(object), ", "", 1))
	l := newHarness(t, s)
	l.Republish()
	rule := func() *policy.Rule { return l.snapshot().Effective(jobs, "team-a").Rules[0] }
	since := func() time.Time { return rule().MarksSince }
	begun := since()
	for _, err := range []error{errors.New("connection refused"), nil} {
		l.later(time.Minute)
		l.rights.err = err
		l.Republish()
		expect.Equal(t, "permitted to delete", err == nil, !rule().Unpermitted)
		expect.Equal(t, "watched", true, !rule().Unwatched)
	}
	expect.Equal(t, "since when marks count after an error", begun, since())
	for _, err := range []error{permissions.ErrMissing, errors.New("connection refused"), nil} {
		l.later(time.Minute)
		l.rights.err = err
		l.Republish()
	}
	back := l.clock.Now()
	expect.Equal(t, "since when marks count once the right is back", back, since())
	l.later(time.Minute)
	l.Republish()
	expect.Equal(t, "since when marks count later", back, since())
}

// TestMarksFromBeforeARuleWasInvalidDoNotCount: another rule has its kind read at another version meanwhile.
func TestMarksFromBeforeARuleWasInvalidDoNotCount(t *testing.T) {
	own := strings.Replace(ownRules("Enforce", "1h"), "startTime: finishedAt(object), ", "", 1)
	for name, test := range map[string]struct{ marks, other string }{
		"team-a/own": {own, spec("DryRun", "1h")},
		"q":          {marking("Enforce", "finished(object)"), spec("Enforce", "1h")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.policy(name, strings.Replace(test.marks, "batch/v1,", "batch/v1beta1,", 1))
			l := newHarness(t, s)
			l.Republish()
			rule := func() *policy.Rule { return l.named(name).Rules[0] }
			expect.Equal(t, "invalid alone", false, rule().Invalid())
			begun := rule().MarksSince
			l.later(time.Minute)
			l.policy("p", test.other)
			l.refresh()
			expect.Equal(t, "invalid beside another rule", true, rule().Invalid())
			expect.Equal(t, "since when marks count", begun, rule().MarksSince)
			l.later(time.Minute)
			l.removePolicy("p")
			l.refresh()
			back := l.clock.Now()
			expect.Equal(t, "invalid in the end", false, rule().Invalid())
			expect.Equal(t, "since when marks count in the end", back, rule().MarksSince)
			l.later(time.Minute)
			l.Republish()
			expect.Equal(t, "since when marks count later", back, rule().MarksSince)
		})
	}
}

// TestWhatIsKnownOfMarksGoesWithThePolicy: tenants may create and delete policies without end.
func TestWhatIsKnownOfMarksGoesWithThePolicy(t *testing.T) {
	l := newHarness(t, newServer())
	for range 5 {
		l.policy("team-a/own", strings.Replace(ownRules("Enforce", "1h"), "startTime: finishedAt(object), ", "", 1))
		l.refresh()
		expect.Equal(t, "known", 1, policyset.Marks(l.Reconciler))
		l.removePolicy("team-a/own")
		l.later(time.Minute)
		l.refresh()
	}
	expect.Equal(t, "known in the end", 0, policyset.Marks(l.Reconciler))
}

// TestALeaderThatStartsBelievesNoMarkThatTheStatusDistrusts, even where the cache has an older status.
func TestALeaderThatStartsBelievesNoMarkThatTheStatusDistrusts(t *testing.T) {
	distrusts := func(namespaces ...string) v1alpha1.RetentionPolicyStatus {
		return v1alpha1.RetentionPolicyStatus{ObservedGeneration: 1, Rules: []v1alpha1.RuleStatus{{Name: "jobs", DistrustedMarks: namespaces}}}
	}
	unobserved := distrusts()
	unobserved.ObservedGeneration = 7
	counted := unobserved
	counted.Enforced = &v1alpha1.EnforcedCount{Hash: "of an earlier form"}
	tests := map[string]struct {
		mode                       string
		status                     v1alpha1.RetentionPolicyStatus
		freshInTeamA, freshInTeamB bool
	}{
		"none":                   {"Enforce", distrusts(), false, false},
		"of one namespace":       {"Enforce", distrusts("team-a"), true, false},
		"of one, suspended":      {"Suspended", distrusts("team-a"), true, false},
		"all":                    {"Enforce", distrusts(v1alpha1.AllNamespaces), true, true},
		"the policy has changed": {"Enforce", unobserved, true, true},
		"changed once counted":   {"Enforce", counted, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.policy("p", marking(test.mode, "finished(object)"))
			s.sync()
			s.report("p", test.status) // the cache does not have it
			l := newUnreadHarness(t, s)
			l.reconcile()
			l.namespace("team-a", nil)
			l.namespace("team-b", nil)
			for namespace, fresh := range map[string]bool{"team-a": test.freshInTeamA, "team-b": test.freshInTeamB} {
				want := time.Time{}
				if fresh {
					want = s.clock.Now()
				}
				if got := l.snapshot().Effective(jobs, namespace).Rules[0].MarksSince; !got.Equal(want) {
					t.Errorf("in %s marks count since %s, want %s", namespace, got, want)
				}
			}
		})
	}
}

// TestNothingIsInForceBeforeTheStatusesAreRead: they say which marks count.
func TestNothingIsInForceBeforeTheStatusesAreRead(t *testing.T) {
	s := newServer()
	s.policy("p", marking("Enforce", "finished(object)"))
	s.sync()
	l := newUnreadHarness(t, s)
	s.fail = func(string) error { return statusError(500) }
	if _, err := l.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("no error")
	}
	expect.Equal(t, "editions", 0, len(l.published))
	expect.Equal(t, "complete", false, l.Complete())
}
