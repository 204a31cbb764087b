// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// now is the time of the tables below.
var now = fixture.Now

func TestConditions(t *testing.T) {
	problem := func(p *policy.Policy) {
		p.Problems = []policy.Problem{{Path: "spec.rules[0].ttl", Message: "missing"}}
		p.Rules[0].Problems = p.Problems
	}
	lost := &retention.SourceError{Reason: "KindNotFound", Message: "no kind Job"}
	undeletable := &retention.SourceError{Reason: "Forbidden", Message: "may not delete"}
	tests := map[string]struct {
		mode   v1alpha1.Mode
		policy func(p *policy.Policy)
		kind   func(k *retention.KindState)
		doubt  error
		want   [4]string // Valid, Watching, Enforcing, Ready
	}{
		"enforced": {v1alpha1.Enforce, nil, nil, nil,
			[4]string{"True Valid", "True Watching", "True Enforcing", "True Ready"}},
		"a dry run": {v1alpha1.DryRun, nil, nil, nil,
			[4]string{"True Valid", "True Watching", "", "True DryRun"}},
		"a dry run only because of --dry-run": {v1alpha1.DryRun, func(p *policy.Policy) { p.ForcedDryRun = true }, nil, nil,
			[4]string{"True Valid", "True Watching", "False DryRun", "False DryRun"}},
		"suspended": {v1alpha1.Suspend, nil, nil, nil,
			[4]string{"True Valid", "True Watching", "False Suspended", "True Suspended"}},
		"suspended because it is being deleted": {v1alpha1.Suspend, func(p *policy.Policy) { p.Terminating = true }, nil, nil,
			[4]string{"True Valid", "True Watching", "False Terminating", "True Terminating"}},
		"enforced and invalid": {v1alpha1.Enforce, problem, nil, nil,
			[4]string{"False RuleInvalid", "True Watching", "True Enforcing", "False RuleInvalid"}},
		"a dry run and invalid": {v1alpha1.DryRun, problem, nil, nil,
			[4]string{"False RuleInvalid", "True Watching", "", "False RuleInvalid"}},
		"enforced, the kind does not exist": {v1alpha1.Enforce, nil, func(k *retention.KindState) { k.Lost = lost }, nil,
			[4]string{"True Valid", "False KindNotFound", "True Enforcing", "False KindNotFound"}},
		"a dry run, the kind does not exist": {v1alpha1.DryRun, nil, func(k *retention.KindState) { k.Lost = lost }, nil,
			[4]string{"True Valid", "False KindNotFound", "", "False KindNotFound"}},
		"enforced and not listed yet": {v1alpha1.Enforce, nil, unlisted, nil,
			[4]string{"True Valid", "Unknown Listing", "True Enforcing", "Unknown Listing"}},
		"enforced, without permission to delete": {v1alpha1.Enforce, nil, func(k *retention.KindState) { k.Undeletable = undeletable }, nil,
			[4]string{"True Valid", "True Watching", "False Forbidden", "False Forbidden"}},
		"enforced, without permission to mark": {v1alpha1.Enforce, func(p *policy.Policy) { p.Rules[0].Mark = "m" }, func(k *retention.KindState) { k.Unmarkable = undeletable }, nil,
			[4]string{"True Valid", "True Watching", "False Forbidden", "False Forbidden"}},
		"enforced, without permission to mark, which the rule does not need": {v1alpha1.Enforce, nil, func(k *retention.KindState) { k.Unmarkable = undeletable }, nil,
			[4]string{"True Valid", "True Watching", "True Enforcing", "True Ready"}},
		"a dry run, without permission to delete": {v1alpha1.DryRun, nil, func(k *retention.KindState) { k.Undeletable = undeletable }, nil,
			[4]string{"True Valid", "True Watching", "", "True DryRun"}},
		"enforced, with clock skew": {v1alpha1.Enforce, nil, nil, errors.New("clock skew"),
			[4]string{"True Valid", "True Watching", "False Stale", "False Stale"}},
		"a dry run, with clock skew": {v1alpha1.DryRun, nil, nil, errors.New("clock skew"),
			[4]string{"True Valid", "True Watching", "", "True DryRun"}},
		"every problem at once": {v1alpha1.Enforce, func(p *policy.Policy) { p.Problems = []policy.Problem{{Path: "spec.mode"}} },
			func(k *retention.KindState) { k.Lost, k.Undeletable = lost, undeletable }, errors.New("clock skew"),
			[4]string{"False RuleInvalid", "False KindNotFound", "False Forbidden", "False RuleInvalid"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := policyOf(test.mode, rule("a"))
			if test.policy != nil {
				test.policy(p)
			}
			view := viewOf(compiledOf(p), test.kind)
			view.PreflightErr = test.doubt
			s := view.Status(p)
			got := [4]string{}
			for i, c := range []string{v1alpha1.ConditionValid, v1alpha1.ConditionWatching, v1alpha1.ConditionEnforcing, v1alpha1.ConditionReady} {
				got[i] = condition(s, c)
			}
			expect.Equal(t, "conditions", test.want, got)
			for _, c := range s.Conditions {
				if c.Message == "" || c.ObservedGeneration != 3 || !c.LastTransitionTime.Time.Equal(now) {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

func unlisted(k *retention.KindState) { k.Index = index.New(fixture.Jobs.GroupKind(), func() {}) }

// TestReadyOfATerminatingPolicy: a policy that is being deleted cannot be resumed, so the message is that of Enforcing.
func TestReadyOfATerminatingPolicy(t *testing.T) {
	p := policyOf(v1alpha1.Suspend, rule("a"))
	p.Terminating = true
	s := viewOf(compiledOf(p), nil).Status(p)
	expect.Equal(t, "message", message(s, v1alpha1.ConditionEnforcing), message(s, v1alpha1.ConditionReady))
}

// TestForcedDryRun: the condition says what the policy would delete only if Sunset has counted it.
func TestForcedDryRun(t *testing.T) {
	denied := func(*policy.Rule) (error, bool) { return preflight.ErrPermission, true }
	const uncounted = "Sunset has not counted what the policy would delete without this flag: see condition "
	for name, test := range map[string]struct {
		kind        func(*retention.KindState)
		permissions func(*policy.Rule) (error, bool)
		want        string
	}{
		"counted":        {nil, nil, "without this flag, the policy would delete 1 now and 1 within 24h"},
		"not listed yet": {unlisted, nil, uncounted + "Watching"},
		"not permitted":  {nil, denied, uncounted + "Permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ownPolicy(v1alpha1.Enforce, rule("b"))
			p.ForceDryRun()
			start := now.Add(-2 * time.Hour)
			view := viewOf(compiledOf(p), test.kind, row("x", start, policy.Facts{}, yes(start)))
			view.Permissions = test.permissions
			s := view.Status(p)
			expect.Equal(t, "Enforcing", "False DryRun", condition(s, v1alpha1.ConditionEnforcing))
			expect.Equal(t, "message", "the controller runs with --dry-run; "+test.want, message(s, v1alpha1.ConditionEnforcing))
		})
	}
}

func TestKindNobodyWatchesYetIsBeingListed(t *testing.T) {
	p := policyOf(v1alpha1.Enforce, rule("a"))
	s := status.View{Compiled: compiledOf(p), Now: now}.Status(p)
	expect.Equal(t, "watching", "Unknown Listing", condition(s, v1alpha1.ConditionWatching))
}

func TestValidConditionShowsThreeProblems(t *testing.T) {
	p := policyOf(v1alpha1.Enforce, rule("a"))
	for i := range 10 {
		p.Problems = append(p.Problems, policy.Problem{Path: fmt.Sprintf("spec.rules[%d]", i), Message: "wrong"})
	}
	s := status.View{Compiled: compiledOf(p), Now: now}.Status(p)
	expect.Equal(t, "message", "spec.rules[0]: wrong; spec.rules[1]: wrong; spec.rules[2]: wrong; and 7 more", message(s, v1alpha1.ConditionValid))
}

// TestConditionsOfOthersEnd: the status keeps neither the condition that the CRD sets, which is from 1970, nor those of another version.
func TestConditionsOfOthersEnd(t *testing.T) {
	view := status.View{Compiled: compiledOf(policyOf(v1alpha1.Enforce, rule("a"))), Now: now}
	view.Before.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending, LastTransitionTime: metav1.Unix(0, 0)},
		{Type: "OfANewerVersion", Status: metav1.ConditionTrue, Reason: "Unknown", LastTransitionTime: metav1.Unix(0, 0)},
	}
	s := view.Status(view.Compiled.Snapshot.Policies()[0])
	expect.Equal(t, "ready", "Unknown Listing", condition(s, v1alpha1.ConditionReady))
	for _, c := range s.Conditions {
		expect.Equal(t, c.Type, now, c.LastTransitionTime.Time)
	}
}

func TestConditionsKeepWhenTheyChanged(t *testing.T) {
	p := policyOf(v1alpha1.Enforce, rule("a"))
	view := viewOf(compiledOf(p), nil)
	view.Before = view.Status(p)
	view.Now, view.PreflightErr = now.Add(time.Hour), errors.New("clock skew")
	before := view.Before.DeepCopy()
	for _, c := range view.Status(p).Conditions {
		want := now
		if c.Type == v1alpha1.ConditionEnforcing || c.Type == v1alpha1.ConditionReady {
			want = now.Add(time.Hour)
		}
		expect.Equal(t, c.Type, want, c.LastTransitionTime.Time)
	}
	expect.Equal(t, "previous status", *before, view.Before)
}

func TestNumbers(t *testing.T) {
	no := policy.Facts{Selected: true}
	failed := policy.Facts{Selected: true, Err: errors.New("no such key: status")}
	other := policy.Facts{}
	p := policyOf(v1alpha1.Enforce, rule("a"), rule("b", func(r *policy.Rule) { r.TTL = 2 * time.Hour }))
	heldSubject := row("held", now).Subject()
	heldSubject.Flags = policy.IsHeld
	held := packed(heldSubject, yes(now.Add(-9*time.Hour)), other)
	view := viewOf(compiledOf(p), nil,
		row("due", now.Add(-9*time.Hour), yes(now.Add(-9*time.Hour)), other),
		row("in-an-hour", now, yes(now), other),
		row("in-two-by-both", now, yes(now), yes(now)),
		row("in-a-day", now, yes(now.Add(23*time.Hour)), other),
		row("in-a-week", now, yes(now.Add(6*24*time.Hour)), other),
		row("in-a-month", now, yes(now.Add(30*24*time.Hour)), other),
		row("not-eligible", now, no, no),
		row("failing", now, failed, other),
		held,
		row("not-selected", now, other, other),
	)
	view.Deleted = map[string]int64{"a": 7, "gone": 2}
	s := view.Status(p)
	s.Conditions, s.Previews = nil, nil
	expect.Equal(t, "enforced", &v1alpha1.EnforcedCount{Hash: p.Hash, ObservedTime: metav1.Time{Time: now}, Due: v1alpha1.ApprovalCounts{Now: 1, Week: 5}}, s.Enforced)
	s.Enforced = nil
	at := func(d time.Duration) metav1.Time { return metav1.Time{Time: now.Add(d)} }
	sample := func(name string, d time.Duration) v1alpha1.DueSample {
		return v1alpha1.DueSample{Namespace: "team-a", Name: name, DueTime: at(d)}
	}
	next := at(-8 * time.Hour)
	nextB, observed := at(2*time.Hour), at(0)
	expect.Equal(t, "status", v1alpha1.RetentionPolicyStatus{
		ObservedGeneration: 3, ObservedTime: &observed,
		Matched: 9, Eligible: 7, Held: 1, Errors: 1, Deleted: 9,
		Due: v1alpha1.DueCounts{Now: 1, Hour: 2, Day: 4, Week: 5}, NextDueTime: &next,
		Rules: []v1alpha1.RuleStatus{{
			Name: "a", Matched: 9, Eligible: 7, Held: 1, Errors: 1, Deleted: 7,
			ErrorSamples: []v1alpha1.ErrorSample{{Namespace: "team-a", Name: "failing", Message: "no such key: status"}},
			Due:          v1alpha1.DueCounts{Now: 1, Hour: 2, Day: 4, Week: 5}, NextDueTime: &next,
			Soonest: []v1alpha1.DueSample{
				sample("due", -8*time.Hour), sample("in-an-hour", time.Hour), sample("in-two-by-both", 2*time.Hour),
				sample("in-a-day", 24*time.Hour), sample("in-a-week", 6*24*time.Hour+time.Hour),
			},
		}, {
			Name: "b", Matched: 2, Eligible: 1,
			Due: v1alpha1.DueCounts{Day: 1, Week: 1}, NextDueTime: &nextB,
			Soonest: []v1alpha1.DueSample{sample("in-two-by-both", 2*time.Hour)},
		}},
	}, s)
}

func TestTimesAreRoundedUp(t *testing.T) {
	p := policyOf(v1alpha1.Enforce, rule("a"))
	s := viewOf(compiledOf(p), nil, row("x", now.Add(1))).Status(p)
	expect.Equal(t, "next", now.Add(time.Hour+time.Second), s.NextDueTime.Time)
	expect.Equal(t, "soonest", now.Add(time.Hour+time.Second), s.Rules[0].Soonest[0].DueTime.Time)
}

func TestDueTimeBeyondWhatTheAPICanHold(t *testing.T) {
	p := policyOf(v1alpha1.Enforce, rule("a"))
	s := viewOf(compiledOf(p), nil, row("x", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))).Status(p)
	if _, err := s.Rules[0].Soonest[0].DueTime.MarshalJSON(); err != nil || s.NextDueTime.Year() > 9999 {
		t.Errorf("%s cannot be written: %v", s.NextDueTime, err)
	}
}

func TestStatusSaysTheSameTwice(t *testing.T) {
	p := policyOf(v1alpha1.DryRun, rule("a"))
	view := viewOf(compiledOf(p), nil, row("x", now), row("y", now), row("z", now.Add(time.Hour+1)))
	expect.Equal(t, "status", view.Status(p), view.Status(p))
}

func TestWarningsAndProblemsOfARule(t *testing.T) {
	p := policyOf(v1alpha1.Enforce, rule("a"), rule("b"))
	p.Rules[1].Problems = []policy.Problem{{Path: "spec.rules[1].ttl", Message: "missing", Hint: "write one"}}
	e := compiledOf(p)
	warned := func(key string) []policy.Problem { return []policy.Problem{{Path: key, Message: "no such field"}} }
	s := status.View{Compiled: e, Warnings: warned, Now: now}.Status(p)
	expect.Equal(t, "problems of a", nil, s.Rules[0].Problems)
	expect.Equal(t, "problems of b", []string{"spec.rules[1].ttl: missing (write one)"}, s.Rules[1].Problems)
	expect.Equal(t, "warnings of b, which is invalid", nil, s.Rules[1].Warnings)
}

func TestShortLivesOfImagesAreWarnedOf(t *testing.T) {
	p := policyOf(v1alpha1.DryRun, rule("a"), rule("img", onNodes))
	for _, r := range p.Rules {
		r.TTL = time.Minute
	}
	s := status.View{Compiled: compiledOf(p), Now: now}.Status(p)
	expect.Equal(t, "warnings of Jobs", nil, s.Rules[0].Warnings)
	expect.Equal(t, "warnings of images", []string{
		"spec.rules[1].ttl: images that are removed after 1m may be pulled again repeatedly (write 1h or longer; to free disk space, write images.highThresholdPercent and lowThresholdPercent)",
	}, s.Rules[1].Warnings)
}
