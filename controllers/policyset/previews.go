// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// previews says which versions of a policy have been counted, and in which namespaces something has changed since then.
type previews struct {
	byHash     map[string]v1alpha1.Preview
	generation int64 // the first one with the current version of the policy
	scope      policy.ApprovalScope
	before     *policy.Snapshot // in force before the pending change; nil if that is unknown
	// beforeIn has what was in force before in namespaces that began to wait later; nil if that is unknown. The map never changes.
	beforeIn map[string]*policy.Snapshot
	// recount is the count that the previous leader made while it enforced this version, or as a dry run, until this process has
	// counted. It is nil afterwards, and if there was no count.
	recount *v1alpha1.EnforcedCount
	blind   bool // it is unknown what was in force before the pending change
	// outdated is when something changed that may let the policy delete more than was counted while it was a dry run, or than
	// was approved when it had this version earlier; zero for never.
	outdated time.Time
	// approved are the hashes of the approvals by which this version deletes.
	approved sets.Set[string]
}

// previewsOf keeps the previews of the entry before, or reads those in the status of a policy. A version counts as previewed
// while the policy has it, and for 7 days afterwards, because a preview counts 7 days ahead. It no longer counts after a change
// that may let it delete more, because pending changes are then counted for the new version alone.
func previewsOf(status v1alpha1.RetentionPolicyStatus, p *policy.Policy, before *entry, now time.Time) previews {
	all := previews{byHash: map[string]v1alpha1.Preview{}, generation: p.Generation}
	isSame := before != nil && before.policy.Hash == p.Hash
	if isSame {
		all.generation = before.previews.generation
	}
	note := func(known v1alpha1.Preview, isCurrent bool) {
		if isCurrent && known.Hash == p.Hash || now.Sub(known.ObservedTime.Time) <= policy.Week {
			all.byHash[known.Hash] = known
		}
	}
	pending := status.PendingApproval
	scoped := pending != nil && len(pending.Namespaces) > 0
	var since time.Time // zero if another client wrote the status without it
	if scoped {
		since = ptr.Deref(pending.SinceTime, metav1.MicroTime{}).Time
	}
	switch {
	case before != nil:
		all.scope, all.before, all.beforeIn, all.blind = before.previews.scope, before.previews.before, before.previews.beforeIn, before.previews.blind
		all.recount, all.outdated = before.previews.recount, before.previews.outdated
		waits := all.scope != nil || !all.outdated.IsZero()
		for hash, known := range before.previews.byHash {
			shown, ok := status.Preview(hash)
			if ok && shown.ObservedTime.After(known.ObservedTime.Time) {
				known.ObservedTime = shown.ObservedTime // until then the policy had the version
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
		if e := status.Enforced; e != nil && len(e.WaitingNamespaces) > 0 {
			all.scope = all.scope.Wider(sets.New(e.WaitingNamespaces...), ptr.Deref(e.WaitingSinceTime, metav1.MicroTime{}).Time)
		}
		if known, ok := status.Preview(p.Hash); ok {
			note(known, status.ObservedGeneration == p.Generation)
		}
		all.recount = recountOf(status, p, all.byHash)
		if _, counted := all.byHash[p.Hash]; !counted && isShown(status, p) {
			all.byHash[p.Hash] = v1alpha1.Preview{Hash: p.Hash, ObservedTime: *status.ObservedTime}
			all.recount = &v1alpha1.EnforcedCount{Hash: p.Hash, ObservedTime: *status.ObservedTime, Due: pending.Due}
		}
	}
	switch { // an approved change does not wait again
	case p.Approved.Has(p.ScopeHash(all.scope.Names(), all.scope.Since())):
		all.scope = nil
	case scoped && p.Approved.Has(p.ScopeHash(pending.Namespaces, since)):
		all.scope = all.scope.Without(all.scope.Among(pending.Namespaces, since))
	}
	switch {
	case !all.outdated.IsZero() && p.Approved.Has(p.RecountHash(all.outdated)):
		all.outdated = time.Time{}
		if _, counted := all.byHash[p.Hash]; !counted {
			all.byHash[p.Hash] = v1alpha1.Preview{Hash: p.Hash, ObservedTime: metav1.Time{Time: now}}
		}
	case before != nil && !isSame && !all.outdated.IsZero(), // an approval may name the earlier time
		all.isApprovedBefore(p, before, status):
		all.outdated = after(all.outdated, now)
	}
	all.approved = sets.New(p.ApprovalHash())
	if pending != nil {
		all.approved.Insert(pending.Hash)
	}
	all.approved = all.approved.Intersection(p.Approved)
	var known sets.Set[string]
	switch enforced := status.Enforced; {
	case isSame:
		known = before.previews.approved
	case before == nil && enforced != nil && enforced.Hash == p.Hash:
		known = sets.New(enforced.Approvals...)
	}
	if known.Difference(p.Approved).Len() > 0 {
		all.withdrawn(p, now)
	} else {
		all.approved = all.approved.Union(known)
	}
	return all
}

// waitIn makes the version wait in namespaces, or in all of them if there are more than a status and an approval can list.
func (v *previews) waitIn(scope policy.ApprovalScope, now time.Time) {
	if v.scope = scope; len(scope) > v1alpha1.MaxPendingNamespaces {
		v.scope, v.outdated = nil, after(v.outdated, now)
	}
}

// withdrawn makes the version wait until it is counted again, because an approval of it was deleted or has expired. Everything that
// it deletes counts.
func (v *previews) withdrawn(p *policy.Policy, now time.Time) {
	delete(v.byHash, p.Hash)
	v.scope, v.before, v.beforeIn, v.blind, v.recount = nil, nil, nil, true, nil
	v.outdated = after(v.outdated, now)
}

// recountOf returns the count of the previous leader for the version that a policy has; nil for none.
func recountOf(status v1alpha1.RetentionPolicyStatus, p *policy.Policy, byHash map[string]v1alpha1.Preview) *v1alpha1.EnforcedCount {
	if status.Enforced != nil && status.Enforced.Hash == p.Hash {
		return status.Enforced
	}
	if known, ok := byHash[p.Hash]; ok {
		return &v1alpha1.EnforcedCount{Hash: known.Hash, ObservedTime: known.ObservedTime, Due: known.Due, Uncounted: known.Uncounted}
	}
	return nil
}

// isApprovedBefore reports whether a policy with an earlier approval may delete more by now. That is so if no count of its
// version is known, and it returns to the version or a leader starts. An approval that arrives together with a version is an
// earlier one, because the status must show a version before you can approve it.
func (v *previews) isApprovedBefore(p *policy.Policy, before *entry, status v1alpha1.RetentionPolicyStatus) bool {
	if _, counted := v.byHash[p.Hash]; counted || !p.Accepted() {
		return false
	}
	if before != nil {
		return before.policy.Hash != p.Hash
	}
	return status.ObservedGeneration > 0
}

// isShown reports whether everything that waits in a policy is approved as its status shows it. The number may have changed
// since then: the next leader compares its count with it.
func isShown(status v1alpha1.RetentionPolicyStatus, p *policy.Policy) bool {
	pending := status.PendingApproval
	return pending != nil && pending.SinceTime == nil && p.Approved.Has(pending.Hash) && status.ObservedTime != nil &&
		(status.ObservedGeneration == p.Generation || pending.Hash == p.ApprovalHash())
}

// statusOf returns the status of a policy as written. An invalid status counts as empty, and as that of another generation, so that no
// mark from before counts.
func statusOf(object *unstructured.Unstructured) (status v1alpha1.RetentionPolicyStatus) {
	if written, ok := object.Object["status"]; ok {
		fields, _ := written.(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status); err != nil || fields == nil {
			return v1alpha1.RetentionPolicyStatus{ObservedGeneration: -1} // a part of it could allow deletions
		}
	}
	return status
}
