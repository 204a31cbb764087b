// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestApprovalIsForOneChange: the same namespace waits again when the policy newly applies there again.
func TestApprovalIsForOneChange(t *testing.T) {
	l := rescoped(t)
	first := l.named("p").Gate.Hash
	l.approved(first)
	expect.Equal(t, "waiting once it is approved", free, l.waiting("team-b"))
	l.namespace("team-b", nil)
	l.refresh()
	l.later(time.Second)
	l.namespace("team-b", ci)
	l.refresh()
	expect.Equal(t, "waiting when it is selected again", waits, l.waiting("team-b"))
	if l.named("p").Gate.Hash == first {
		t.Error("the earlier approval also approves this change")
	}
}

// TestChangeDuringCountIsNotCounted, although it concerns the same namespace.
func TestChangeDuringCountIsNotCounted(t *testing.T) {
	l := running(t)
	l.policy("team-a/own", longer)
	l.refresh()
	counted := l.named("p")
	l.policy("team-a/own", strings.Replace(longer, "4h", "5h", 1))
	l.refresh()
	l.Previewed(policyset.Count{Policy: counted.UID, Generation: counted.Generation, Preview: v1alpha1.Preview{Hash: counted.Hash}, Gate: counted.Gate})
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	l.counted("p")
	expect.Equal(t, "waiting once the change is counted", free, l.waiting("team-a"))
}

// TestSuspendedPolicyWaitsInNewNamespaces when the policy is enforced again, because no status has shown what it would
// delete there.
func TestSuspendedPolicyWaitsInNewNamespaces(t *testing.T) {
	l := running(t)
	mode := func(mode string) {
		l.edit("p", func(p *unstructured.Unstructured) { _ = unstructured.SetNestedField(p.Object, mode, "spec", "mode") })
		l.refresh()
	}
	mode("Suspend")
	l.namespace("team-b", ci)
	l.refresh()
	mode("Enforce")
	expect.Equal(t, "waiting", waits, l.waiting("team-b"))
	expect.Equal(t, "waiting in another namespace", free, l.waiting("team-a"))
}

// TestNamespaceThatBeginsToWaitLaterIsComparedWithWhatWasInForceThen: while another namespace waits, a hold is put on it and removed.
func TestNamespaceThatBeginsToWaitLaterIsComparedWithWhatWasInForceThen(t *testing.T) {
	l := running(t)
	l.namespace("team-b", nil)
	l.namespace("team-c", ci)
	l.refresh()
	l.counted("p")
	l.namespace("team-b", ci)
	l.refresh()
	expect.Equal(t, "waiting", waits, l.waiting("team-b"))
	l.later(time.Minute)
	l.hold("team-c", "true")
	l.refresh()
	l.later(time.Minute)
	l.hold("team-c", "")
	l.refresh()
	expect.Equal(t, "waiting", waits, l.waiting("team-c"))
	expect.Equal(t, "held before and now", []bool{true, false}, l.held("team-c"))
	l.counted("p")
	expect.Equal(t, "waiting after the count", free, l.waiting("team-c"))
}

// TestSecondChangeOfANamespaceThatWaits: what was in force before the first change does not have the hold, and what was in force before
// the second has the first.
func TestSecondChangeOfANamespaceThatWaits(t *testing.T) {
	l := rescoped(t)
	known := func() bool {
		was, ok := l.named("p").Gate.BeforeIn["team-b"]
		return !ok || was != nil
	}
	hold := func(value string) {
		l.hold("team-b", value)
		l.refresh()
	}
	hold("true")
	hold("")
	expect.Equal(t, "known what was in force before, at once", true, known())
	l.later(time.Minute)
	hold("true")
	l.later(time.Minute)
	hold("")
	expect.Equal(t, "waiting", waits, l.waiting("team-b"))
	expect.Equal(t, "known what was in force before, later", false, known())
}

