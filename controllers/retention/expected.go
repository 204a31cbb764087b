// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// Expected returns the deletion of an object that Sunset expects within index.AheadArchived. It returns false if there is none, and
// also if limits of its policy may delay the deletion so long that a record made ahead would be wasted. It is safe for concurrent
// use.
func (r *Reconciler) Expected(kind schema.GroupVersionKind, uid types.UID) (policy.Intent, bool) {
	r.mu.Lock()
	w, snapshot := r.kinds[policy.StoredAs(kind)], r.snapshot
	r.mu.Unlock()
	if w == nil {
		return policy.Intent{}, false
	}
	j, known := w.index.Peek(uid, r.Clock.Now())
	if !known || j.Expected.Rule == nil || j.Expected.Rule.Snapshot != nil { // a snapshot changes the claim
		return policy.Intent{}, false
	}
	p := snapshot.Policy(j.Expected.Rule.ID.Policy)
	return j.Expected, p != nil && (p.Limits == nil || r.Ledger.Fits(j.Expected, w.pipeline.queue.Len()))
}
