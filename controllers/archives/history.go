// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/archive"
)

const (
	repeatPause  = time.Minute      // before the third record of an object that was not deleted; it doubles each time
	repeatMost   = 15 * time.Minute // between two records of one object
	refusedMost  = 30 * time.Minute // between two attempts to write a record that the store has refused
	historyLife  = 2 * lifeMost     // how long an object is remembered after its last record
	historyCheck = 10_000           // objects from which on those that are too old are removed
	refusedFew   = 25               // records in a segment with one that the store has refused once
)

// history is what happened to records of objects that were not deleted. It delays further records: an object that changes all the
// time, or whose record the store does not take, must not fill the archive or delay others.
type history struct {
	by    map[types.UID]past
	check int // length of by at which the oldest are removed
}

// past is small: there is one for each record until its object is deleted.
type past struct {
	records int
	last    time.Time // when anything last happened
	failed  *failures // nil for none
}

// failures are why an object was not recorded.
type failures struct {
	refusals int
	refused  time.Time // when the store first refused the record
	err      error     // why the store refused; nil if it did not
	logOf    string    // had a required log that was not read, because the Pod no longer existed
	lostErr  error     // why; nil for none
}

func (h *history) failures(uid types.UID) failures { return ptr.Deref(h.by[uid].failed, failures{}) }

func newHistory() history { return history{by: map[types.UID]past{}, check: historyCheck} }

// recorded notes a record of an object. A record that the store has ends refusals.
func (h *history) recorded(uid types.UID, now time.Time) {
	h.set(uid, past{records: h.by[uid].records + 1, last: now})
}

// refused notes that the store does not take the record of an object.
func (h *history) refused(uid types.UID, err error, now time.Time) {
	f := h.failures(uid)
	if f.refusals++; f.refusals == 1 {
		f.refused = now
	}
	f.err = err
	h.set(uid, past{records: h.by[uid].records, last: now, failed: &f})
}

// lost notes that a required log is lost: a later listing no longer has its Pod. It counts until the object is recorded.
func (h *history) lost(uid types.UID, pod string, err error, now time.Time) {
	f := h.failures(uid)
	f.logOf, f.lostErr = pod, err
	h.set(uid, past{records: h.by[uid].records, last: now, failed: &f})
}

func (h *history) set(uid types.UID, p past) {
	h.by[uid] = p
	if len(h.by) < h.check {
		return
	}
	for uid, old := range h.by {
		if p.last.Sub(old.last) > historyLife {
			delete(h.by, uid)
		}
	}
	h.check = max(historyCheck, 2*len(h.by))
}

// forget removes an object that was deleted.
func (h *history) forget(uid types.UID) { delete(h.by, uid) }

// next returns when an object may be recorded again, and why not now; nil if it may.
func (h *history) next(uid types.UID, now time.Time) (at time.Time, err error) {
	p, f := h.by[uid], h.failures(uid)
	pause := time.Duration(0)
	if p.records > 1 {
		pause = min(repeatPause<<min(p.records-2, 10), repeatMost)
		err = fmt.Errorf("recorded %d times and not deleted, because it changes, waits for a limit, or its deletion fails; Sunset records it again in at most %s", p.records, pause)
	}
	if f.refusals > 0 {
		pause, err = max(pause, min(firstBackoff<<min(f.refusals-1, 20), refusedMost)), fmt.Errorf("the store refuses the record: %w", f.err)
	}
	if at = p.last.Add(pause); !at.After(now) {
		return at, nil
	}
	return at, err
}

// together returns how many records a segment with the record of an object may have.
func (h *history) together(uid types.UID) int {
	switch h.failures(uid).refusals {
	case 0:
		return archive.MaxRecords
	case 1:
		return refusedFew
	}
	return 1
}
