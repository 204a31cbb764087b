// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// gate returns what keeps a policy waiting for approval; nil if it does not wait.
func (e *entry) gate() *policy.ApprovalGate {
	p, scope := e.policy, e.previews.scope
	if p.Mode != v1alpha1.Enforce {
		return nil
	}
	known, counted := e.previews.byHash[p.Hash]
	if recount := e.recount(); recount != nil && counted {
		return recount
	}
	switch {
	case p.Approval.AllChanges && !p.Accepted(): // the approval covers everything that this version deletes, not only a change
		return &policy.ApprovalGate{Hash: p.ApprovalHash()}
	case !e.previews.outdated.IsZero(): // the count that was approved or shown, or that of the dry run, is out of date
		return &policy.ApprovalGate{Hash: p.RecountHash(e.previews.outdated), Before: e.previews.before, BeforeIn: e.previews.beforeIn, Previewed: counted && len(known.Uncounted) == 0 && e.wasSame()}
	case !p.Accepted() && !counted:
		return &policy.ApprovalGate{Hash: p.ApprovalHash(), Before: e.previews.before, BeforeIn: e.previews.beforeIn}
	}
	uncounted := uncounted(p, known)
	switch {
	case len(scope) > 0:
		return &policy.ApprovalGate{Hash: p.ScopeHash(scope.Names(), scope.Since()), Namespaces: scope, Uncounted: uncounted, Before: e.previews.before, BeforeIn: e.previews.beforeIn}
	case uncounted != nil:
		return &policy.ApprovalGate{Rules: uncounted}
	}
	return nil
}

// uncounted returns the rules of a policy that wait until they are counted; nil for none. Of these, the approval of a version
// covers only rules about images, because some nodes may never report. For other rules it shows no number to approve.
func uncounted(p *policy.Policy, known v1alpha1.Preview) sets.Set[string] {
	all := sets.New(known.Uncounted...)
	for _, r := range p.Rules {
		if p.Accepted() && r.OnNodes() {
			all.Delete(r.ID.Rule)
		}
	}
	if all.Len() == 0 {
		return nil
	}
	return all
}

// wasSame reports whether the policy had this version before the pending change.
func (e *entry) wasSame() bool {
	return e.previews.before != nil && slices.ContainsFunc(e.previews.before.Policies(), func(p *policy.Policy) bool {
		return p.UID == e.policy.UID && p.Hash == e.policy.Hash
	})
}

// recount returns the gate of a policy that waits until this process has counted it, as the previous leader did, and has found
// no more than the approval permits; nil if it does not wait. Policies with rules about images do not wait, because agents
// count them.
func (e *entry) recount() *policy.ApprovalGate {
	p, known := e.policy, e.previews.recount
	if known == nil || known.Hash != p.Hash || slices.ContainsFunc(p.Rules, (*policy.Rule).OnNodes) {
		return nil
	}
	return &policy.ApprovalGate{Hash: p.RecountHash(known.ObservedTime.Time), Recount: &policy.Recount{Time: known.ObservedTime.Time, Due: known.Due.Now, Week: known.Due.Week, Uncounted: known.Uncounted, Besides: e.previews.scope}}
}

// gated returns a copy of the policy with its gate, the permissions of its rules, and the times from which marks count. Without
// a gate or marks, it returns the same copy until permissions change. This keeps small what each edit by one tenant publishes.
func (l *Reconciler) gated(e *entry) *policy.Policy {
	p, gate := e.policy, e.gate()
	marks := slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.Mark != "" })
	if gate == nil && p.Namespace == "" && !marks {
		return p
	}
	may := l.permissions(p)
	if gate == nil && !marks && e.bound != nil && slices.EqualFunc(may, e.bound.Rules, permission.isOf) {
		return e.bound
	}
	waiting := *p
	waiting.Gate = gate
	waiting.Rules = slices.Clone(p.Rules)
	for i, r := range p.Rules {
		if r.Namespace == "" && r.Mark == "" {
			continue
		}
		own := *r
		own.Unpermitted, own.Unwatched, own.Preferred = may[i].unpermitted(), !may[i].allowed, may[i].preferred
		l.trusts(&own, may[i].err, may[i].known)
		waiting.Rules[i] = &own
	}
	if e.bound = nil; gate == nil && !marks {
		e.bound = &waiting
	}
	return &waiting
}

