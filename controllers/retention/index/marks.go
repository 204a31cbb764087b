// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// succeed takes over what is known besides the facts from the previous row (nil if the subject is new): whether it is
// deleted or a DELETE is in flight, and since when it has been eligible. If gap is true, versions between the two may have
// been missed.
func (r *FactRow) succeed(old *FactRow, gap bool, now time.Time) {
	sameVersion := old != nil && old.version() == r.version()
	if old != nil {
		r.set(isGone, old.is(isGone) && sameVersion)
		r.set(isLeaving, old.is(isLeaving))
		r.streak = old.streak
	}
	gap = gap && old != nil && !sameVersion
	for f := range r.facts {
		if !f.has(marked) {
			continue
		}
		before := old.factsUnder(r.partition.layout.key(f.column()))
		switch {
		case f.has(eligible):
			f.since(before, gap, now)
		case f.isDoubtful():
			f.note.outdated = gap || before != nil && (!before.isDoubtful() || before.note.outdated)
		}
	}
}

// isDoubtful reports whether the references to the subject are unknown, and the rule reads them.
func (f *fact) isDoubtful() bool {
	return f.note != nil && errors.Is(f.note.err, policy.ErrReferencesUnknown)
}

// voids reports whether a mark that is older than these facts is void for the next ones. That is so if the subject was not
// eligible, if its references were known and then became unknown, or if a reference may have existed unseen in between. If
// the references have been unknown since the first look, the subject may have been eligible all the time.
func (f *fact) voids(next *fact) bool {
	switch {
	case f.isDoubtful():
		return f.note.outdated
	case !f.has(eligible):
		return true
	}
	return next.notBefore().After(f.notBefore())
}

func (f *fact) notBefore() time.Time {
	if f.note == nil {
		return time.Time{}
	}
	return unpack(f.note.notBefore, f.note.notBeforeNanos)
}

// factsUnder returns the facts of a row under a key; nil if the row has none, or if the row is nil.
func (r *FactRow) factsUnder(key string) *fact {
	if r == nil {
		return nil
	}
	if c := r.partition.layout.column(key); c >= 0 {
		return r.fact(c)
	}
	return nil
}

// since sets the time from which an eligible subject counts as eligible. That is its mark, unless an observation makes the
// mark void. Without a valid mark, the time is an estimate: when the subject was first seen to be eligible.
func (f *fact) since(old *fact, gap bool, now time.Time) {
	first := time.Time{} // the earliest time of a valid mark
	switch {
	case gap, old != nil && old.voids(f):
		first = now
	case old != nil:
		first = unpack(old.start, old.startNanos)
	}
	if first.After(now) { // the condition or mark that set a start in the future is gone: the subject counts as eligible from now on
		first = now
	}
	if f.hasStart() && !unpack(f.start, f.startNanos).Before(first) {
		return
	}
	if first.IsZero() {
		first = now
	}
	if f.hasStart() {
		if f.note == nil {
			f.note = &note{}
		}
		f.note.outdated = true
	}
	f.start, f.startNanos = pack(first)
	f.bits |= estimated
}
