// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// Gates of all rules, of all rules in team-a only, and of rule b only.
var (
	everywhere    = &policy.ApprovalGate{Hash: "h"}
	newNamespaces = newlyIn("team-a")
	uncounted     = &policy.ApprovalGate{Hash: "h", Rules: sets.New("b")}
)

// newlyIn returns a gate for some namespaces.
func newlyIn(namespaces ...string) *policy.ApprovalGate {
	scope := policy.ApprovalScope(nil).Wider(sets.New(namespaces...), now)
	return &policy.ApprovalGate{Hash: gated(nil).ScopeHash(namespaces, now), Namespaces: scope}
}

// gated returns policy p, in force, with up to 5 deletions that need no approval.
func gated(gate *policy.ApprovalGate, rules ...*policy.Rule) *policy.Policy {
	if rules == nil {
		rules = []*policy.Rule{rule("a")}
	}
	p := policyOf(v1alpha1.Enforce, rules...)
	p.Hash, p.Gate, p.Approval = "h", gate, policy.Approval{MaxPercent: 100, MaxObjects: 5}
	return p
}

// backlog returns n Jobs that are due, and one that is not.
func backlog(n int, now time.Time) []*index.FactRow {
	rows := []*index.FactRow{row("later", now, yes(now.Add(8*policy.Day)), policy.Facts{})}
	for i := range n {
		rows = append(rows, row(fmt.Sprint("due-", i), now.Add(-2*time.Hour), yes(now.Add(-2*time.Hour)), policy.Facts{}))
	}
	return rows
}

func previewsOf(hashes ...string) []v1alpha1.Preview {
	var all []v1alpha1.Preview
	for _, hash := range hashes {
		all = append(all, v1alpha1.Preview{Hash: hash, ObservedTime: timeOf(now)})
	}
	return all
}

