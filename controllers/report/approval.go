package report

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/policies"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Gates is told what has been counted, so that it may act.
type Gates interface {
	// Previewed is called once the statuses of policies say that these forms of them were counted.
	Previewed(counts ...policies.Count)
}

// unopened are counts of which the gates are still to be told.
type unopened struct {
	counts []policies.Count
	since  time.Time // the latest telling, or the beginning of this report
}

// tellGatesEvery is how often, between two statuses that are written, gates are told.
const tellGatesEvery = 2 * time.Second

// tellGates tells of many policies at once, if it has not for a while: each time all rules are put in force anew.
func (r *Reporter) tellGates(every time.Duration) {
	if len(r.unopened.counts) == 0 || r.Clock.Since(r.unopened.since) < every {
		return
	}
	r.Gates.Previewed(r.unopened.counts...)
	r.unopened = unopened{since: r.Clock.Now()}
}

// previewsKept is how many forms of a policy are remembered.
const previewsKept = 16

// previews says which forms of a policy have been counted, and what waits for approval. Until everything is counted
// that is what waited before: a restart lets nothing through that has been written. Of a policy that is rehearsed nobody
// has decided that its count is seen: it waits afterwards as before.
func (v *view) previews(p *policy.Policy, before v1alpha1.RetentionPolicyStatus) ([]v1alpha1.Preview, *v1alpha1.PendingApproval) {
	if p.Rehearsed {
		return before.Previews, before.PendingApproval
	}
	uncounted, counted := v.uncounted(p)
	if !counted || p.Mode == v1alpha1.Suspended {
		return before.Previews, stillPending(p, before.PendingApproval)
	}
	pending := v.pending(p)
	if pending != nil && (p.Gate.Namespaces == nil || p.Gate.Uncounted.Len() > 0) {
		return before.Previews, pending
	}
	preview := v1alpha1.Preview{Hash: p.Hash, Time: metav1.Time{Time: v.now.UTC()}.Rfc3339Copy(), Uncounted: uncounted}
	return remember(before.Previews, preview), pending
}

// pending is what waits behind a policy's gate, once it is counted; nil when that is no more than may go.
func (v *view) pending(p *policy.Policy) *v1alpha1.PendingApproval {
	waiting := v.waiting(p)
	if p.Gate == nil || !p.Approval.Exceeded(waiting.Due, waiting.Selected) {
		return nil
	}
	pending := &v1alpha1.PendingApproval{
		Hash: p.Gate.Hash, Due: waiting.Due, Selected: waiting.Selected, Namespaces: sets.List(p.Gate.Namespaces),
	}
	if !p.Gate.Since.IsZero() {
		pending.Since = &metav1.MicroTime{Time: p.Gate.Since.UTC()}
	}
	return pending
}

// waiting counts what waits for approval: objects, and images once all nodes have counted them.
func (v *view) waiting(p *policy.Policy) (all policy.Pending) {
	if tally := v.tallies.Policies[p.Name]; tally != nil {
		all = tally.Pending
	}
	if v.nodes.sums.Counted(p.UID) {
		images := v.nodes.sums.Policies[p.UID].Tally.Pending
		all.Due, all.Selected = all.Due+images.Due, all.Selected+images.Selected
	}
	return all
}

// stillPending is what waited before if it waits behind the same gate.
func stillPending(p *policy.Policy, before *v1alpha1.PendingApproval) *v1alpha1.PendingApproval {
	if p.Gate == nil || before == nil || before.Hash != p.Gate.Hash {
		return nil
	}
	return before
}

// remember adds a preview, or what it has counted by now, and forgets the oldest.
func remember(before []v1alpha1.Preview, p v1alpha1.Preview) []v1alpha1.Preview {
	all := slices.Clone(before)
	if i := slices.IndexFunc(all, func(known v1alpha1.Preview) bool { return known.Hash == p.Hash }); i >= 0 {
		all[i].Uncounted = slices.DeleteFunc(slices.Clone(all[i].Uncounted), func(rule string) bool { return !slices.Contains(p.Uncounted, rule) })
		return all
	}
	all = append(all, p)
	return all[max(0, len(all)-previewsKept):]
}

// previewOf finds the preview of a form of a policy.
func previewOf(s v1alpha1.RetentionPolicyStatus, hash string) (v1alpha1.Preview, bool) {
	for _, p := range s.Previews {
		if p.Hash == hash {
			return p, true
		}
	}
	return v1alpha1.Preview{}, false
}

// passes reports whether what waits behind a policy's gate has been counted, and is no more than may go.
func (v *view) passes(p *policy.Policy, preview v1alpha1.Preview) bool {
	if _, counted := v.uncounted(p); p.Gate == nil || !counted {
		return false
	}
	stillUncounted := p.Gate.Rules != nil && p.Gate.Rules.Equal(sets.New(preview.Uncounted...))
	return !stillUncounted && v.pending(p) == nil
}

// uncounted are the rules that are invalid, which another policy's target can bring and take away, those whose kind
// cannot be listed, those that ask what refers to something while that is not known or has just changed, and those about
// images that not every node has counted; ok is false while any other is still being listed, or a right to read is missing.
func (v *view) uncounted(p *policy.Policy) (rules []string, ok bool) {
	if !v.permitted(p).ok {
		return nil, false
	}
	for _, r := range p.Rules {
		k, watched := v.kinds[policy.StoredAs(r.Kind)]
		switch {
		case r.Invalid():
			rules = append(rules, r.ID.Rule)
		case r.OnNodes() && v.nodes.reading():
			return nil, false
		case r.OnNodes():
			if !v.nodes.counted(p) {
				rules = append(rules, r.ID.Rule)
			}
		case r.Capacity.ByQuota && v.edition.QuotasUnread:
			return nil, false
		case v.unsettled(r) && p.Gate != nil && p.Gate.Namespaces != nil:
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

// waitsForCount reports whether a policy is behind a gate, and not only single rules of it.
func waitsForCount(p *policy.Policy) bool { return p.Gate != nil && p.Gate.Rules == nil }
