package policyset

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// previews says which forms of a policy have been counted, and in which namespaces something has changed since.
type previews struct {
	byHash     map[string]v1alpha1.Preview
	generation int64 // since which the policy has had its form
	scope      policy.ApprovalScope
	before     *policy.Snapshot // what was in force before the change that waits; nil if that is not known
	// recount is what the leader before counted, while it enforced this form or as a dry run, until this one has counted; nil afterwards, or
	// if there was no count.
	recount *v1alpha1.EnforcedCount
	blind   bool // it is not known what was in force before the change that waits
	// outdated is when something changed that may let the policy delete more than was counted while it was a dry run, or approved when it had
	// this form earlier; zero for nothing.
	outdated time.Time
}

// previewsOf keeps the previews of the entry before, or reads those in the status of a policy. A form counts as previewed while the policy
// has it, and for 7 days afterwards, which is how far ahead a preview counts, unless something changes that may let it delete more. What
// waits is then counted for the new form alone, so the form before does not count as previewed any more.
func previewsOf(status v1alpha1.RetentionPolicyStatus, p *policy.Policy, before *entry, now time.Time) previews {
	all := previews{byHash: map[string]v1alpha1.Preview{}, generation: p.Generation}
	isSame := before != nil && before.policy.Hash == p.Hash
	if isSame {
		all.generation = before.previews.generation
	}
	note := func(known v1alpha1.Preview, isCurrent bool) {
		if isCurrent && known.Hash == p.Hash || now.Sub(known.Time.Time) <= policy.Week {
			all.byHash[known.Hash] = known
		}
	}
	pending := status.PendingApproval
	scoped := pending != nil && len(pending.Namespaces) > 0
	var since time.Time // zero if somebody else wrote the status without it
	if scoped {
		since = ptr.Deref(pending.Since, metav1.MicroTime{}).Time
	}
	switch {
	case before != nil:
		all.scope, all.before, all.blind = before.previews.scope, before.previews.before, before.previews.blind
		all.recount, all.outdated = before.previews.recount, before.previews.outdated
		waits := all.scope != nil || !all.outdated.IsZero()
		for hash, known := range before.previews.byHash {
			shown, ok := previewIn(status, hash)
			if ok && shown.Time.After(known.Time.Time) {
				known.Time = shown.Time // until when the policy had the form
			}
			wasCurrent := hash == before.policy.Hash
			if isSame || hash == p.Hash || wasCurrent && !waits || !wasCurrent && ok {
				note(known, isSame)
			}
		}
	case scoped:
		all.scope = policy.ApprovalScope(nil).Wider(sets.New(pending.Namespaces...), since)
	}
	if before == nil {
		if known, ok := previewIn(status, p.Hash); ok {
			note(known, status.ObservedGeneration == p.Generation)
		}
		all.recount = recountOf(status, p, all.byHash)
		if _, counted := all.byHash[p.Hash]; !counted && isShown(status, p) {
			all.byHash[p.Hash] = v1alpha1.Preview{Hash: p.Hash, Time: *status.ObservedTime}
			all.recount = &v1alpha1.EnforcedCount{Hash: p.Hash, Time: *status.ObservedTime, Due: pending.Due, Week: pending.Week}
		}
	}
	switch { // what is approved does not wait again
	case p.Approved == p.ScopeHash(all.scope.Names(), all.scope.Since()):
		all.scope = nil
	case scoped && p.Approved == p.ScopeHash(pending.Namespaces, since):
		all.scope = all.scope.Without(all.scope.Among(pending.Namespaces, since))
	}
	switch {
	case !all.outdated.IsZero() && p.Approved == p.RecountHash(all.outdated):
		all.outdated = time.Time{}
		if _, counted := all.byHash[p.Hash]; !counted {
			all.byHash[p.Hash] = v1alpha1.Preview{Hash: p.Hash, Time: metav1.Time{Time: now}}
		}
	case before != nil && !isSame && !all.outdated.IsZero(), // the annotation may name the earlier time already
		all.isApprovedBefore(p, before, status):
		all.outdated = after(all.outdated, now)
	}
	if all.recount != nil && p.Approved == p.RecountHash(all.recount.Time.Time) {
		all.recount = nil
	}
	return all
}

// recountOf is what the leader before counted of the form that a policy has; nil for nothing.
func recountOf(status v1alpha1.RetentionPolicyStatus, p *policy.Policy, byHash map[string]v1alpha1.Preview) *v1alpha1.EnforcedCount {
	if status.Enforced != nil && status.Enforced.Hash == p.Hash {
		return status.Enforced
	}
	if known, ok := byHash[p.Hash]; ok {
		return &v1alpha1.EnforcedCount{Hash: known.Hash, Time: known.Time, Due: known.Due, Week: known.Week}
	}
	return nil
}

// isAccepted reports whether everything that this form of a policy deletes has been approved. The annotation may name a later change by
// now: an approval lasts until the annotation is removed or the form changes, and across a restart by the status. If the policy returns to
// a form that was approved, see isApprovedBefore.
func isAccepted(p *policy.Policy, before *entry, status v1alpha1.RetentionPolicyStatus) bool {
	switch {
	case p.Approved == "":
		return false
	case before != nil:
		return p.Approved == p.ApprovalHash() || before.policy.Accepted && before.policy.Hash == p.Hash
	default:
		return p.Approved == p.ApprovalHash() || status.Approved == p.ApprovalHash()
	}
}

// isApprovedBefore reports whether a policy returns to a form with the approval that it had then, or a leader starts, and no count of the
// form is known: it may delete more by now. An approval that comes with a form is an earlier one, since the status has to show a form before
// it can be approved.
func (v *previews) isApprovedBefore(p *policy.Policy, before *entry, status v1alpha1.RetentionPolicyStatus) bool {
	if _, counted := v.byHash[p.Hash]; counted || !p.Accepted {
		return false
	}
	if before != nil {
		return before.policy.Hash != p.Hash
	}
	return status.ObservedGeneration > 0
}

// isShown reports whether all that waits of a policy is approved as its status shows it. The number may be another one by now: the next
// leader compares its count with it.
func isShown(status v1alpha1.RetentionPolicyStatus, p *policy.Policy) bool {
	pending := status.PendingApproval
	return pending != nil && pending.Since == nil && pending.Hash == p.Approved && status.ObservedTime != nil &&
		(status.ObservedGeneration == p.Generation || pending.Hash == p.ApprovalHash())
}

// previewIn is the preview of a form that a status shows.
func previewIn(status v1alpha1.RetentionPolicyStatus, hash string) (v1alpha1.Preview, bool) {
	i := slices.IndexFunc(status.Previews, func(known v1alpha1.Preview) bool { return known.Hash == hash })
	if i < 0 {
		return v1alpha1.Preview{}, false
	}
	return status.Previews[i], true
}

// statusOf is the status of a policy as it is written. One that cannot be read has shown nothing.
func statusOf(object *unstructured.Unstructured) (status v1alpha1.RetentionPolicyStatus) {
	if written, ok, _ := unstructured.NestedMap(object.Object, "status"); ok {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(written, &status)
	}
	return status
}