// TestHoldThatIsRemovedWhileAVersionWaits: what was in force before the version does not have the hold.
func TestHoldThatIsRemovedWhileAVersionWaits(t *testing.T) {
	l := withPolicy(t, spec("Enforce", "1h"))
	l.counted("p")
	first := l.named("p")
	l.later(time.Minute)
	l.become(spec("Enforce", "30m"))
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	for _, held := range []string{"true", ""} {
		l.later(time.Minute)
		l.hold("team-a", held)
		l.refresh()
	}
	expect.Equal(t, "held before and now", []bool{true, false}, l.held("team-a"))
	expect.Equal(t, "held before and now, in another namespace", []bool{false, false}, l.held("team-b"))
	was := l.named("p").Gate.BeforeIn["team-a"].Policies()[0]
	expect.Equal(t, "version before", first.Hash, was.Hash)
	if was.Gate != nil {
		t.Errorf("the version before waits: %+v", was.Gate)
	}
	l.counted("p")
	expect.Equal(t, "waiting once the version is counted", free, l.waiting("team-b"))
	expect.Equal(t, "waiting where the hold was", waits, l.waiting("team-a"))
	expect.Equal(t, "held before and now, once the version is counted", []bool{true, false}, l.held("team-a"))
}

// held reports whether a namespace is held in the snapshot with which the count of p compares, and whether it is held now.
func (l *harness) held(namespace string) []bool {
	gate := l.named("p").Gate
	was := gate.Before
	if own, ok := gate.BeforeIn[namespace]; ok {
		was = own
	}
	then, _ := was.Namespace(namespace)
	now, _ := l.snapshot().Namespace(namespace)
	return []bool{then.Held, now.Held}
}

// marking returns a rule without startTime.
func marking(mode, eligible string) string {
	return strings.NewReplacer(", startTime: finishedAt(object)", "", "finished(object)", eligible).Replace(spec(mode, "1h"))
}

// TestMarksCountSinceSomebodySawToThem: if a rule is in force from the start, all marks count. For other rules, only marks
// count that are set while the rule is in force.
func TestMarksCountSinceSomebodySawToThem(t *testing.T) {
	const one, other = "finished(object)", "failed(object)"
	started := policy.Rule{}.MarksSince
	tests := map[string]struct {
		first string
		then  []string // specs
		fresh bool     // only marks since the last edit count
	}{
		"in force from the start":           {marking("Enforce", one), nil, false},
		"another TTL":                       {marking("Enforce", one), []string{strings.Replace(marking("Enforce", one), "1h", "2h", 1)}, false},
		"suspended, and in force again":     {marking("Enforce", one), []string{marking("Suspend", one), marking("Enforce", one)}, false},
		"another expression":                {marking("Enforce", one), []string{marking("Enforce", other)}, true},
		"another expression, and back":      {marking("Enforce", one), []string{marking("Enforce", other), marking("Enforce", one)}, true},
		"a dry run at first":                {marking("DryRun", one), []string{marking("Enforce", one)}, true},
		"suspended at first":                {marking("Suspend", one), []string{marking("Enforce", one)}, false},
		"a startTime for a while":           {marking("Enforce", one), []string{spec("Enforce", "1h"), marking("Enforce", one)}, true},
		"in force, and edited as a dry run": {marking("Enforce", one), []string{marking("DryRun", other), marking("Enforce", one)}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := withPolicy(t, test.first)
			for _, next := range test.then {
				l.later(time.Minute)
				l.become(next)
			}
			want := started
			if test.fresh {
				want = l.clock.Now()
			}
			if got := l.named("p").Rules[0].MarksSince; !got.Equal(want) {
				t.Errorf("marks count since %s, want %s", got, want)
			}
		})
	}
}

// TestMarksOfBeforeADryRunDoNotCountAfterARestart: the previous leader, perhaps with --dry-run, did not maintain any marks.
func TestMarksOfBeforeADryRunDoNotCountAfterARestart(t *testing.T) {
	for reason, fresh := range map[string]bool{"": true, "DryRun": true, "Enforcing": false, "Suspended": false} {
		t.Run("reason "+reason, func(t *testing.T) {
			s := newServer()
			s.policy("p", marking("Enforce", "finished(object)"))
			status := v1alpha1.RetentionPolicyStatus{ObservedGeneration: 1}
			if reason != "" { // a dry run that its spec asks for has no such condition
				status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionEnforcing, Reason: reason}}
			}
			s.report("p", status)
			var want time.Time
			if fresh {
				want = s.clock.Now()
			}
			l := newHarness(t, s)
			l.later(time.Minute)
			l.become(strings.Replace(marking("Enforce", "finished(object)"), "1h", "2h", 1))
			if got := l.named("p").Rules[0].MarksSince; !got.Equal(want) {
				t.Errorf("marks count since %s, want %s", got, want)
			}
		})
	}
}