func TestStatusShowsPreviewsAndPendingApproval(t *testing.T) {
	lost := &retention.SourceError{Reason: "KindNotFound"}
	problem := []policy.Problem{{Path: "spec.rules[1].target.apiVersion", Message: "another version"}}
	invalid := func(r *policy.Rule) { r.Problems = problem }
	pods := func(r *policy.Rule) { r.Kind.Group, r.Kind.Kind = "", "Pod" }
	of := func(uncounted ...string) []v1alpha1.Preview {
		return []v1alpha1.Preview{{Hash: "h", ObservedTime: timeOf(now), Uncounted: uncounted}}
	}
	pending := func(hash string, namespaces ...string) *v1alpha1.PendingApproval {
		all := &v1alpha1.PendingApproval{Hash: hash, Due: v1alpha1.ApprovalCounts{Now: 6, Week: 6}, Matched: 7, Namespaces: namespaces}
		if len(namespaces) > 0 {
			all.SinceTime = &metav1.MicroTime{Time: now}
		}
		return all
	}
	before := pending(newNamespaces.Hash, "team-a")
	before.Due.Now = 99
	always := func(gate *policy.ApprovalGate) *policy.Policy {
		p := gated(gate)
		p.Approval.AllChanges = true
		return p
	}
	since := &policy.ApprovalGate{Hash: "since", Recount: &policy.Recount{Time: now}}
	two := &policy.ApprovalGate{Hash: "two", Rules: sets.New("a", "b")}
	approved := func(p *policy.Policy, hash string) *policy.Policy {
		p.Approved = sets.New(hash)
		return p
	}
	ofA := pending(gated(nil).RulesHash([]string{"a"}, now))
	ofA.Rules, ofA.SinceTime = []string{"a"}, &metav1.MicroTime{Time: now}
	earlier := pending(gated(nil).RulesHash([]string{"a"}, now.Add(-time.Hour)))
	earlier.Rules, earlier.SinceTime = []string{"a"}, &metav1.MicroTime{Time: now.Add(-time.Hour)}
	ofBoth := pending(gated(nil).RulesHash([]string{"a", "b"}, now))
	ofBoth.Rules, ofBoth.SinceTime = []string{"a", "b"}, &metav1.MicroTime{Time: now}
	tests := map[string]struct {
		policy   *policy.Policy
		due      int
		kind     func(k *retention.KindState)
		before   v1alpha1.RetentionPolicyStatus
		previews []v1alpha1.Preview
		pending  *v1alpha1.PendingApproval
	}{
		"as many as allowed":                   {gated(everywhere), 5, nil, noStatus, of(), nil},
		"more than allowed":                    {gated(everywhere), 6, nil, noStatus, nil, pending("h")},
		"more, and approved":                   {gated(nil), 6, nil, noStatus, of(), nil},
		"more, counted before":                 {gated(nil), 6, nil, v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h")}, of(), nil},
		"more in a namespace":                  {gated(newNamespaces), 6, nil, noStatus, of(), pending(newNamespaces.Hash, "team-a")},
		"not more in the namespace":            {gated(newlyIn("team-b")), 6, nil, noStatus, of(), nil},
		"more, in a dry run":                   {withMode(gated(nil), v1alpha1.DryRun), 6, nil, noStatus, of(), nil},
		"more, suspended":                      {withMode(gated(nil), v1alpha1.Suspend), 6, nil, noStatus, nil, nil},
		"more, with --dry-run":                 {forcedDryRun(), 6, nil, noStatus, nil, nil},
		"more, with --dry-run, counted before": {forcedDryRun(), 6, nil, v1alpha1.RetentionPolicyStatus{Previews: of("b")}, of("b"), nil},
		"--dry-run while it waits":             {forcedDryRun(), 6, nil, v1alpha1.RetentionPolicyStatus{PendingApproval: before}, nil, before},
		"not listed":                           {gated(everywhere), 6, unlisted, noStatus, nil, nil},
		"not listed, but counted before":       {gated(nil), 6, unlisted, v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h")}, of(), nil},
		"not listed after a restart":           {gated(newNamespaces), 6, unlisted, v1alpha1.RetentionPolicyStatus{PendingApproval: before}, nil, before},
		"not listed, approved since then":      {gated(nil), 6, unlisted, v1alpha1.RetentionPolicyStatus{PendingApproval: before}, nil, nil},
		"not listed, and another gate":         {gated(everywhere), 6, unlisted, v1alpha1.RetentionPolicyStatus{PendingApproval: before}, nil, nil},
		"fewer than waited before":             {gated(newNamespaces), 5, nil, v1alpha1.RetentionPolicyStatus{PendingApproval: before}, of(), nil},
		"a kind that cannot be listed":         {gated(everywhere), 6, func(k *retention.KindState) { unlisted(k); k.Lost = lost }, noStatus, of("a"), nil},
		"one kind of two is not listed":        {gated(everywhere, rule("a"), rule("b", pods)), 0, nil, noStatus, nil, nil},
		"an invalid rule":                      {gated(everywhere, rule("a"), rule("b", invalid)), 5, nil, noStatus, of("b"), nil},
		"more, with an invalid rule":           {gated(everywhere, rule("a"), rule("b", invalid)), 6, nil, noStatus, nil, pending("h")},
		"an uncounted rule is counted":         {gated(uncounted, rule("a"), rule("b")), 6, nil, v1alpha1.RetentionPolicyStatus{Previews: of("b")}, of(), nil},
		"an uncounted rule stays uncounted":    {gated(uncounted, rule("a"), rule("b", invalid)), 6, nil, v1alpha1.RetentionPolicyStatus{Previews: of("b")}, of("b"), nil},
		"one of two was uncounted":             {gated(two, rule("a"), rule("b", invalid)), 6, nil, v1alpha1.RetentionPolicyStatus{Previews: of("a", "b")}, of("a", "b"), ofA},
		"one of two was uncounted, and is shown": {gated(two, rule("a"), rule("b", invalid)), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of("a", "b"), PendingApproval: earlier}, of("a", "b"), earlier},
		"one of two was uncounted, and is approved": {approved(gated(two, rule("a"), rule("b", invalid)), earlier.Hash), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of("a", "b"), PendingApproval: earlier}, of("b"), nil},
		"one of two was uncounted, and was approved earlier": {approved(gated(two, rule("a"), rule("b", invalid)), earlier.Hash), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of("a", "b")}, of("a", "b"), ofA},
		"both were uncounted, and one is approved": {approved(gated(two, rule("a"), rule("b")), earlier.Hash), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of("a", "b"), PendingApproval: earlier}, of("a", "b"), ofBoth},
		"not listed after a restart, and rules wait": {gated(two, rule("a"), rule("b")), 6, unlisted,
			v1alpha1.RetentionPolicyStatus{Previews: of("a", "b"), PendingApproval: earlier}, of("a", "b"), earlier},
		"one of two was uncounted, the version is approved": {approved(gated(two, rule("a"), rule("b", invalid)), gated(nil).ApprovalHash()), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of("a", "b")}, of("a", "b"), ofA},
		"a counted rule becomes uncounted": {gated(nil, rule("a"), rule("b", invalid)), 6, nil, v1alpha1.RetentionPolicyStatus{Previews: of()}, of(), nil},
		"more in a namespace, and one uncounted": {gated(&policy.ApprovalGate{Hash: newNamespaces.Hash, Namespaces: newNamespaces.Namespaces, Uncounted: sets.New("b")}, rule("a"), rule("b")), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of("b")}, of("b"), pending(newNamespaces.Hash, "team-a")},
		"not more in a namespace, and a rule cannot be counted now": {gated(newlyIn("team-b"), rule("a"), rule("b", invalid)), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of()}, of("b"), nil},
		"more in a namespace, and a rule cannot be counted now": {gated(newNamespaces, rule("a"), rule("b", invalid)), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of()}, of("b"), pending(newNamespaces.Hash, "team-a")},
		"more than before the leader changed, and a rule cannot be counted now": {gated(since, rule("a"), rule("b", invalid)), 6, nil,
			v1alpha1.RetentionPolicyStatus{Previews: of()}, of("b"), pending(gated(nil).MoreHash(now, 6))},
		"always, nothing is due":                   {always(everywhere), 0, nil, noStatus, nil, &v1alpha1.PendingApproval{Hash: "h", Matched: 1}},
		"always, nothing is due, counted before":   {always(everywhere), 0, nil, v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h")}, nil, &v1alpha1.PendingApproval{Hash: "h", Matched: 1}},
		"always, nothing is due in a namespace":    {always(newNamespaces), 0, nil, noStatus, of(), nil},
		"always, one object is due in a namespace": {always(newNamespaces), 1, nil, noStatus, of(), &v1alpha1.PendingApproval{Hash: newNamespaces.Hash, Due: v1alpha1.ApprovalCounts{Now: 1, Week: 1}, Matched: 2, Namespaces: []string{"team-a"}, SinceTime: before.SinceTime}},
		"without rules":                            {withMode(gated(everywhere, []*policy.Rule{}...), v1alpha1.Enforce), 6, nil, noStatus, of(), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := viewOf(compiledOf(test.policy), test.kind, backlog(test.due, now)...)
			view.Before = test.before
			s := view.Status(test.policy)
			expect.Equal(t, "previews", test.previews, unnumbered(s.Previews), cmpopts.EquateEmpty())
			expect.Equal(t, "pending", test.pending, s.PendingApproval)
		})
	}
}