// rescope records where policies may delete objects that the last snapshot kept, and reports whether it found any. affected
// has the kinds of which more objects may be eligible because declarations of references have changed: for policies that read these
// references, it records every namespace. A dry run is counted again as a whole, and so is a policy that would wait in too many
// namespaces.
//
// It drops counts of earlier versions of a policy, even if the change does not affect the objects that the policy selects now.
// previewsOf drops the count of the current version at the next edit while a change waits.
func (l *Reconciler) rescope(entries []*entry, before, snapshot *policy.Snapshot, affected sets.Set[references.Kind]) (found bool) {
	change := snapshot.Since(before)
	if change.None() && len(affected) == 0 {
		return false
	}
	var latest policy.ApprovalScope // many policies wait in the same namespaces and share one scope
	for _, e := range entries {
		known := l.scoped[e.policy.UID]
		if known == nil {
			continue
		}
		if len(affected) > 0 || change.Concerns(e.policy) {
			maps.DeleteFunc(e.previews.byHash, func(hash string, _ v1alpha1.Preview) bool { return hash != e.policy.Hash })
		}
		namespaces := change.Scope(e.policy)
		if known.Hash == e.policy.Hash && readsReferences(e.policy, affected) {
			namespaces = namespaces.Union(snapshot.Reach(e.policy))
			e.previews.blind, e.previews.before, e.previews.beforeIn = true, nil, nil
		}
		if len(namespaces) == 0 {
			continue
		}
		if e.policy.Mode == v1alpha1.DryRun || known.Mode == v1alpha1.DryRun {
			e.previews.outdated, found = after(e.previews.outdated, l.Clock.Now()), true
			continue
		}
		l.beginIn(&e.previews, namespaces, before, entries)
		if e.previews.scope != nil || !maps.EqualFunc(latest, namespaces, func(time.Time, sets.Empty) bool { return true }) {
			latest = e.previews.scope.Wider(namespaces, l.Clock.Now())
		}
		e.previews.waitIn(latest, l.Clock.Now())
		found = true
	}
	return found
}

// after returns now, or a moment after the earlier time if now is not later, so that all times differ.
func after(earlier, now time.Time) time.Time {
	if now.After(earlier) {
		return now
	}
	return earlier.Add(time.Microsecond)
}

// Count reports that a version of a policy was counted completely and may act: all of it, or the part that waited behind Gate. It
// does not cover objects that started to wait later.
type Count struct {
	Policy     types.UID
	Generation int64 // of the policy when it was counted
	Preview    v1alpha1.Preview
	Gate       *policy.ApprovalGate // nil if nothing waited
	Opened     policy.ApprovalScope // namespaces of the gate that no longer wait
	// Outdated is the time of the policy in CompiledSnapshot.Outdated when it was counted.
	Outdated time.Time
}

// Previewed takes counts that the statuses of their policies show. It ignores counts of other versions of the policies. It also
// ignores counts from before a policy had another version in between, because other rules may keep the objects since then.
func (l *Reconciler) Previewed(counts ...Count) {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	entries := map[types.UID]*entry{}
	for _, e := range l.compiledPolicies() {
		entries[e.policy.UID] = e
	}
	changed := false
	for _, c := range counts {
		if e := entries[c.Policy]; e != nil && e.policy.Hash == c.Preview.Hash && c.Generation >= e.previews.generation {
			e.previewed(c)
			changed = changed || c.Gate != nil || len(c.Preview.Uncounted) > 0
		}
	}
	if changed {
		l.republish()
	}
}

func (e *entry) previewed(c Count) {
	e.previews.byHash[c.Preview.Hash] = c.Preview
	isRecount := c.Gate != nil && c.Gate.Recount != nil // it counts only what existed at the time of the earlier count
	isOfAll := !isRecount && !c.Outdated.IsZero() && c.Outdated.Equal(e.outdated())
	if known := e.previews.recount; known != nil && known.Hash == c.Preview.Hash && (isOfAll || isRecount) {
		e.previews.recount = nil
	}
	if isOfAll {
		e.previews.outdated = time.Time{}
		if e.gate() == nil { // the next change is compared with this count
			e.previews.before, e.previews.beforeIn, e.previews.blind = nil, nil, false
		}
	}
	e.previews.scope = e.previews.scope.Without(c.Opened)
}

// outdated returns since when the dry-run count of a policy is out of date; zero if it is not. A count of the previous leader
// is out of date from the time when it was made.
func (e *entry) outdated() time.Time {
	if known := e.previews.recount; e.policy.Mode == v1alpha1.DryRun && known != nil && known.Hash == e.policy.Hash && e.previews.outdated.IsZero() {
		return known.ObservedTime.Time
	}
	return e.previews.outdated
}

// outdated returns the policies whose dry-run count is out of date, by UID, and since when it is.
func outdated(entries []*entry) map[types.UID]time.Time {
	all := map[types.UID]time.Time{}
	for _, e := range entries {
		if since := e.outdated(); !since.IsZero() {
			all[e.policy.UID] = since
		}
	}
	return all
}

// waiting returns the namespaces where changes wait for approval, by the UID of the policy.
func waiting(entries []*entry) map[types.UID]policy.ApprovalScope {
	all := map[types.UID]policy.ApprovalScope{}
	for _, e := range entries {
		if scope := e.previews.scope; len(scope) > 0 {
			all[e.policy.UID] = scope
		}
	}
	return all
}

// Republish publishes a new snapshot after the permissions of a rule have changed.
func (l *Reconciler) Republish() {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.republish()
}

// OwnRules returns the rules of RetentionPolicies.
func (l *Reconciler) OwnRules() []*policy.Rule {
	var rules []*policy.Rule
	for _, e := range l.compiledPolicies() {
		if e.policy.Namespace != "" {
			rules = append(rules, e.policy.Rules...)
		}
	}
	return rules
}
