// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// approval is what one ClusterRetentionApproval or RetentionApproval approves.
type approval struct {
	metav1.ObjectMeta // namespace, name, UID and resourceVersion
	policy            v1alpha1.ApprovedPolicy
	hash              string
	expires           time.Time // zero for never
}

// approvalOf reads an approval. One that is being deleted, or that cannot be read completely, approves nothing: an unknown field
// may be a misspelt expirationTime.
func approvalOf(object *unstructured.Unstructured) (a approval, ok bool) {
	read := &v1alpha1.RetentionApproval{} // a ClusterRetentionApproval has the same fields
	if object.GetDeletionTimestamp() != nil || runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, read, true) != nil {
		return a, false
	}
	return approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: read.Namespace, Name: read.Name, UID: read.UID, ResourceVersion: read.ResourceVersion},
		policy:     read.Spec.Policy, hash: read.Spec.Hash, expires: ptr.Deref(read.Spec.ExpirationTime, metav1.Time{}).Time,
	}, true
}

// isFor reports whether an approval names a policy.
func (a *approval) isFor(p metav1.Object) bool {
	return a.policy.UID == p.GetUID() && a.policy.Name == p.GetName() && a.Namespace == p.GetNamespace()
}

func (a *approval) hasExpired(now time.Time) bool {
	return !a.expires.IsZero() && !now.Before(a.expires)
}

// approvals are the approvals of one kind. One counts if a cache has it, which knows what it approves, and the latest live list
// contains it. So one that was deleted does not count again, and one that is created takes effect with a live read.
type approvals struct {
	cached map[types.UID][]approval // by the UID of the policy
	listed sets.Set[types.UID]
}

// of returns the hashes that the approvals of a policy name.
func (a *approvals) of(p metav1.Object, now time.Time) sets.Set[string] {
	hashes := sets.New[string]()
	for _, v := range a.cached[p.GetUID()] {
		if v.isFor(p) && a.listed.Has(v.UID) && !v.hasExpired(now) {
			hashes.Insert(v.hash)
		}
	}
	return hashes
}

// take stores the content of a cache, and reports whether the latest live list contains all of it.
func (a *approvals) take(objects []unstructured.Unstructured) (all bool) {
	known := map[types.UID]approval{}
	for _, of := range a.cached {
		for _, v := range of {
			known[v.UID] = v
		}
	}
	all, a.cached = true, map[types.UID][]approval{}
	for i := range objects {
		v, ok := known[objects[i].GetUID()]
		if !ok || v.ResourceVersion != objects[i].GetResourceVersion() {
			v, ok = approvalOf(&objects[i])
		}
		if ok {
			a.cached[v.policy.UID] = append(a.cached[v.policy.UID], v)
			all = all && a.listed.Has(v.UID)
		}
	}
	return all
}

// nextExpiration returns when the next approval expires; zero for never.
func (a *approvals) nextExpiration(now time.Time) (next time.Time) {
	for _, of := range a.cached {
		for _, v := range of {
			if !v.expires.IsZero() && !v.hasExpired(now) {
				next = policy.Soonest(next, v.expires)
			}
		}
	}
	return next
}

// unlisted returns the approvals that counted until a live list did not contain them.
func (a *approvals) unlisted(in map[types.UID]bool) (gone []*approval) {
	for _, of := range a.cached {
		for i := range of {
			if uid := of[i].UID; a.listed.Has(uid) && !in[uid] {
				gone = append(gone, &of[i])
			}
		}
	}
	return gone
}

// listApprovals reads which approvals of a kind of policies exist and are not being deleted. As with policies, one that the list
// lacks counts as gone only if the API server responds that it does not exist.
func (l *Reconciler) listApprovals(ctx context.Context, on policyCollection) (sets.Set[types.UID], error) {
	list, err := l.readList(ctx, apiPath+on.approvalsPlural)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", on.approvalsPlural, err)
	}
	uids := uidsOf(list)
	l.mu.Lock()
	unlisted := on.approvals.unlisted(uids)
	l.mu.Unlock()
	failed := each(len(unlisted), func(i int) error {
		return l.confirmGone(ctx, pathOf(on.approvalsPlural, unlisted[i]), unlisted[i], list, uids)
	})
	if err := cmp.Or(failed...); err != nil {
		return nil, err
	}
	listed := sets.New[types.UID]()
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			listed.Insert(list.Items[i].UID)
		}
	}
	return listed, nil
}