// unnumbered returns previews without their numbers.
func unnumbered(all []v1alpha1.Preview) (bare []v1alpha1.Preview) {
	for _, p := range all {
		p.Due.Now, p.Due.Week = 0, 0
		bare = append(bare, p)
	}
	return bare
}

// forcedDryRun returns policy p as a dry run only because of --dry-run.
func forcedDryRun() *policy.Policy {
	p := gated(nil)
	p.ForceDryRun()
	return p
}

func withMode(p *policy.Policy, mode v1alpha1.Mode) *policy.Policy {
	p.Mode = mode
	for _, r := range p.Rules {
		r.Mode = mode
	}
	return p
}

// TestUnreadableQuotasLeaveRulesUncounted: all of these objects would be due once the quotas can be read.
func TestUnreadableQuotasLeaveRulesUncounted(t *testing.T) {
	byQuota := func(r *policy.Rule) { r.Capacity.ByQuota = true }
	uncountedA := []v1alpha1.Preview{{Hash: "h", ObservedTime: timeOf(now), Uncounted: []string{"a"}}}
	tests := map[string]struct {
		gate     *policy.ApprovalGate
		trouble  error
		previews []v1alpha1.Preview
		opens    bool // in team-a
	}{
		"a new rule":                          {everywhere, nil, []v1alpha1.Preview{{Hash: "h", ObservedTime: timeOf(now)}}, false},
		"a new rule, with unreadable quotas":  {everywhere, errors.New("forbidden"), uncountedA, false},
		"a namespace":                         {newNamespaces, nil, []v1alpha1.Preview{{Hash: "h", ObservedTime: timeOf(now)}}, true},
		"a namespace, with unreadable quotas": {newNamespaces, errors.New("forbidden"), nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := gated(test.gate, rule("a", byQuota))
			e := compiledOf(p)
			e.QuotaError = test.trouble
			view := viewOf(e, nil, backlog(3, now)...)
			expect.Equal(t, "previews", test.previews, unnumbered(view.Status(p).Previews))
			expect.Equal(t, "opens", test.opens, view.Opened(p).Has("team-a"))
		})
	}
}

