// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Gates puts policies in force after they have been counted.
type Gates interface {
	// Previewed is called once the statuses of policies show that these versions were counted.
	Previewed(counts ...policyset.Count)
}

// pendingCounts are counts that have not been passed to Gates yet.
type pendingCounts struct {
	counts []policyset.Count
	since  time.Time     // the end of the last call
	took   time.Duration // how long it took
}

// reportPreviews passes all pending counts to Gates at once, if the last call was long enough ago: each call publishes all rules.
func (r *Reporter) reportPreviews() {
	now := r.Clock.Now()
	if len(r.previews.counts) == 0 || now.Sub(r.previews.since) < editFactor*r.previews.took {
		return
	}
	r.Gates.Previewed(r.previews.counts...)
	end := r.Clock.Now()
	r.previews = pendingCounts{since: end, took: end.Sub(now)}
}

// reportPreviewsSoon is reportPreviews in the middle of a report. It waits until the report has taken twice as long as the one before,
// so that one call is for all policies that are ready by then. Beside a million objects a call takes seconds, and the next one waits
// for a multiple of that.
func (r *Reporter) reportPreviewsSoon() {
	if r.Clock.Since(r.counted) >= max(2*r.took, previewsWait) {
		r.reportPreviews()
	}
}

// previewsKept is the maximum number of versions of a policy in its status.
const previewsKept = 16

// previews returns which versions of a policy have been counted, and what waits for approval. Until all objects are counted, it
// returns what waited before, so that a restart releases nothing. For a policy that is a dry run because of --dry-run, nothing
// changes.
func (v *statusInput) previews(p *policy.Policy, before v1alpha1.RetentionPolicyStatus) ([]v1alpha1.Preview, *v1alpha1.PendingApproval) {
	if p.ForcedDryRun {
		return before.Previews, before.PendingApproval
	}
	if !v.compiled.Outdated[p.UID].IsZero() || len(v.compiled.Waiting[p.UID]) > 0 { // the counts of other versions are out of date
		before.Previews = slices.DeleteFunc(slices.Clone(before.Previews), func(known v1alpha1.Preview) bool { return known.Hash != p.Hash })
	}
	if p.Gate != nil && p.Gate.Namespaces == nil && p.Gate.Rules == nil && p.Gate.Recount == nil { // its preview is out of date
		before.Previews = slices.DeleteFunc(slices.Clone(before.Previews), func(known v1alpha1.Preview) bool { return known.Hash == p.Hash })
	}
	uncounted, counted := v.uncounted(p)
	if !counted || p.Mode == v1alpha1.Suspend {
		return before.Previews, stillPending(p, before.PendingApproval)
	}
	_, pending := v.settle(p, before.PendingApproval)
	if last := before.PendingApproval; pending == nil && p.Gate != nil && p.Gate.Recount != nil && last != nil && last.SinceTime != nil {
		pending = last // it waits next
	}
	due := v.statsOf(p).Due
	preview := v1alpha1.Preview{
		Hash: p.Hash, ObservedTime: metav1.Time{Time: v.now.UTC()}.Rfc3339Copy(), Due: v1alpha1.ApprovalCounts{Now: due.Now, Week: due.Week}, Uncounted: uncounted,
	}
	known, knew := before.Preview(p.Hash)
	switch {
	case knew && p.Gate != nil && (p.Gate.Recount != nil || p.Gate.Namespaces != nil): // uncounted rules are counted separately
		preview.Uncounted = slices.Concat(known.Uncounted, slices.DeleteFunc(uncounted, onNodes(p)))
		slices.Sort(preview.Uncounted)
		preview.Uncounted = slices.Compact(preview.Uncounted)
		if p.Gate.Recount != nil || p.Gate.Uncounted.Len() > 0 || pending != nil {
			preview.ObservedTime, preview.Due = known.ObservedTime, known.Due
		}
		return replace(before.Previews, preview), pending
	case p.Gate != nil && p.Gate.Uncounted.Len() > 0 || pending != nil && p.Gate.Namespaces == nil:
		return before.Previews, pending
	default:
		return remember(before.Previews, preview), pending
	}
}

