// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestLeaderComparesItsFirstCountWithTheOneBefore: the count of the previous leader stays in the status until this leader has
// found no more, or until the new number is approved. Then the status has the new count.
func TestLeaderComparesItsFirstCountWithTheOneBefore(t *testing.T) {
	waitsIn := func(e v1alpha1.EnforcedCount, namespace string) *v1alpha1.EnforcedCount {
		e.WaitingNamespaces, e.WaitingSinceTime = []string{namespace}, &metav1.MicroTime{Time: now}
		return &e
	}
	counted := func(due int64) *v1alpha1.EnforcedCount {
		return &v1alpha1.EnforcedCount{Hash: "h", ObservedTime: timeOf(now), Due: v1alpha1.ApprovalCounts{Now: due, Week: due}}
	}
	at := now.Add(-time.Minute)
	before := &v1alpha1.EnforcedCount{Hash: "h", ObservedTime: timeOf(at), Due: v1alpha1.ApprovalCounts{Now: 1, Week: 1}}
	recount := &policy.ApprovalGate{Hash: gated(nil).RecountHash(at), Recount: &policy.Recount{Time: at, Due: 1, Week: 1}}
	scoped := &v1alpha1.PendingApproval{Hash: newNamespaces.Hash, Namespaces: []string{"team-a"}, SinceTime: &metav1.MicroTime{Time: now}, Due: v1alpha1.ApprovalCounts{Now: 9, Week: 9}, Matched: 9}
	first := &policy.ApprovalGate{Hash: gated(nil).ApprovalHash()}
	lost := func(k *retention.KindState) {
		unlisted(k)
		k.Lost = &retention.SourceError{Reason: "KindNotFound"}
	}
	more := func(week int64) string { return gated(nil).MoreHash(at, week) }
	tests := map[string]struct {
		gate      *policy.ApprovalGate
		mode      v1alpha1.Mode
		due       int // 5 more than before need no approval
		kind      func(k *retention.KindState)
		pending   *v1alpha1.PendingApproval // before
		enforced  *v1alpha1.EnforcedCount
		shows     string // hash of the pending approval
		week      int64
		uncounted []string
	}{
		"nothing waits":                             {nil, v1alpha1.Enforce, 6, nil, nil, counted(6), "", 0, nil},
		"a change waits":                            {newNamespaces, v1alpha1.Enforce, 6, nil, nil, counted(0), newNamespaces.Hash, 6, nil},
		"a change waits in another namespace":       {newlyIn("team-b"), v1alpha1.Enforce, 6, nil, nil, counted(6), "", 0, nil},
		"a change waits to be counted":              {newNamespaces, v1alpha1.Enforce, 6, unlisted, nil, waitsIn(*before, "team-a"), "", 0, nil},
		"its first count releases it":               {first, v1alpha1.Enforce, 3, nil, nil, counted(3), "", 0, nil},
		"its first count does not release it":       {first, v1alpha1.Enforce, 9, nil, nil, before, first.Hash, 9, nil},
		"its first count is not complete":           {first, v1alpha1.Enforce, 3, unlisted, nil, before, "", 0, nil},
		"a dry run":                                 {nil, v1alpha1.DryRun, 6, nil, nil, nil, "", 0, nil},
		"suspended":                                 {nil, v1alpha1.Suspend, 6, nil, nil, before, "", 0, nil},
		"suspended while namespaces wait":           {nil, v1alpha1.Suspend, 6, nil, scoped, before, scoped.Hash, 9, nil},
		"nothing waits, and nothing is counted yet": {nil, v1alpha1.Enforce, 6, unlisted, nil, before, "", 0, nil},
		"as many as before":                         {recount, v1alpha1.Enforce, 6, nil, nil, before, "", 0, nil},
		"more than before":                          {recount, v1alpha1.Enforce, 7, nil, nil, before, more(6), 6, nil},
		"not counted yet":                           {recount, v1alpha1.Enforce, 7, unlisted, nil, before, "", 0, nil},
		"a kind is lost":                            {recount, v1alpha1.Enforce, 7, lost, nil, before, "", 0, []string{"a"}},
		"not counted yet, and another waits":        {recount, v1alpha1.Enforce, 7, unlisted, scoped, before, scoped.Hash, 9, nil},
		"as many as before, another waits":          {recount, v1alpha1.Enforce, 6, nil, scoped, before, scoped.Hash, 9, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := withMode(gated(test.gate), test.mode)
			view := viewOf(compiledOf(p), test.kind, backlog(test.due, now)...)
			view.Before = v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h"), PendingApproval: test.pending, Enforced: before}
			status := view.Status(p)
			expect.Equal(t, "enforced", test.enforced, status.Enforced)
			if len(status.Previews) > 0 {
				expect.Equal(t, "uncounted", test.uncounted, status.Previews[0].Uncounted)
			}
			pending := status.PendingApproval
			if pending == nil {
				pending = &v1alpha1.PendingApproval{}
			}
			expect.Equal(t, "hash", test.shows, pending.Hash)
			expect.Equal(t, "week", test.week, pending.Due.Week)
			for _, c := range status.Conditions {
				if c.Type == v1alpha1.ConditionApprovalRequired && test.shows == more(6) {
					expect.Equal(t, c.Message, true, strings.Contains(c.Message, "when Sunset last counted this policy"))
				}
			}
		})
	}
}