func TestPreviewsAreBoundedAndInOrder(t *testing.T) {
	var known []string
	for i := range 40 {
		p := gated(nil)
		p.Hash = fmt.Sprint("h", i)
		view := viewOf(compiledOf(p), nil)
		view.Before.Previews = previewsOf(known...)
		known = nil
		for _, preview := range view.Status(p).Previews {
			known = append(known, preview.Hash)
		}
	}
	expect.Equal(t, "kept", 16, len(known))
	expect.Equal(t, "the oldest", "h24", known[0])
	expect.Equal(t, "the newest", "h39", known[15])
}

// TestPreviewIsOfTheLastCount: the policyset reconciler ignores a preview as too old if it was not renewed while the policy
// had the version.
func TestPreviewIsOfTheLastCount(t *testing.T) {
	p := gated(nil)
	view := viewOf(compiledOf(p), nil, backlog(6, now)...)
	view.Now = now.Add(1)
	view.Before = view.Status(p)
	expect.Equal(t, "a time that the API can hold", now, view.Before.Previews[0].ObservedTime.Time)
	view.Now = now.Add(time.Hour)
	expect.Equal(t, "later", now.Add(time.Hour), view.Status(p).Previews[0].ObservedTime.Time)
	waiting := gated(everywhere) // it would not wait with a recent preview
	view = status.View{Compiled: compiledOf(waiting), Kinds: view.Kinds, Now: view.Now, Before: view.Before}
	expect.Equal(t, "previews while the version waits", []v1alpha1.Preview{}, view.Status(waiting).Previews)
}

// TestPreviewLacksWhatWaitsForApproval: the next leader compares its count with the preview if the policy was not enforced
// long enough.
func TestPreviewLacksWhatWaitsForApproval(t *testing.T) {
	p := gated(newNamespaces)
	view := viewOf(compiledOf(p), nil, backlog(6, now)...)
	view.Now = now.Add(time.Minute)
	view.Before.Previews = previewsOf("h")
	s := view.Status(p)
	expect.Equal(t, "what waits", int64(6), s.PendingApproval.Due.Now)
	expect.Equal(t, "previews", view.Before.Previews, s.Previews)
}

// TestRuleThatCannotBeCountedAsksForNoApproval, although it finds objects due by its TTL: each count would require another
// approval.
func TestRuleThatCannotBeCountedAsksForNoApproval(t *testing.T) {
	p := gated(uncounted, rule("a"), rule("b", func(r *policy.Rule) { r.Capacity = policy.Capacity{Bounded: true, ByQuota: true, Percent: 50} }))
	e := compiledOf(p)
	e.QuotaError = errors.New("forbidden")
	due := policy.Facts{Selected: true, Eligible: true, Start: now.Add(-2 * time.Hour)}
	var rows []*index.FactRow
	for i := range 6 {
		rows = append(rows, row(fmt.Sprint("job-", i), due.Start, due, due))
	}
	view := viewOf(e, nil, rows...)
	view.Before.Previews = []v1alpha1.Preview{{Hash: "h", Uncounted: []string{"b"}}}
	expect.Equal(t, "pending", nil, view.Status(p).PendingApproval)
	view.Compiled.QuotaError = nil
	expect.Equal(t, "rules once they can be counted", []string{"b"}, view.Status(p).PendingApproval.Rules)
}