// TestRuleWithoutPermissionsKeepsObjects, also before it is known whether it has its permissions.
func TestRuleWithoutPermissionsKeepsObjects(t *testing.T) {
	s := newServer()
	s.policy("team-a/own", ownRules("Enforce", "1h"))
	l := newUnreadHarness(t, s)
	l.permissions.unknown = true
	s.sync()
	l.reconcile()
	unpermitted := func() bool { return l.named("team-a/own").Rules[0].Unpermitted }
	expect.Equal(t, "unpermitted before the first answer", true, unpermitted())
	l.permissions.unknown = false
	l.Republish()
	expect.Equal(t, "unpermitted with all permissions", false, unpermitted())
	l.permissions.err = errors.New("missing permission")
	l.Republish()
	expect.Equal(t, "unpermitted after they are revoked", true, unpermitted())
}

// TestRetentionPolicyNamesTheVersionThatTheServerPrefers: a rule with another version is invalid until it is preferred.
func TestRetentionPolicyNamesTheVersionThatTheServerPrefers(t *testing.T) {
	s := newServer()
	s.policy("team-a/own", ownRules("Enforce", "1h"))
	l := newUnreadHarness(t, s)
	l.permissions.preferred = schema.GroupVersionKind{Group: "batch", Version: "v2", Kind: "Job"}
	s.sync()
	l.reconcile()
	expect.Equal(t, "rules at another version", []string{"team-a/own/jobs Enforce 1h invalid"}, l.rules("team-a"))
	l.permissions.preferred.Version = "v1"
	l.Republish()
	expect.Equal(t, "rules at the preferred version", []string{"team-a/own/jobs Enforce 1h"}, l.rules("team-a"))
}

// TestPermissionsAreCheckedForEachRule: permissions for another kind, or for a rule without marks, do not count for it.
func TestPermissionsAreCheckedForEachRule(t *testing.T) {
	s := newServer()
	s.policy("team-a/own", `{mode: Enforce, serviceAccountName: cleaner, rules: [
		{name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), ttl: 1h},
		{name: marked, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), ttl: 1h},
		{name: pods, target: {apiVersion: v1, kind: Pod}, eligible: 'true', ttl: 1h},
		{name: more, target: {apiVersion: v1, kind: Pod}, eligible: 'true', ttl: 2h},
		{name: claims, target: {apiVersion: v1, kind: PersistentVolumeClaim}, eligible: references.count == 0, ttl: 1h},
		{name: snapshots, target: {apiVersion: v1, kind: PersistentVolumeClaim}, eligible: references.count == 0, ttl: 1h, snapshot: {}}]}`)
	l := newHarness(t, s)
	unpermitted := func() (names []string) {
		for _, r := range l.named("team-a/own").Rules {
			if r.Unpermitted {
				names = append(names, r.ID.Rule)
			}
		}
		return names
	}
	l.permissions.denied = func(r *policy.Rule) bool { return r.Kind.Kind == "Pod" }
	l.Republish()
	expect.Equal(t, "unpermitted without the permission for Pods", []string{"pods", "more"}, unpermitted())
	l.permissions.denied = func(r *policy.Rule) bool { return r.Mark != "" && r.Kind.Kind == "Job" }
	l.Republish()
	expect.Equal(t, "unpermitted without the permission to mark Jobs", []string{"marked"}, unpermitted())
	l.permissions.denied = func(r *policy.Rule) bool { return r.Snapshot != nil }
	l.Republish()
	expect.Equal(t, "unpermitted without the permission to create VolumeSnapshots", []string{"snapshots"}, unpermitted())
}

// TestMarksFromBeforeAMissingPermissionDoNotCount: the kind of the rule may not have been watched since then. After an error of
// the API server, it is watched as before.
func TestMarksFromBeforeAMissingPermissionDoNotCount(t *testing.T) {
	s := newServer()
	s.policy("team-a/own", strings.Replace(ownRules("Enforce", "1h"), "startTime: finishedAt(object), ", "", 1))
	l := newHarness(t, s)
	l.Republish()
	rule := func() *policy.Rule { return l.snapshot().Effective(jobs, "team-a").Rules[0] }
	since := func() time.Time { return rule().MarksSince }
	begun := since()
	for _, err := range []error{errors.New("connection refused"), nil} {
		l.later(time.Minute)
		l.permissions.err = err
		l.Republish()
		expect.Equal(t, "has its permissions", err == nil, !rule().Unpermitted)
		expect.Equal(t, "watched", true, !rule().Unwatched)
	}
	expect.Equal(t, "since when marks count after an error", begun, since())
	for _, err := range []error{preflight.ErrPermission, errors.New("connection refused"), nil} {
		l.later(time.Minute)
		l.permissions.err = err
		l.Republish()
	}
	back := l.clock.Now()
	expect.Equal(t, "since when marks count once the permission is granted again", back, since())
	l.later(time.Minute)
	l.Republish()
	expect.Equal(t, "since when marks count later", back, since())
}

