package index

import (
	"errors"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// succeed takes over what is known beside the facts of the row before, nil when the subject is new: that it is gone or
// going, and since when it has been eligible. A gap says that versions between the two may have been missed.
func (r *FactRow) succeed(old *FactRow, gap bool, now time.Time) {
	sameVersion := old != nil && old.version() == r.version()
	if old != nil {
		r.gone, r.leaving, r.streak = old.gone && sameVersion, old.leaving, old.streak
	}
	gap = gap && old != nil && !sameVersion
	for i := range r.facts {
		f := &r.facts[i]
		if !f.marked {
			continue
		}
		before := old.factsUnder(r.space.layout.Columns[i])
		switch {
		case f.eligible:
			f.since(before, gap, now)
		case f.isDoubtful():
			f.note.outdated = gap || before != nil && (!before.isDoubtful() || before.note.outdated)
		}
	}
}

// isDoubtful reports whether nobody knows what refers to the subject, and the rule wants to know.
func (f *fact) isDoubtful() bool {
	return f.note != nil && errors.Is(f.note.err, policy.ErrReferencesUnknown)
}

// voids reports whether a mark from before these facts does not count after them: the subject was not eligible, what refers
// to it was known and then was not, or something did and went away without being seen. A subject that has been in doubt for
// as long as anybody has looked may have been eligible all along.
func (f *fact) voids(next *fact) bool {
	switch {
	case f.isDoubtful():
		return f.note.outdated
	case !f.eligible:
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

// factsUnder are the facts of a row under a key; nil when there are none, or no row.
func (r *FactRow) factsUnder(key string) *fact {
	if r == nil {
		return nil
	}
	if c := r.space.layout.column(key); c >= 0 {
		return &r.facts[c]
	}
	return nil
}

// since settles from when on an eligible subject counts as eligible: from its mark, if nothing that was seen makes the
// mark void. Before there is a mark, and where it is void, it is estimated: from when it was seen.
func (f *fact) since(old *fact, gap bool, now time.Time) {
	first := time.Time{} // since when a mark must be
	switch {
	case gap, old != nil && old.voids(f):
		first = now
	case old != nil:
		first = unpack(old.start, old.startNanos)
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
	f.estimated = true
}