// TestStatusNamesEveryNamespaceThatWaits: the next leader knows from the status where a change waits, also while the pending
// approval shows something else, or nothing.
func TestStatusNamesEveryNamespaceThatWaits(t *testing.T) {
	at := now.Add(-time.Minute)
	scope := policy.ApprovalScope(nil).Wider(sets.New("team-b"), at)
	shown := &v1alpha1.PendingApproval{Hash: gated(nil).ScopeHash([]string{"team-b"}, at), Namespaces: []string{"team-b"}, SinceTime: &metav1.MicroTime{Time: at}}
	whole := &policy.ApprovalGate{Hash: gated(nil).ApprovalHash()}
	recount := &policy.ApprovalGate{Hash: gated(nil).RecountHash(at), Recount: &policy.Recount{Time: at, Besides: scope}}
	for name, test := range map[string]struct {
		gate     *policy.ApprovalGate
		mode     v1alpha1.Mode
		scope    policy.ApprovalScope
		before   *v1alpha1.PendingApproval
		waiting  []string // of status.enforced
		previews int
	}{
		"the pending approval shows it":                   {recount, v1alpha1.Suspend, scope, shown, nil, 1},
		"more wait":                                       {recount, v1alpha1.Suspend, scope.Wider(sets.New("team-c"), now), shown, []string{"team-c"}, 1},
		"it has changed again":                            {recount, v1alpha1.Suspend, scope.Wider(sets.New("team-b"), now), shown, []string{"team-b"}, 1},
		"a new leader finds more elsewhere":               {recount, v1alpha1.Enforce, scope, shown, []string{"team-b"}, 1},
		"the whole policy waits":                          {whole, v1alpha1.Enforce, scope, shown, []string{"team-b"}, 0},
		"a change was made while the policy is suspended": {nil, v1alpha1.Suspend, scope, nil, []string{"team-b"}, 1},
		"nothing waits":                                   {nil, v1alpha1.Enforce, nil, shown, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := withMode(gated(test.gate), test.mode)
			compiled := compiledOf(p)
			compiled.Waiting[p.UID] = test.scope
			view := viewOf(compiled, nil, backlog(9, now)...)
			view.Before = v1alpha1.RetentionPolicyStatus{
				Previews: append(previewsOf("h"), previewsOf("of another version")...), PendingApproval: test.before,
				Enforced: &v1alpha1.EnforcedCount{Hash: "h", ObservedTime: timeOf(at), WaitingNamespaces: []string{"of before"}},
			}
			status := view.Status(p)
			expect.Equal(t, "waiting", test.waiting, status.Enforced.WaitingNamespaces)
			if test.waiting != nil {
				expect.Equal(t, "since", test.scope.Since(), status.Enforced.WaitingSinceTime.Time)
			}
			expect.Equal(t, "previews", test.previews, len(status.Previews))
		})
	}
}

