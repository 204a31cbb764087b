// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// status returns the whole status of a policy. deleted is what its rules have deleted so far. before is the status that it
// replaces; its conditions keep their transition times.
func (v *statusInput) status(p *policy.Policy, deleted history, before v1alpha1.RetentionPolicyStatus) v1alpha1.RetentionPolicyStatus {
	s := v1alpha1.RetentionPolicyStatus{
		ObservedGeneration: p.Generation,
		ObservedTime:       &metav1.Time{Time: v.now.Truncate(time.Second)},
		Conditions:         before.DeepCopy().Conditions,
	}
	stats := v.statsOf(p)
	if p.Namespace != "" {
		s.ClusterRules = v.clusterRules(p)
	}
	s.Previews, s.PendingApproval = v.previews(p, before)
	s.Enforced = v.enforced(p, s, before)
	s.Matched, s.Eligible, s.Held, s.Errors, s.Due = stats.Matched, stats.Eligible, stats.Held, stats.Errors, stats.Due
	s.NextDueTime = timeOrNil(stats.NextDue)
	v.blocked(stats, &s)
	kept, outcomes := v.ledgers[p.UID], outcomesIn(before)
	if p.Ledger {
		s.Ledger = ledgerStatus(kept, p, before.Ledger)
	}
	if kept.Ledger != nil || !p.Ledger {
		outcomes = outcomesOf(kept.Ledger)
	}
	deleted = v.withImages(p, &s, before, deleted)
	for _, r := range p.Rules {
		own := stats.Rules[r.ID.Rule]
		if v.forbidden(r) != nil {
			own = nil // numbers and names would reveal what the ServiceAccount may not read
		}
		rule := v.rule(r, own, deleted.rules[r.ID.Rule])
		rule.Outcomes = outcomes[r.ID.Rule]
		rule.DistrustedMarks = v.distrusted(r, own, before)
		s.Rules = append(s.Rules, rule)
	}
	s.Deleted = deleted.total
	s.Storage = v.storage(p, stats, deleted.storage, before.Storage)
	v.conditions(p, &s)
	fit(&s)
	return s
}

// statsOf returns the count of a policy. If a rule lacks a permission, it returns no sums, because these would reveal objects. An
// invalid rule counts what it selects.
func (v *statusInput) statsOf(p *policy.Policy) *policy.PolicyStats {
	stats := v.stats.Policies[p.Name]
	switch {
	case v.nodes.about(p) != nil:
		return v.nodes.about(p).With(stats)
	case stats == nil:
		return &policy.PolicyStats{}
	case slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return v.forbidden(r) != nil }):
		return &policy.PolicyStats{Rules: stats.Rules}
	default:
		return stats
	}
}

func (v *statusInput) rule(r *policy.Rule, stats *policy.RuleStats, deleted int64) v1alpha1.RuleStatus {
	if stats == nil {
		stats = &policy.RuleStats{}
	}
	s := v1alpha1.RuleStatus{
		Name: r.ID.Rule, Deleted: deleted,
		Matched: stats.Matched, Eligible: stats.Eligible, Held: stats.Held, Errors: stats.Errors, Due: stats.Due,
		NextDueTime: timeOrNil(stats.NextDue), Soonest: stats.Soonest, ErrorSamples: stats.Failing,
		Excess: stats.Excess, Estimated: stats.Estimated,
		Problems: policy.Lines(r.Problems), Warnings: policy.Lines(r.Warnings()),
	}
	for i := range s.Soonest {
		s.Soonest[i].DueTime = *timeOrNil(s.Soonest[i].DueTime.Time)
	}
	if program := v.compiled.Programs[r.Key]; program != nil && !r.Invalid() {
		s.Reads = first(readsShown, program.Reads())
		s.Warnings = append(s.Warnings, policy.Lines(v.warnings(r.Key))...)
	}
	s.Problems, s.Warnings = first(problemsShown, s.Problems), first(problemsShown, s.Warnings)
	if quotaErr := v.compiled.QuotaError; quotaErr != nil && r.Capacity.ByQuota {
		s.Warnings = append(s.Warnings, policy.Shorten("capacity.percentOfQuota has no effect, and changes that wait for a count continue to wait: "+quotaErr.Error(), lineShown))
	}
	return s
}

// latest is the last time that RFC 3339 can represent.
var latest = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// timeOrNil rounds up to a second, the precision of the API, so that no time is shown too early. It returns nil for zero.
func timeOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	if t = policy.RoundUp(t, time.Second); t.After(latest) {
		t = latest
	}
	return &metav1.Time{Time: t}
}