func TestConditionSaysWhatToDo(t *testing.T) {
	own := ownPolicy(v1alpha1.Enforce, rule("a"))
	own.Hash, own.Gate, own.Approval = "h", everywhere, policy.Approval{MaxPercent: 100, MaxObjects: 5}
	said := "6 of 7 objects would be deleted now, and at most 6 within 7 days, because "
	tests := map[string]struct {
		policy *policy.Policy
		kind   func(k *retention.KindState)
		want   string
	}{
		"a new version": {gated(everywhere), nil,
			said + "rules of this policy are new or have changed; run kubectl sunset preview to see them, then kubectl sunset approve p --hash=h"},
		"more namespaces than a list can have": {gated(&policy.ApprovalGate{Hash: "o", Previewed: true}), nil,
			said + "namespaces, holds, overrides or other policies have changed since Sunset counted this version; run kubectl sunset preview to see them, then kubectl sunset approve p --hash=o"},
		"a namespace": {gated(newNamespaces), nil,
			said + "its rules now apply in team-a, or a hold, a freeze or a rule that kept objects there was removed; run kubectl sunset preview to see them, then kubectl sunset approve p --hash=" + newNamespaces.Hash},
		"rules that were not counted with the others": {gated(&policy.ApprovalGate{Rules: sets.New("a")}), nil,
			said + "Sunset could not count these rules before: a; run kubectl sunset preview to see them, then kubectl sunset approve p --hash=" +
				gated(nil).RulesHash([]string{"a"}, now)},
		"of a RetentionPolicy": {own, nil,
			said + "rules of this policy are new or have changed; run kubectl sunset preview to see them, then kubectl sunset approve own -n team-a --hash=h"},
		"together with another problem": {gated(everywhere), func(k *retention.KindState) {
			k.Undeletable = &retention.SourceError{Reason: "Forbidden", Message: "no"}
		},
			said + "rules of this policy are new or have changed; run kubectl sunset preview to see them, then kubectl sunset approve p --hash=h"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := viewOf(compiledOf(test.policy), test.kind, backlog(6, now)...)
			s := view.Status(test.policy)
			expect.Equal(t, "approval", "True ChangeTooLarge", condition(s, v1alpha1.ConditionApprovalRequired))
			expect.Equal(t, "message", test.want, message(s, v1alpha1.ConditionApprovalRequired))
			if test.kind == nil {
				expect.Equal(t, "enforcing", "False ApprovalRequired", condition(s, v1alpha1.ConditionEnforcing))
				expect.Equal(t, "ready", "False ApprovalRequired", condition(s, v1alpha1.ConditionReady))
			}
			view.Before, view.Now = s, now.Add(time.Minute)
			expect.Equal(t, "conditions a minute later", s.Conditions, view.Status(test.policy).Conditions)

			open := *test.policy
			open.Gate = nil
			expect.Equal(t, "approval once it is given", "", condition(view.Status(&open), v1alpha1.ConditionApprovalRequired))
		})
	}
}

func TestMessagesWhileAGateWaits(t *testing.T) {
	invalid := func(r *policy.Rule) { r.Problems = []policy.Problem{{Path: "spec.rules[1]"}} }
	tests := map[string]struct {
		policy *policy.Policy
		want   string // Enforcing
	}{
		"everything is being counted":  {gated(everywhere), "Unknown Counting"},
		"a namespace is being counted": {gated(newNamespaces), "Unknown Counting"},
		"only an invalid rule waits":   {gated(uncounted, rule("a"), rule("b", invalid)), "True Enforcing"},
		"nothing waits":                {gated(nil), "True Enforcing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := viewOf(compiledOf(test.policy), nil).Status(test.policy)
			expect.Equal(t, "enforcing", test.want, condition(s, v1alpha1.ConditionEnforcing))
		})
	}
}

// TestPreviewedIsCalledForManyPoliciesAtOnce, because each call publishes all rules again, for all objects. Beside a million objects
// that takes seconds, and the next call waits five times as long: a new leader deletes nothing by the other policies until then.
func TestPreviewedIsCalledForManyPoliciesAtOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.previewTakes = time.Second
		var all []*policy.Policy
		for i := range 20 {
			p := gated(everywhere)
			p.Name, p.UID, p.Hash = fmt.Sprint("p-", i), types.UID(fmt.Sprint("uid-", i)), "h"
			w.store(p, noStatus)
			all = append(all, p)
		}
		e := compiledOf(all...)
		w.kinds = []retention.KindState{kindOf(e, w.began)}
		w.Use(e)
	}, func(t *testing.T, w *harness) {
		bubble.Pass(2 * time.Second)
		policies := sets.New[types.UID]()
		for _, c := range w.previewed {
			policies.Insert(c.Policy)
		}
		expect.Equal(t, "policies", 20, policies.Len())
		expect.Equal(t, "calls of Previewed", 1, w.previews)
	})
}

// gateKeeper responds to Previewed with another snapshot, as policyset.Reconciler does.
type gateKeeper struct {
	w      *harness
	told   []string
	policy func(gate *policy.ApprovalGate) *policy.Policy
}