// TestRuleThatCannotBeCountedHidesNoOther: the earlier count contains its objects. Without them, another rule would seem to
// find no more objects due than before.
func TestRuleThatCannotBeCountedHidesNoOther(t *testing.T) {
	at := now.Add(-time.Minute)
	for name, test := range map[string]struct {
		uncounted []string // in the earlier count
		waits     int64
	}{
		"it was counted":     {nil, 9},
		"it was not counted": {[]string{"b"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			broken := rule("b")
			broken.Problems = []policy.Problem{{Message: "no such field"}}
			p := gated(&policy.ApprovalGate{Hash: gated(nil).RecountHash(at), Recount: &policy.Recount{Time: at, Due: 9, Week: 9, Uncounted: test.uncounted}}, rule("a"), broken)
			view := viewOf(compiledOf(p), nil, backlog(9, now)...)
			view.Before = v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h")}
			pending := view.Status(p).PendingApproval
			if pending == nil {
				pending = &v1alpha1.PendingApproval{}
			}
			expect.Equal(t, "week", test.waits, pending.Due.Week)
		})
	}
}

// TestApprovalOfAFirstCountIsForTheNumberShown: a later leader may find more. If it finds a few more, the approval counts.
func TestApprovalOfAFirstCountIsForTheNumberShown(t *testing.T) {
	at := now.Add(-time.Minute)
	more := func(week int64) string { return gated(nil).MoreHash(at, week) }
	for name, test := range map[string]struct {
		shown, now int64
		approved   string
		waits      int64 // the number that waits for approval; 0 for none
	}{
		"it is shown":                        {10, 10, "", 10},
		"it is shown, and a few more":        {10, 15, "", 10},
		"it is shown, and a few less":        {15, 10, "", 15},
		"it is shown, and many more":         {10, 16, "", 16},
		"it is shown, and many less":         {16, 10, "", 10},
		"it is approved":                     {10, 10, more(10), 0},
		"it is approved, and a few more":     {10, 15, more(10), 0},
		"it is approved, and many more":      {10, 16, more(10), 16},
		"it is approved, and many less":      {16, 10, more(16), 0},
		"another number is approved":         {10, 10, more(16), 10},
		"it was approved, and is not shown":  {0, 10, more(10), 0},
		"one without a number was approved":  {10, 10, gated(nil).RecountHash(at), 10},
		"as few as need no approval, by now": {10, 5, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := gated(&policy.ApprovalGate{Hash: gated(nil).RecountHash(at), Recount: &policy.Recount{Time: at}})
			p.Approved = sets.New(test.approved)
			view := viewOf(compiledOf(p), nil, backlog(int(test.now), now)...)
			view.Before.Previews = previewsOf("h")
			if test.shown > 0 {
				view.Before.PendingApproval = &v1alpha1.PendingApproval{Hash: more(test.shown), Due: v1alpha1.ApprovalCounts{Week: test.shown}}
			}
			pending := view.Status(p).PendingApproval
			if test.waits == 0 {
				expect.Equal(t, "pending", nil, pending)
				return
			}
			expect.Equal(t, "hash", more(test.waits), pending.Hash)
			expect.Equal(t, "week", test.waits, pending.Due.Week)
		})
	}
}

// TestLeaderChangeAloneOpensWithoutAStatus: if no more objects are due than for the previous leader, no status must be written
// first.
func TestLeaderChangeAloneOpensWithoutAStatus(t *testing.T) {
	for due, opens := range map[int]int{6: 1, 7: 0} {
		inBubble(t, func(w *harness) {
			p := gated(&policy.ApprovalGate{Hash: "r", Recount: &policy.Recount{Time: w.began, Due: 1, Week: 1}})
			before := v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h"), Rules: []v1alpha1.RuleStatus{{Name: "a"}}, Enforced: &v1alpha1.EnforcedCount{Hash: "h", ObservedTime: timeOf(w.began), Due: v1alpha1.ApprovalCounts{Now: 1, Week: 1}}}
			e := w.create(p, before)
			w.kinds = []retention.KindState{kindOf(e, w.began, backlog(due, w.began)...)}
		}, func(t *testing.T, w *harness) {
			bubble.Pass(time.Second)
			expect.Equal(t, "opened", opens, min(1, len(w.previewed)))
			expect.Equal(t, "written", 1-opens, len(w.written()))
		})
	}
}
