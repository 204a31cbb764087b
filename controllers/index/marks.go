package index

import "time"

// succeed takes over what is known beside the facts of the row before, nil when the subject is new: that it is gone or
// going, and since when it has been eligible. A gap says that versions between the two may have been missed.
func (r *Row) succeed(old *Row, gap bool, now time.Time) {
	sameVersion := old != nil && old.version() == r.version()
	if old != nil {
		r.gone, r.leaving = old.gone && sameVersion, old.leaving
	}
	gap = gap && old != nil && !sameVersion
	for i := range r.facts {
		if r.facts[i].marked && r.facts[i].eligible {
			r.facts[i].since(old.factsUnder(r.space.layout.Columns[i]), gap, now)
		}
	}
}

// factsUnder are the facts of a row under a key; nil when there are none, or no row.
func (r *Row) factsUnder(key string) *fact {
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
	case gap, old != nil && !old.eligible:
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
	f.start, f.startNanos = pack(first)
	f.estimated = true
}