// onNodes reports whether a rule of a policy, by name, is about images of nodes.
func onNodes(p *policy.Policy) func(rule string) bool {
	return func(rule string) bool {
		return slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.ID.Rule == rule && r.OnNodes() })
	}
}

// enforced returns the count with which the next leader compares its first count: the due objects outside of the namespaces that
// wait, beginning with the count that puts the policy in force. While the whole policy waits, and until all objects are counted, it
// does not change. It names the approvals in use at any time, and the namespaces that wait and that the pending approval does not
// show.
func (v *statusInput) enforced(p *policy.Policy, now, before v1alpha1.RetentionPolicyStatus) *v1alpha1.EnforcedCount {
	uncounted, counted := v.uncounted(p)
	preview, known := now.Preview(p.Hash)
	opened, passes := v.passes(p, preview, before.PendingApproval)
	opens := passes && known && p.Gate.Namespaces == nil && p.Gate.Rules == nil && p.Gate.Recount == nil
	var count v1alpha1.EnforcedCount
	switch {
	case p.Mode == v1alpha1.DryRun && !p.ForcedDryRun:
		return nil
	case p.Mode != v1alpha1.Enforce || !counted || waitsForCount(p) && (p.Gate.Namespaces == nil || p.Gate.Uncounted.Len() > 0) && !opens:
		if before.Enforced == nil || p.ForcedDryRun {
			return before.Enforced
		}
		count = *before.Enforced
		if p.Mode == v1alpha1.Enforce && count.Hash == p.Hash {
			count.Approvals = p.Approvals
		}
	default:
		due := v1alpha1.ApprovalCounts{Now: v.statsOf(p).Due.Now, Week: v.statsOf(p).Due.Week}
		if p.Gate != nil {
			waiting := changeIn(v.waiting(p), v.compiled.Waiting[p.UID]).AllDue
			due.Now, due.Week = max(0, due.Now-waiting.Now), max(0, due.Week-waiting.Week)
		}
		count = v1alpha1.EnforcedCount{
			Hash: p.Hash, ObservedTime: metav1.Time{Time: v.now.UTC().Truncate(time.Second)}, Due: due, Uncounted: uncounted, Approvals: p.Approvals,
		}
	}
	scope := v.compiled.Waiting[p.UID]
	scope = scope.Without(opened).Without(shownOf(scope, p, now.PendingApproval))
	count.WaitingNamespaces, count.WaitingSinceTime = scope.Names(), nil
	if len(scope) > 0 {
		count.WaitingSinceTime = &metav1.MicroTime{Time: scope.Since()}
	}
	return &count
}

// waiting counts what waits for approval: objects, and also images once all nodes have counted them.
func (v *statusInput) waiting(p *policy.Policy) (all policy.PendingStats) {
	if stats := v.stats.Policies[p.Name]; stats != nil {
		all = stats.Pending
	}
	if v.nodes.sums.Counted(p.UID) {
		images := v.nodes.sums.Policies[p.UID].Stats.Pending.ChangeCount
		all.ChangeCount = all.Plus(images)
		if objects := all.Namespaces[""]; objects != nil {
			images = images.Plus(*objects)
		}
		all.Namespaces = maps.Clone(all.Namespaces)
		if all.Namespaces == nil {
			all.Namespaces = map[string]*policy.ChangeCount{}
		}
		all.Namespaces[""] = &images
	}
	return all
}

// remember adds a preview, or updates the one of the same version, and drops the oldest one beyond previewsKept.
func remember(before []v1alpha1.Preview, p v1alpha1.Preview) []v1alpha1.Preview {
	all := slices.Clone(before)
	if i := slices.IndexFunc(all, func(known v1alpha1.Preview) bool { return known.Hash == p.Hash }); i >= 0 {
		all[i].ObservedTime, all[i].Due = p.ObservedTime, p.Due
		all[i].Uncounted = slices.DeleteFunc(slices.Clone(all[i].Uncounted), func(rule string) bool { return !slices.Contains(p.Uncounted, rule) })
		return all
	}
	all = append(all, p)
	return all[max(0, len(all)-previewsKept):]
}

