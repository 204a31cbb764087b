// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// rest returns how long to wait after a count. It is short while policies wait for their first count, and while the status of
// an edited policy is missing, which its author reads next. Rules that cannot be counted at present do not shorten it.
func (r *Reporter) rest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*policy.Policy
	if r.compiled.Snapshot != nil {
		all = r.compiled.Snapshot.Policies()
	}
	switch {
	case slices.ContainsFunc(all, r.isAwaited):
		return min(r.took, countAtLeast)
	case slices.ContainsFunc(all, r.isEdited):
		return min(editFactor*r.took, countAtLeast)
	default:
		return min(max(countEvery, restFactor*r.took), countAtLeast)
	}
}

// atLeast returns how long a report may take for something other than counting: least, or the pause after an edit if that is
// longer. Otherwise, if counting takes long, the controller would do little else.
func (r *Reporter) atLeast(least time.Duration) time.Duration {
	return max(least, min(editFactor*r.took, countAtLeast))
}

// writingTime returns how long a report writes statuses: least if policies change in that time, otherwise most.
func (r *Reporter) writingTime() (least, most time.Duration) {
	least = r.atLeast(writesFor)
	return least, max(least, r.rest()/writingShare)
}

// isEdited reports whether the status of a policy is about an earlier spec.
func (r *Reporter) isEdited(p *policy.Policy) bool {
	rec := r.written[p.UID]
	return rec == nil || rec.status.ObservedGeneration != p.Generation
}

// isAwaited reports whether a policy waits for its first count, and not for an approval or a permission.
func (r *Reporter) isAwaited(p *policy.Policy) bool {
	if !waitsForCount(p) || slices.ContainsFunc(p.Rules, func(rule *policy.Rule) bool { return rule.Unpermitted }) {
		return false
	}
	rec := r.written[p.UID]
	return rec == nil || stillPending(p, rec.status.PendingApproval) == nil
}

// stale reports whether a count would differ from the last one.
func (r *Reporter) stale(now time.Time) bool {
	r.mu.Lock()
	dirty := r.dirty
	r.mu.Unlock()
	if dirty || (!r.changes.IsZero() && !now.Before(r.changes)) {
		return true
	}
	return r.seen != r.fingerprint(r.State.Kinds(), r.preflightErr())
}

// writeOrder returns the place of a status among those that are written together; the lowest is written first. Of edited
// policies, small statuses come first, because they are written fast. Of the others, those with counts come first, because
// deletions wait for them.
func (r *Reporter) writeOrder(w *write) int {
	switch {
	case r.isEdited(w.policy):
		return len(w.policy.Rules)
	case w.count != nil:
		return 0
	default:
		return math.MaxInt
	}
}

// compareUrgency sorts the most urgent status first.
func (r *Reporter) compareUrgency(a, b *write) int {
	return cmp.Compare(r.writeOrder(a), r.writeOrder(b))
}

// fingerprint changes whenever a count or a condition may have changed.
func (r *Reporter) fingerprint(kinds []retention.KindState, preflightErr error) string {
	parts := []string{fmt.Sprint("nodes", r.Nodes.Version())}
	for _, k := range kinds {
		parts = append(parts, fmt.Sprint(k.Kind, k.Index.Version(), k.Relisting, k.Throttled, k.Delayed, k.DelaysVersion, k.Lost, k.Undeletable, k.Unmarkable))
	}
	for kind, k := range r.referredNow(r.inUse()) {
		parts = append(parts, fmt.Sprint(kind, k))
	}
	for id, err := range r.archivesNow(r.inUse()) {
		parts = append(parts, fmt.Sprint(id, err))
	}
	for _, s := range r.Referrers.States() {
		parts = append(parts, fmt.Sprint(s.From, s.Phase))
	}
	slices.Sort(parts)
	return fmt.Sprint(append(parts, fmt.Sprint(preflightErr)))
}