// prepare returns the status of one policy to write. It returns nil if the status need not be written, or not yet, or is being
// written. It reports the content of an unchanged status.
func (r *Reporter) prepare(ctx context.Context, p *policy.Policy, v *statusInput) (*write, error) {
	if r.writes.isUnderWay(p) {
		r.writes.postponed = true
		return nil, nil
	}
	if v.notInForce.Has(p.UID) && !v.last {
		r.Changed()
		return nil, nil
	}
	if kept, ok := v.ledgers[p.UID]; ok && isMissing(kept) {
		delete(r.written, p.UID) // after you remove status.ledger, counting begins again
	}
	if r.written[p.UID] == nil && r.reading >= r.atLeast(readsFor) && !v.last {
		r.Changed()
		return nil, nil
	}
	rec, err := r.record(ctx, p)
	if err != nil || rec == nil {
		return nil, err
	}
	r.updateHistory(p, v)
	w := &write{policy: p, rec: rec, status: v.status(p, r.histories[p.UID], rec.status), now: v.now}
	preview, counted := w.status.Preview(p.Hash)
	known, knew := rec.status.Preview(p.Hash)
	opened, passes := v.passes(p, preview, rec.status.PendingApproval)
	switch passes = passes && counted; {
	case passes:
		w.count = &policyset.Count{Policy: p.UID, Generation: p.Generation, Preview: preview, Gate: p.Gate, Opened: opened, Outdated: v.compiled.Outdated[p.UID]}
	case counted && (!knew || v.recounts(p) || !slices.Equal(known.Uncounted, preview.Uncounted)):
		w.count = &policyset.Count{Policy: p.UID, Generation: p.Generation, Preview: preview, Outdated: v.compiled.Outdated[p.UID]}
	}
	if passes && !v.last && p.Gate.Recount != nil && equality.Semantic.DeepEqual(known, preview) && sameDistrust(rec.status, w.status) {
		// The status need not change: a leader change alone does not write every policy before anything is deleted.
		r.previews.counts = append(r.previews.counts, *w.count)
		return nil, nil
	}
	if sameStatus(rec.status, w.status) {
		r.isWritten(ctx, w)
		return nil, nil
	}
	if !v.last && knew == counted && !passes && !r.isEdited(p) && v.now.Sub(rec.at) < writeEvery {
		r.Changed()
		return nil, nil
	}
	return w, nil
}

// updateHistory adds the latest deletions of a policy to its history.
func (r *Reporter) updateHistory(p *policy.Policy, v *statusInput) {
	all := r.histories[p.UID]
	kept, ok := v.ledgers[p.UID]
	if !ok && !p.Ledger { // an earlier version of the policy may have kept one
		kept, ok = r.Ledgers.State(p.UID)
	}
	if ok {
		all = all.withLedger(kept)
	}
	if latest := r.takeDeleted(p.UID); latest != nil { // after the ledger, which has none of these
		for rule, n := range latest.rules {
			all.rules[rule] += n
		}
		all.total, all.storage = all.total+latest.total, all.storage.Plus(latest.storage)
	}
	r.histories[p.UID] = all
}

// objectOf returns a policy of the right kind with only its name set, and its status.
func objectOf(p *policy.Policy) (client.Object, *v1alpha1.RetentionPolicyStatus) {
	meta := metav1.ObjectMeta{Namespace: p.Namespace, Name: p.ObjectName()}
	if p.Namespace != "" {
		o := &v1alpha1.RetentionPolicy{ObjectMeta: meta}
		return o, &o.Status
	}
	o := &v1alpha1.ClusterRetentionPolicy{ObjectMeta: meta}
	return o, &o.Status
}

// record returns the last written status of a policy, or at first the status in the API server. It returns nil for a policy
// that no longer exists.
func (r *Reporter) record(ctx context.Context, p *policy.Policy) (*record, error) {
	if rec := r.written[p.UID]; rec != nil {
		return rec, nil
	}
	began := r.Clock.Now()
	known, status, err := r.read(ctx, p)
	if apierrors.IsNotFound(err) || (err == nil && known.GetUID() != p.UID) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.reading += r.Clock.Since(began) // not for failures: the same policies would fail first in each report, and no others would be read
	if _, ok := r.histories[p.UID]; !ok {
		before := history{total: status.Deleted - imagesOf(status), rules: deletions{}}
		if status.Storage != nil {
			before.storage = policy.AmountOf(status.Storage.Deleted)
		}
		for _, rule := range status.Rules {
			before.rules[rule.Name] = rule.Deleted
		}
		r.histories[p.UID] = before
	}
	r.conditions[p.UID] = status.Conditions
	r.written[p.UID] = &record{name: p.Name, status: *status, version: known.GetResourceVersion(), problems: problemsBefore(status.Conditions, r.Clock.Now()), summary: summary{deleted: status.Deleted}}
	return r.written[p.UID], nil
}

// read reads a policy and its status from the API server. The policy may have another UID.
func (r *Reporter) read(ctx context.Context, p *policy.Policy) (client.Object, *v1alpha1.RetentionPolicyStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	known, status := objectOf(p)
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(known), known); err != nil {
		return nil, nil, fmt.Errorf("read status: %w", err)
	}
	return known, status, nil
}

// sameDistrust reports whether two statuses name the same marks as distrusted.
func sameDistrust(a, b v1alpha1.RetentionPolicyStatus) bool {
	return slices.EqualFunc(a.Rules, b.Rules, func(a, b v1alpha1.RuleStatus) bool { return slices.Equal(a.DistrustedMarks, b.DistrustedMarks) })
}

// enforcedEvery is the maximum age of an unchanged count in a status, with which a new leader compares its own.
const enforcedEvery = time.Hour

// enforcedUntil returns when a count exceeds that age; zero if no policy is enforced.
func enforcedUntil(snapshot *policy.Snapshot, counted time.Time) time.Time {
	if !slices.ContainsFunc(snapshot.Policies(), func(p *policy.Policy) bool { return p.Mode == v1alpha1.Enforce }) {
		return time.Time{}
	}
	return counted.Add(enforcedEvery)
}

// sameStatus compares everything except the time of the count, unless that is long ago.
func sameStatus(a, b v1alpha1.RetentionPolicyStatus) bool {
	a.ObservedTime, b.ObservedTime = nil, nil
	if a.Enforced != nil && b.Enforced != nil && b.Enforced.ObservedTime.Sub(a.Enforced.ObservedTime.Time) < enforcedEvery {
		is := *b.Enforced
		is.ObservedTime = a.Enforced.ObservedTime
		b.Enforced = &is
	}
	b.Previews = slices.Clone(b.Previews)
	for i := range min(len(a.Previews), len(b.Previews)) {
		if was := a.Previews[i].ObservedTime; b.Previews[i].ObservedTime.Sub(was.Time) < enforcedEvery {
			b.Previews[i].ObservedTime = was
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}
