package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// Sending reports whether a DELETE of this version may be sent now: it is confirmed open in a ledger that is ours, has
// not ended, does not rest, and no other DELETE is under way. It notes that one is, until Answered: each true must be followed by exactly
// one.
func (k *Machine) Sending(t policy.Target) bool {
	s := k.find(t)
	if s == nil || !k.sealed || !s.idle() || s.rests {
		return false
	}
	s.underWay, s.quiet = true, time.Time{}
	return true
}

// Answered takes how that DELETE went. Whoever gives up waiting for the answer says Unknown.
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
		k.finish(s, void) // all that were ever sent did nothing
	case a == NotThere:
		k.finish(s, gone)
	}
}

// Withdrawn says that an entry is not wanted any more. If it was surely never sent, it ends as void; otherwise it stays
// open until its object has changed or is gone.
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

// Stands reports whether an entry about this version is open, has not ended, and does not rest.
func (k *Machine) Stands(t policy.Target) bool {
	s := k.find(t)
	return s != nil && k.sealed && s.end == none && !s.rests
}

// Rests reports whether an entry about this version is open and no DELETE of it is sent any more, until its doubt has ended.
func (k *Machine) Rests(t policy.Target) bool {
	s := k.find(t)
	return s != nil && s.end == none && s.rests
}

// Unsent are the open entries that nothing was sent for yet: those just confirmed, and those of a lost write that was found
// to have landed. Each is to be sent or withdrawn.
func (k *Machine) Unsent() []Entry {
	return k.entries(func(s *state) bool { return s.idle() && !s.doubtful })
}

// Doubtful are the open entries whose object must be looked at, with a quorum read: inherited ones, and those with a DELETE
// nobody saw the answer to; none that have one of ours under way. There are none until the ledger is ours.
func (k *Machine) Doubtful() []Entry {
	return k.entries(func(s *state) bool { return s.idle() && s.doubtful })
}

// Look returns the Doubtful entries. The caller reads their objects from now on and gives Saw this time as the beginning of
// each read.
func (k *Machine) Look(now time.Time) []Entry {
	entries := k.Doubtful()
	for _, e := range entries {
		k.open[e.UID].look(now)
	}
	return entries
}

// Saw takes the result of a quorum read that began after Look returned the entry at the time began, and reports whether the
// entry ended. The result is dropped if the entry is not doubtful any more or another DELETE is under way by now.
func (k *Machine) Saw(e Entry, s Observation, began time.Time) (ended bool) {
	known := k.find(e.Target)
	if known == nil || !k.sealed || !known.doubtful || !known.idle() {
		return false
	}
	end := s.end(known.Target)
	if s.Shows(known.Target) && known.outlived(began) {
		end = void
	}
	k.finish(known, end)
	return end != none
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

// sorted gives what is open in the order in which it is written.
func (k *Machine) sorted() []*state {
	return slices.SortedFunc(maps.Values(k.open), func(a, b *state) int { return compare(a.Entry, b.Entry) })
}