// replace replaces the preview of the same version.
func replace(before []v1alpha1.Preview, p v1alpha1.Preview) []v1alpha1.Preview {
	all := slices.Clone(before)
	all[slices.IndexFunc(all, func(known v1alpha1.Preview) bool { return known.Hash == p.Hash })] = p
	return all
}

// passes reports whether the gate of a policy opens because the count is complete and within the thresholds: for all of the
// policy, or for the namespaces that it returns.
func (v *statusInput) passes(p *policy.Policy, preview v1alpha1.Preview, before *v1alpha1.PendingApproval) (opened policy.ApprovalScope, ok bool) {
	if _, counted := v.uncounted(p); p.Gate == nil || !counted {
		return nil, false
	}
	stillUncounted := p.Gate.Rules != nil && p.Gate.Rules.Equal(sets.New(preview.Uncounted...))
	opened, pending := v.settle(p, before)
	return opened, !stillUncounted && (pending == nil || len(opened) > 0)
}

// recounts reports whether a dry run whose earlier count is out of date has been counted completely.
func (v *statusInput) recounts(p *policy.Policy) bool {
	_, counted := v.uncounted(p)
	return counted && p.Mode == v1alpha1.DryRun && !p.ForcedDryRun && !v.compiled.Outdated[p.UID].IsZero()
}

// uncounted returns the rules that cannot be counted; ok is false while any other rule is still being listed, or a permission
// to read is missing. These rules cannot be counted:
//
//   - Invalid rules. The target of another policy can make a rule invalid or valid.
//   - Rules whose kind cannot be listed, or whose quotas cannot be read.
//   - Rules that read references, while these are unknown or have just changed.
//   - Rules about images that not every node has counted.
func (v *statusInput) uncounted(p *policy.Policy) (rules []string, ok bool) {
	if v.permitted(p).isObstacle() {
		return nil, false
	}
	settled := p.Gate != nil && (p.Gate.Namespaces != nil || p.Gate.Recount != nil) // whether rules have been counted before
	for _, r := range p.Rules {
		k, watched := v.kinds[policy.StoredAs(r.Kind)]
		switch {
		case r.Invalid():
			rules = append(rules, r.ID.Rule)
		case r.OnNodes() && v.nodes.reading(p):
			return nil, false
		case r.OnNodes():
			if !v.nodes.counted(p) {
				if p.Gate != nil && p.Gate.Namespaces.Has("") {
					return nil, false
				}
				rules = append(rules, r.ID.Rule)
			}
		case r.Capacity.ByQuota && (v.compiled.QuotasUnread || v.compiled.QuotaError != nil && p.Gate != nil && p.Gate.Namespaces != nil):
			return nil, false
		case r.Capacity.ByQuota && v.compiled.QuotaError != nil: // no object is beyond the capacity until the quotas can be read
			rules = append(rules, r.ID.Rule)
		case settled && v.relisting(r):
			return nil, false // for a new rule: it is unknown which objects it keeps
		case settled && v.unsettled(r):
			return nil, false // single rules do not wait behind such a gate
		case v.unsettled(r):
			rules = append(rules, r.ID.Rule)
		case watched && v.listed[r.ID]:
		case watched && k.Lost != nil:
			rules = append(rules, r.ID.Rule)
		default:
			return nil, false
		}
	}
	return rules, true
}

// waitsForCount reports whether a whole policy waits, and not only single rules.
func waitsForCount(p *policy.Policy) bool { return p.Gate != nil && p.Gate.Rules == nil }

// relisting reports whether a rule of a ClusterRetentionPolicy about the same kind is being listed.
func (v *statusInput) relisting(r *policy.Rule) bool {
	k, watched := v.kinds[policy.StoredAs(r.Kind)]
	return watched && k.Lost == nil && slices.ContainsFunc(v.compiled.Snapshot.Rules(policy.StoredAs(r.Kind)), func(other *policy.Rule) bool {
		return other.Namespace == "" && !other.Invalid() && !v.listed[other.ID]
	})
}
