// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// MarkSent reports whether a DELETE of this version may be sent now: its entry is confirmed open in the sealed ledger, has not
// ended and does not rest, and no other DELETE is under way. If it returns true, the DELETE is under way, and the caller must
// call Answered exactly once.
func (k *Machine) MarkSent(t policy.Target) bool {
	s := k.find(t)
	if s == nil || !k.sealed || !s.idle() || s.stopped {
		return false
	}
	s.underWay, s.quiet = true, time.Time{}
	return true
}

// Answered takes the result of that DELETE. If the caller stops waiting for the response, the result is Unknown.
func (k *Machine) Answered(t policy.Target, a DeleteResult) {
	s := k.find(t)
	if s == nil {
		return
	}
	s.underWay = false
	switch {
	case a == Deleted:
		k.finish(s, deleted)
	case s.end != none:
	case a == Unknown:
		s.doubtful = true
	case !s.doubtful:
		k.finish(s, void) // no DELETE that was ever sent had an effect
	case a == NotThere:
		k.finish(s, gone)
	}
}

// Doubts reports whether a target has an entry with an earlier DELETE that may have had an effect.
func (k *Machine) Doubts(t policy.Target) bool {
	s := k.find(t)
	return s != nil && s.doubtful
}

// CountsAnyway reports whether the deletion of an object without an entry of its own is counted nevertheless: by an entry that has ended, or by a
// doubtful entry, which ends when a read shows that the object no longer exists.
func (k *Machine) CountsAnyway(uid types.UID) bool {
	if _, ok := k.counted[uid]; ok {
		return true
	}
	s := k.open[uid]
	return s != nil && s.end == none && s.doubtful
}

// Withdrawn says that an entry is no longer wanted. If it was certainly never sent, it ends as void. Otherwise it stays open
// until its object has changed or no longer exists.
func (k *Machine) Withdrawn(t policy.Target) {
	if s := k.find(t); s != nil {
		if s.idle() && !s.doubtful {
			k.finish(s, void)
		}
		return
	}
	if _, ok := k.tried[versionOf(t)]; ok {
		k.tried[versionOf(t)] = true
	}
}

// IsOpen reports whether an entry about this version is open, has not ended, and does not rest.
func (k *Machine) IsOpen(t policy.Target) bool {
	s := k.find(t)
	return s != nil && k.sealed && s.end == none && !s.stopped
}

// HasStopped reports whether an entry of this version is open, and no more DELETE of it is sent until its doubt has ended.
func (k *Machine) HasStopped(t policy.Target) bool {
	s := k.find(t)
	return s != nil && s.end == none && s.stopped
}

// Unsent are the open entries without a DELETE so far: those just confirmed, and those of a lost write that was found in the
// ledger. Each must be sent or withdrawn.
func (k *Machine) Unsent() []Entry {
	return k.entries(func(s *state) bool { return s.idle() && !s.doubtful })
}

// Doubtful are the open entries whose object must be read, with a quorum read: inherited entries, and entries with a DELETE of
// unknown result. Entries with a DELETE of ours under way are not among them. There are none until the ledger is sealed.
func (k *Machine) Doubtful() []Entry {
	return k.entries(func(s *state) bool { return s.idle() && s.doubtful })
}

// BeginReads returns the Doubtful entries. The caller then reads their objects, and passes now to Observe as the time at which each read
// began.
func (k *Machine) BeginReads(now time.Time) []Entry {
	entries := k.Doubtful()
	for _, e := range entries {
		k.open[e.UID].beginRead(now)
	}
	return entries
}

// Observe takes the result of a quorum read that began after BeginReads returned the entry at the time began, and reports whether the entry
// ended. It ignores the result if the entry is no longer doubtful, or if another DELETE is under way now.
func (k *Machine) Observe(e Entry, s Observation, began time.Time) (ended bool) {
	end := k.endBy(e, s, began)
	if end != none {
		k.finish(k.find(e.Target), end)
	}
	return end != none
}

// WouldEnd reports whether Observe would end the entry now.
func (k *Machine) WouldEnd(e Entry, s Observation, began time.Time) bool {
	return k.endBy(e, s, began) != none
}

func (k *Machine) endBy(e Entry, s Observation, began time.Time) end {
	known := k.find(e.Target)
	switch {
	case known == nil, !k.sealed, !known.doubtful, !known.idle():
		return none
	case s.Shows(known.Target) && known.outlived(began):
		return void
	}
	return s.end(known.Target)
}

func (k *Machine) find(t policy.Target) *state {
	if s, ok := k.open[t.UID]; ok && s.Is(t) {
		return s
	}
	return nil
}

func (k *Machine) finish(s *state, e end) {
	s.end = e
	if e.counts() {
		k.counted[s.UID] = false
	}
}

func (k *Machine) entries(wanted func(*state) bool) []Entry {
	if !k.sealed {
		return nil
	}
	var entries []Entry
	for _, s := range k.open {
		if wanted(s) {
			entries = append(entries, s.Entry)
		}
	}
	slices.SortFunc(entries, compare)
	return entries
}

// sorted gives the open entries in the order in which they are written.
func (k *Machine) sorted() []*state {
	return slices.SortedFunc(maps.Values(k.open), func(a, b *state) int { return compare(a.Entry, b.Entry) })
}