// Previewed implements status.Gates.
func (g *gateKeeper) Previewed(counts ...policyset.Count) {
	for _, c := range counts {
		g.previewed(c.Preview, c.Gate)
	}
}

func (g *gateKeeper) previewed(preview v1alpha1.Preview, gate *policy.ApprovalGate) {
	said := fmt.Sprintf("%s counted, uncounted %q, ", preview.Hash, preview.Uncounted)
	if gate == nil {
		said += "no gate"
	} else {
		said += "gate " + gate.Hash
	}
	written := false
	for _, known := range g.w.status().Previews {
		written = written || known.Hash == preview.Hash
	}
	if !written {
		said += ", unwritten"
	}
	g.told = append(g.told, said)
	if gate != nil {
		var next *policy.ApprovalGate
		if len(preview.Uncounted) > 0 {
			next = &policy.ApprovalGate{Hash: preview.Hash, Rules: sets.New(preview.Uncounted...)}
		}
		g.w.Use(policyset.CompiledSnapshot{Snapshot: compiledOf(g.policy(next)).Snapshot})
	}
}

// waiting runs a test with a policy that has a gate, and with due Jobs, after ten seconds.
func waiting(t *testing.T, gate *policy.ApprovalGate, due int, status v1alpha1.RetentionPolicyStatus, test func(t *testing.T, w *harness, keeper *gateKeeper)) {
	var keeper *gateKeeper
	inBubble(t, func(w *harness) {
		keeper = &gateKeeper{w: w, policy: func(gate *policy.ApprovalGate) *policy.Policy { return gated(gate) }}
		w.Gates = keeper
		e := w.create(gated(gate), status)
		w.kinds = []retention.KindState{kindOf(e, w.began, backlog(due, w.began)...)}
	}, func(t *testing.T, w *harness) {
		bubble.Pass(10 * time.Second)
		test(t, w, keeper)
	})
}

