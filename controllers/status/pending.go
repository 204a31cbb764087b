// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// settle returns the namespaces that need not wait any more, and what waits for approval, once all objects are counted. The
// pending approval in the status stays as long as nothing changes in its namespaces, so that an approval of its hash stays
// valid. Later changes are counted separately, and are shown afterwards. If all namespaces together exceed the thresholds,
// those with the fewest objects need not wait while their sum is below, and that of the others above: one tenant does not
// delay the others. The caller must not modify the namespaces.
func (v *statusInput) settle(p *policy.Policy, before *v1alpha1.PendingApproval) (opened policy.ApprovalScope, pending *v1alpha1.PendingApproval) {
	gate, all := p.Gate, v.waiting(p)
	exceeds := func(b policy.ChangeCount) bool { return p.Approval.Exceeded(b.Week, b.Selected) }
	switch {
	case gate == nil:
		return nil, nil
	case gate.Recount != nil:
		uncounted, _ := v.uncounted(p)
		return nil, recounted(p, gate.Recount.More(all.ChangeCount, uncounted), before)
	case gate.Rules != nil:
		uncounted, _ := v.uncounted(p)
		shown := &v1alpha1.PendingApproval{
			Rules:     sets.List(gate.Rules.Difference(sets.New(uncounted...))),
			SinceTime: &metav1.MicroTime{Time: v.now.UTC().Truncate(time.Microsecond)},
		}
		if rulesStillShown(p, before) && slices.Equal(before.Rules, shown.Rules) {
			shown = before
		}
		hash := p.RulesHash(shown.Rules, shown.SinceTime.Time)
		if len(shown.Rules) == 0 || p.Approved.Has(hash) || !exceeds(all.ChangeCount) {
			return nil, nil
		}
		return nil, pendingOf(hash, all.ChangeCount, shown)
	case gate.Namespaces == nil && (p.Approval.AllChanges || exceeds(all.ChangeCount)):
		return nil, pendingOf(gate.Hash, all.ChangeCount, nil)
	case gate.Namespaces == nil:
		return nil, nil
	}
	shown := stillShown(p, before)
	if len(shown) == 0 && !exceeds(changeIn(all, gate.Namespaces)) {
		return gate.Namespaces, nil // copying or sorting a thousand namespaces for each of a thousand policies takes long
	}
	opened = policy.ApprovalScope{}
	if len(shown) > 0 && !exceeds(changeIn(all, gate.Namespaces.Among(before.Namespaces, gate.Namespaces.Since()))) { // also those that have changed since then
		maps.Copy(opened, shown)
		shown = nil
	}
	later := gate.Namespaces.Without(opened).Without(shown)
	rest := changeIn(all, later)
	left := policy.ApprovalScope{}
	sum := policy.ChangeCount{Selected: rest.Selected}
	for _, namespace := range leastFirst(all, later) {
		alone := policy.ApprovalScope{namespace: later[namespace]}
		more := changeIn(all, alone)
		sum.Week += more.Week
		others := policy.ChangeCount{Selected: rest.Selected, Week: rest.Week - sum.Week}
		switch {
		case len(shown) > 0 && slices.Contains(before.Namespaces, namespace): // otherwise one after the other would change and open
			maps.Copy(left, alone)
		case more.Week == 0, !exceeds(rest), len(shown) == 0 && !exceeds(sum) && exceeds(others): // others alone would open next
			maps.Copy(opened, alone)
		default:
			maps.Copy(left, alone)
		}
	}
	switch {
	case len(shown) > 0:
		pending = pendingOf(before.Hash, changeIn(all, shown), before)
	case len(left) > 0:
		names, since := left.Names(), left.Since()
		pending = pendingOf(p.ScopeHash(names, since), changeIn(all, left), &v1alpha1.PendingApproval{Namespaces: names, SinceTime: &metav1.MicroTime{Time: since}})
	}
	return opened, pending
}

