package policyset

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	namespace string // of the approval and its policy
	policy    types.UID
	hash      string
	expires   time.Time // zero for never
}

// approvalOf reads an approval. One that is being deleted, or that cannot be read, approves nothing.
func approvalOf(object *unstructured.Unstructured) approval {
	var read struct {
		Spec v1alpha1.ApprovalSpec `json:"spec"`
	}
	if object.GetDeletionTimestamp() != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read) != nil {
		return approval{}
	}
	return approval{
		namespace: object.GetNamespace(), policy: read.Spec.Policy.UID, hash: read.Spec.Hash,
		expires: ptr.Deref(read.Spec.ExpirationTime, metav1.Time{}).Time,
	}
}

func (a approval) hasExpired(now time.Time) bool {
	return !a.expires.IsZero() && !now.Before(a.expires)
}

// approvals are the known approvals of one kind. A new approval arrives with the cache, because it only lets policies delete more.
// A live read shows that one was deleted.
type approvals struct{ store[approval] }

// of returns the hashes that the approvals of a policy name, sorted and separated by commas.
func (a *approvals) of(p metav1.Object, now time.Time) string {
	var hashes []string
	for _, s := range a.all {
		if v := s.value; v.policy == p.GetUID() && v.namespace == p.GetNamespace() && !v.hasExpired(now) {
			hashes = append(hashes, v.hash)
		}
	}
	slices.Sort(hashes)
	return strings.Join(slices.Compact(hashes), ",")
}

func hashesIn(approved string) sets.Set[string] { return sets.New(strings.Split(approved, ",")...) }

// take stores the content of a cache. An approval that it lacks no longer counts.
func (a *approvals) take(cached []unstructured.Unstructured) {
	uids := map[types.UID]bool{}
	for i := range cached {
		object := &cached[i]
		a.noteVersion(object.GetResourceVersion())
		if !a.gone(object) && a.accept(object) {
			a.put(object, approvalOf(object))
		}
		uids[object.GetUID()] = true
	}
	for key, s := range a.all {
		if !uids[s.uid] {
			delete(a.all, key)
		}
	}
}

// nextExpiration returns when the next approval expires; zero for never.
func (a *approvals) nextExpiration(now time.Time) (next time.Time) {
	for _, s := range a.all {
		if !s.value.expires.IsZero() && !s.value.hasExpired(now) {
			next = policy.Soonest(next, s.value.expires)
		}
	}
	return next
}

// confirmApprovals drops the approvals of a kind of policies that were deleted. It returns when the list of the API server
// arrived; zero if no approval is known, so that none was needed.
func (l *Reconciler) confirmApprovals(ctx context.Context, on policyCollection) (came time.Time, err error) {
	seen, known := "", false
	l.withLock(func() { seen, known = on.approvals.newest, len(on.approvals.all) > 0 })
	if !known {
		return came, nil
	}
	list, err := l.readList(ctx, apiPath+on.approvalsPlural)
	came = l.Clock.Now()
	switch {
	case err != nil:
		return came, fmt.Errorf("read %s: %w", on.approvalsPlural, err)
	case older(list.ResourceVersion, seen):
		return came, l.startOver()
	}
	uids := map[types.UID]bool{}
	for i := range list.Items {
		uids[list.Items[i].UID] = list.Items[i].DeletionTimestamp == nil
	}
	l.withLock(func() { on.approvals.dropLacking(uids, list.ResourceVersion) })
	return came, nil
}

func (l *Reconciler) withLock(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}