// TestPreviewedNamesRulesThatCannotBeCounted once the status shows it. No gate opens yet, but the other rules may be
// approved later.
func TestPreviewedNamesRulesThatCannotBeCounted(t *testing.T) {
	two := func(gate *policy.ApprovalGate) *policy.Policy {
		return gated(gate, rule("a"), rule("b", func(r *policy.Rule) { r.Problems = []policy.Problem{{Message: "another version"}} }))
	}
	var keeper *gateKeeper
	inBubble(t, func(w *harness) {
		keeper = &gateKeeper{w: w, policy: two}
		w.Gates = keeper
		e := w.create(two(newNamespaces), v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h")})
		w.kinds = []retention.KindState{kindOf(e, w.began, backlog(6, w.began)...)}
	}, func(t *testing.T, w *harness) {
		bubble.Pass(time.Minute)
		expect.Equal(t, "reported", []string{`h counted, uncounted ["b"], no gate`}, keeper.told)
	})
}

func TestGateOpensOnce(t *testing.T) {
	seen := v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h")}
	tests := map[string]struct {
		gate   *policy.ApprovalGate
		due    int
		status v1alpha1.RetentionPolicyStatus
		want   []string
	}{
		"a new version":                        {everywhere, 5, noStatus, []string{`h counted, uncounted [], gate h`}},
		"a namespace":                          {newNamespaces, 5, seen, []string{`h counted, uncounted [], gate ` + newNamespaces.Hash}},
		"a namespace, the version approved":    {newNamespaces, 5, noStatus, []string{`h counted, uncounted [], gate ` + newNamespaces.Hash}},
		"no gate":                              {nil, 6, noStatus, []string{`h counted, uncounted [], no gate`}},
		"no gate, counted before":              {nil, 6, seen, nil},
		"too many":                             {everywhere, 6, noStatus, nil},
		"too many in a namespace":              {newNamespaces, 6, seen, nil},
		"too many there, the version approved": {newNamespaces, 6, noStatus, []string{`h counted, uncounted [], no gate`}},
		"a version that was counted before":    {everywhere, 5, seen, []string{`h counted, uncounted [], gate h`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			waiting(t, test.gate, test.due, test.status, func(t *testing.T, w *harness, keeper *gateKeeper) {
				expect.Equal(t, "reported", test.want, keeper.told)
				writes := len(w.written())
				if writes > 2 {
					t.Errorf("%d writes", writes)
				}
				for range 60 {
					w.Changed()
					bubble.Pass(10 * time.Second)
				}
				expect.Equal(t, "reported in ten minutes", test.want, keeper.told)
				expect.Equal(t, "writes in ten minutes", writes, len(w.written()))
			})
		})
	}
}

func TestGateOpensWhenLessIsDue(t *testing.T) {
	for name, gate := range map[string]*policy.ApprovalGate{"a new version": everywhere, "a namespace": newNamespaces} {
		t.Run(name, func(t *testing.T) {
			waiting(t, gate, 6, v1alpha1.RetentionPolicyStatus{}, func(t *testing.T, w *harness, keeper *gateKeeper) {
				keeper.told = nil
				expect.Equal(t, "pending", 6, w.status().PendingApproval.Due.Now)
				w.kinds[0].Index.Forget(1, "uid-due-0", time.Now())
				bubble.Pass(10 * time.Second)
				expect.Equal(t, "reported", []string{"h counted, uncounted [], gate " + gate.Hash}, keeper.told)
				expect.Equal(t, "pending", true, w.status().PendingApproval == nil)
				expect.Equal(t, "ready", "True Ready", condition(w.status(), v1alpha1.ConditionReady))
			})
		})
	}
}

func TestPreviewedWaitsForCompleteCount(t *testing.T) {
	tests := map[string]struct {
		before func(w *harness, complete retention.KindState) // instead of the complete listing
	}{
		"not watched": {func(w *harness, _ retention.KindState) { w.kinds = nil }},
		"not listed": {func(w *harness, complete retention.KindState) {
			unlisted(&complete)
			w.kinds = []retention.KindState{complete}
		}},
		"unsynced": {func(w *harness, complete retention.KindState) { complete.Index.MarkIncomplete(1) }},
		"permissions not known": {func(w *harness, _ retention.KindState) {
			w.Permissions = func(*policy.Rule) (error, bool) { return nil, false }
		}},
	}
	for name, test := range tests {
		for form, status := range map[string]v1alpha1.RetentionPolicyStatus{"a new version": noStatus, "a version that was counted": {Previews: previewsOf("h")}} {
			t.Run(name+", "+form, func(t *testing.T) {
				var complete retention.KindState
				var own *policy.Policy
				inBubble(t, func(w *harness) {
					own = ownPolicy(v1alpha1.Enforce, rule("a"))
					own.Hash, own.Gate, own.Approval = "h", everywhere, policy.Approval{MaxPercent: 100, MaxObjects: 5}
					e := w.create(own, status)
					complete = kindOf(e, w.began, backlog(3, w.began)...)
					w.kinds = []retention.KindState{complete}
					test.before(w, complete)
				}, func(t *testing.T, w *harness) {
					bubble.Pass(time.Minute)
					expect.Equal(t, "reported", 0, len(w.previewed))
					expect.Equal(t, "enforcing", "Unknown Counting", condition(w.statusOf(own.Name), v1alpha1.ConditionEnforcing))
					w.set(func() {
						w.Permissions = mayAll{}.Known
						complete = kindOf(compiledOf(own), w.began, backlog(3, w.began)...)
						w.kinds = []retention.KindState{complete}
					})
					w.Changed()
					bubble.Pass(3 * time.Second)
					expect.Equal(t, "reported once it is counted", true, len(w.previewed) > 0)
					expect.Equal(t, "of", own.UID, w.previewed[0].Policy)
					expect.Equal(t, "gate", own.Gate, w.previewed[0].Gate)
				})
			})
		}
	}
}

func TestPreviewedWaitsForStatusWrite(t *testing.T) {
	waiting(t, nil, 0, v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h")}, func(t *testing.T, w *harness, keeper *gateKeeper) {
		w.set(func() { w.fail = errors.New("no answer") })
		p := gated(everywhere)
		p.Hash, p.Gate = "i", &policy.ApprovalGate{Hash: "i"}
		w.Use(compiledOf(p))
		bubble.Pass(time.Minute)
		expect.Equal(t, "reported", 0, len(keeper.told))
		w.set(func() { w.fail = nil })
		bubble.Pass(3 * time.Second)
		expect.Equal(t, "reported once it is written", []string{"i counted, uncounted [], gate i"}, keeper.told)
	})
}