// recounted returns what waits of the subjects that this leader finds due in addition to the count of the previous one. An
// approval is for the number that was shown. That number stays in the status while it differs from the present one by no more
// than the thresholds permit.
func recounted(p *policy.Policy, more policy.ChangeCount, before *v1alpha1.PendingApproval) *v1alpha1.PendingApproval {
	exceeds := func(week int64) bool { return p.Approval.Exceeded(week, more.Selected) }
	hash := p.MoreHash(p.Gate.Recount.Time, more.Week)
	if !exceeds(more.Week) || p.Approved.Has(hash) {
		return nil
	}
	if moreStillShown(p, before) {
		switch added := more.Week - before.Due.Week; {
		case p.Approved.Has(before.Hash) && !exceeds(added):
			return nil
		case !p.Approved.Has(before.Hash) && !exceeds(max(added, -added)):
			return before
		}
	}
	return pendingOf(hash, more, nil)
}

// moreStillShown reports whether a pending approval is for subjects that a new leader finds due in addition to the same earlier
// count.
func moreStillShown(p *policy.Policy, pending *v1alpha1.PendingApproval) bool {
	return p.Gate != nil && p.Gate.Recount != nil && pending != nil && pending.Hash == p.MoreHash(p.Gate.Recount.Time, pending.Due.Week)
}

// stillShown returns the namespaces of a pending approval in which nothing has changed since it was shown.
func stillShown(p *policy.Policy, pending *v1alpha1.PendingApproval) policy.ApprovalScope {
	if p.Gate == nil {
		return nil
	}
	return shownOf(p.Gate.Namespaces, p, pending)
}

// shownOf returns the part of a scope that a pending approval shows.
func shownOf(scope policy.ApprovalScope, p *policy.Policy, pending *v1alpha1.PendingApproval) policy.ApprovalScope {
	if pending == nil || pending.SinceTime == nil || pending.Hash != p.ScopeHash(pending.Namespaces, pending.SinceTime.Time) {
		return nil
	}
	return scope.Among(pending.Namespaces, pending.SinceTime.Time)
}

// rulesStillShown reports whether a pending approval is for rules of this version that still wait.
func rulesStillShown(p *policy.Policy, pending *v1alpha1.PendingApproval) bool {
	return p.Gate != nil && pending != nil && pending.SinceTime != nil && len(pending.Rules) > 0 && p.Gate.Rules.HasAll(pending.Rules...) &&
		pending.Hash == p.RulesHash(pending.Rules, pending.SinceTime.Time)
}

// changeIn returns the sum of the counts of some namespaces.
func changeIn(all policy.PendingStats, namespaces policy.ApprovalScope) (sum policy.ChangeCount) {
	for namespace := range namespaces {
		if b := all.Namespaces[namespace]; b != nil {
			sum = sum.Plus(*b)
		}
	}
	return sum
}

// leastFirst sorts namespaces by the number of objects that wait there.
func leastFirst(all policy.PendingStats, namespaces policy.ApprovalScope) []string {
	week := func(namespace string) int64 {
		if count := all.Namespaces[namespace]; count != nil {
			return count.Week
		}
		return 0
	}
	return slices.SortedFunc(maps.Keys(namespaces), func(a, b string) int {
		return cmp.Or(cmp.Compare(week(a), week(b)), cmp.Compare(a, b))
	})
}

func pendingOf(hash string, b policy.ChangeCount, scope *v1alpha1.PendingApproval) *v1alpha1.PendingApproval {
	pending := &v1alpha1.PendingApproval{Hash: hash, Due: v1alpha1.ApprovalCounts{Now: b.Due, Week: b.Week}, Matched: b.Selected}
	if scope != nil {
		pending.Rules, pending.Namespaces, pending.SinceTime = scope.Rules, scope.Namespaces, scope.SinceTime
	}
	return pending
}

// stillPending returns the previous pending approval, if it still waits.
func stillPending(p *policy.Policy, before *v1alpha1.PendingApproval) *v1alpha1.PendingApproval {
	if p.Gate != nil && p.Gate.Recount != nil && before != nil && before.SinceTime != nil {
		return before // it waits after everything has been counted again
	}
	if p.Mode == v1alpha1.Suspend && before != nil && len(before.Namespaces) > 0 && !p.Approved.Has(before.Hash) {
		return before // the next leader knows only from the status where the policy waits when it resumes
	}
	if p.Gate == nil || before == nil ||
		before.Hash != p.Gate.Hash && len(stillShown(p, before)) == 0 && !rulesStillShown(p, before) && !moreStillShown(p, before) {
		return nil
	}
	return before
}