// TestMarksFromBeforeARuleWasInvalidDoNotCount: during that time, another rule reads its kind at another version.
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
			l.become(test.other)
			expect.Equal(t, "invalid together with another rule", true, rule().Invalid())
			expect.Equal(t, "since when marks count", begun, rule().MarksSince)
			l.later(time.Minute)
			l.removePolicy("p")
			l.refresh()
			back := l.clock.Now()
			expect.Equal(t, "invalid at the end", false, rule().Invalid())
			expect.Equal(t, "since when marks count at the end", back, rule().MarksSince)
			l.later(time.Minute)
			l.Republish()
			expect.Equal(t, "since when marks count later", back, rule().MarksSince)
		})
	}
}

// TestMarksAreForgottenWithPolicy: tenants may create and delete policies without limit.
func TestMarksAreForgottenWithPolicy(t *testing.T) {
	l := newHarness(t, newServer())
	for range 5 {
		l.policy("team-a/own", strings.Replace(ownRules("Enforce", "1h"), "startTime: finishedAt(object), ", "", 1))
		l.refresh()
		expect.Equal(t, "known", 1, policyset.Marks(l.Reconciler))
		l.removePolicy("team-a/own")
		l.later(time.Minute)
		l.refresh()
	}
	expect.Equal(t, "known at the end", 0, policyset.Marks(l.Reconciler))
}

// TestLeaderThatStartsBelievesNoMarkThatTheStatusDistrusts, even if the cache has an older status.
func TestLeaderThatStartsBelievesNoMarkThatTheStatusDistrusts(t *testing.T) {
	distrusts := func(namespaces ...string) v1alpha1.RetentionPolicyStatus {
		return v1alpha1.RetentionPolicyStatus{
			ObservedGeneration: 1, Rules: []v1alpha1.RuleStatus{{Name: "jobs", DistrustedMarks: namespaces}},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionEnforcing, Status: metav1.ConditionTrue, Reason: "Enforcing"}},
		}
	}
	unobserved := distrusts()
	unobserved.ObservedGeneration = 7
	counted := unobserved
	counted.Enforced = &v1alpha1.EnforcedCount{Hash: "of an earlier version"}
	tests := map[string]struct {
		mode                       string
		status                     v1alpha1.RetentionPolicyStatus
		freshInTeamA, freshInTeamB bool
	}{
		"none":                   {"Enforce", distrusts(), false, false},
		"of one namespace":       {"Enforce", distrusts("team-a"), true, false},
		"of one, suspended":      {"Suspend", distrusts("team-a"), true, false},
		"all":                    {"Enforce", distrusts(v1alpha1.AllNamespaces), true, true},
		"the policy has changed": {"Enforce", unobserved, true, true},
		"changed after a count":  {"Enforce", counted, true, true},
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

// TestLeaderThatStartsBelievesNoMarkIfItCannotReadTheStatus: a field that another version wrote may have distrusted it.
func TestLeaderThatStartsBelievesNoMarkIfItCannotReadTheStatus(t *testing.T) {
	s := newServer()
	s.policy("p", marking("Enforce", "finished(object)"))
	s.sync()
	s.edit("p", func(p *unstructured.Unstructured) { p.Object["status"] = map[string]any{"rules": "of another version"} })
	l := newUnreadHarness(t, s)
	l.reconcile()
	l.namespace("team-a", nil)
	if got := l.snapshot().Effective(jobs, "team-a").Rules[0].MarksSince; !got.Equal(s.clock.Now()) {
		t.Errorf("marks count since %s, want now", got)
	}
}

// TestSnapshotWaitsForPolicyStatuses, because the statuses say which marks count.
func TestSnapshotWaitsForPolicyStatuses(t *testing.T) {
	s := newServer()
	s.policy("p", marking("Enforce", "finished(object)"))
	s.sync()
	l := newUnreadHarness(t, s)
	s.fail = func(string) error { return statusError(500) }
	if _, err := l.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("no error")
	}
	expect.Equal(t, "snapshots", 0, len(l.published))
	expect.Equal(t, "complete", false, l.Complete())
}