func TestFormIsWrittenAtOnce(t *testing.T) {
	waiting(t, nil, 3, v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h")}, func(t *testing.T, w *harness, keeper *gateKeeper) {
		writes := len(w.written())
		w.kinds[0].Index.Forget(1, "uid-due-0", time.Now())
		bubble.Pass(time.Second)
		expect.Equal(t, "writes", writes+1, len(w.written()))
		p := gated(nil)
		p.Hash, p.Gate = "i", &policy.ApprovalGate{Hash: "i"}
		w.Use(compiledOf(p))
		bubble.Pass(time.Second)
		expect.Equal(t, "reported a second after another write", []string{"i counted, uncounted [], gate i"}, keeper.told)
	})
}

func TestCountedSoonWhileAGateWaits(t *testing.T) {
	for name, gate := range map[string]*policy.ApprovalGate{"a new version": everywhere, "a namespace": newNamespaces} {
		t.Run(name, func(t *testing.T) {
			waiting(t, nil, 0, v1alpha1.RetentionPolicyStatus{Previews: previewsOf("other")}, func(t *testing.T, w *harness, keeper *gateKeeper) {
				keeper.told = nil
				for range 10 {
					w.Changed()
					bubble.Pass(time.Second) // the last count is never older than two seconds
					w.Use(compiledOf(gated(gate)))
					bubble.Pass(time.Second)
					expect.Equal(t, "reported within a second", 1, len(keeper.told))
					keeper.told = nil
				}
			})
		})
	}
}

// TestUncountableRuleIsNotCountedOften: a rule whose kind does not exist waits without frequent counts.
func TestUncountableRuleIsNotCountedOften(t *testing.T) {
	invalid := rule("b", func(r *policy.Rule) { r.Problems = []policy.Problem{{Path: "spec.rules[1]"}} })
	var keeper *gateKeeper
	inBubble(t, func(w *harness) {
		keeper = &gateKeeper{w: w, policy: func(gate *policy.ApprovalGate) *policy.Policy { return gated(gate, rule("a"), invalid) }}
		w.Gates = keeper
		e := w.create(keeper.policy(everywhere), noStatus)
		w.kinds = []retention.KindState{kindOf(e, w.began, backlog(3, w.began)...)}
	}, func(t *testing.T, w *harness) {
		bubble.Pass(50 * time.Minute)
		expect.Equal(t, "reported", []string{`h counted, uncounted ["b"], gate h`}, keeper.told)
		if n := len(w.written()); n > 2 {
			t.Errorf("%d writes", n)
		}
		w.set(func() { invalid = rule("b") })
		w.Use(compiledOf(keeper.policy(uncounted)))
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "reported once it is valid", `h counted, uncounted [], gate h`, keeper.told[len(keeper.told)-1])
		expect.Equal(t, "reported once", 2, len(keeper.told))
	})
}

// TestSecondRestartLetsNothingThrough: the first process ended before everything was listed.
func TestSecondRestartLetsNothingThrough(t *testing.T) {
	pending := &v1alpha1.PendingApproval{Hash: newNamespaces.Hash, Due: v1alpha1.ApprovalCounts{Now: 6, Week: 6}, Matched: 7, Namespaces: []string{"team-a"}, SinceTime: &metav1.MicroTime{Time: now}}
	inBubble(t, func(w *harness) {
		w.create(gated(newNamespaces), v1alpha1.RetentionPolicyStatus{Previews: previewsOf("h"), PendingApproval: pending})
	}, func(t *testing.T, w *harness) {
		bubble.Pass(time.Minute)
		expect.Equal(t, "writes", 1, len(w.written()))
		expect.Equal(t, "pending", pending, w.status().PendingApproval)
		expect.Equal(t, "approval", "True ChangeTooLarge", condition(w.status(), v1alpha1.ConditionApprovalRequired))
	})
}

func TestHashIsInTheStatusThatIsWritten(t *testing.T) {
	waiting(t, everywhere, 6, noStatus, func(t *testing.T, w *harness, _ *gateKeeper) {
		s := w.status()
		if pending := s.PendingApproval; !strings.Contains(message(s, v1alpha1.ConditionApprovalRequired), "--hash="+pending.Hash) {
			t.Errorf("message %q", message(s, v1alpha1.ConditionApprovalRequired))
		}
		expect.Equal(t, "condition", metav1.ConditionTrue, s.Conditions[len(s.Conditions)-1].Status)
	})
}
