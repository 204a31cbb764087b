// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"time"
	"unique"

	"github.com/sunset-k8s/sunset/policy"
)

// fact is policy.Facts of one column, packed.
type fact struct {
	start      seconds
	ttl        time.Duration
	note       *note // nil for none
	startNanos int32
	bits       bits
}

// bits are the flags of a fact, and its column above them.
type bits uint32

const (
	selected bits = 1 << iota
	eligible
	marked
	estimated
	markedEarly // note.firstSeen is the EarlierMark
	columnOne
)

// when returns the flag if it is set.
func (b bits) when(set bool) bits {
	if set {
		return b
	}
	return 0
}

func (f *fact) has(flag bits) bool { return f.bits&flag != 0 }

func (f *fact) column() int { return int(f.bits / columnOne) }

// saysNothing reports whether the rule does not select the subject, and the subject has no mark. A row has no such facts
// but an empty first one, because most rules do not select most subjects.
func (f *fact) saysNothing() bool { return !f.has(selected) && !f.hasStart() && f.note == nil }

// note has what few facts have: an error, a group, an outcome, an owner to delete, a size, or a time before which nothing is
// deleted.
type note struct {
	err            error
	group, outcome string
	also           []string
	owner          *policy.Owner
	bytes          int64
	class          unique.Handle[string] // of the storage; zero for none
	firstSeen      seconds               // Facts.FirstSeen; with the bit markedEarly, Facts.EarlierMark. No facts have both
	notBefore      seconds
	firstSeenNanos int32
	notBeforeNanos int32
	unpullable     bool
	stale          bool // the rule should be evaluated again because of the error
	outdated       bool // the mark on the object does not count; without known references: they were known before
}

// noteOf returns nil for most facts. It keeps no other part of the facts.
func noteOf(f *policy.Facts) *note {
	if f.Err == nil && f.Group == "" && len(f.Also) == 0 && f.Outcome == "" && f.Owner == nil && f.FirstSeen.IsZero() && !f.Unpullable &&
		f.Size == (policy.Size{}) && f.NotBefore.IsZero() && f.EarlierMark.IsZero() && !f.Outdated {
		return nil
	}
	n := &note{
		err: f.Err, group: f.Group, also: f.Also, outcome: f.Outcome, owner: f.Owner, bytes: f.Size.Bytes, unpullable: f.Unpullable,
		outdated: f.Outdated,
	}
	n.notBefore, n.notBeforeNanos = pack(f.NotBefore)
	n.firstSeen, n.firstSeenNanos = pack(cmp.Or(f.EarlierMark, f.FirstSeen))
	if f.Size.Class != "" {
		n.class = unique.Make(f.Size.Class)
	}
	return n
}

func packFacts(column int, f *policy.Facts) fact {
	packed := fact{ttl: f.TTL, bits: bits(column)*columnOne |
		selected.when(f.Selected) | eligible.when(f.Eligible) | marked.when(f.Marked) | estimated.when(f.Estimated) |
		markedEarly.when(!f.EarlierMark.IsZero())}
	packed.start, packed.startNanos = pack(f.Start)
	packed.note = noteOf(f)
	return packed
}

func (f *fact) unpack() policy.Facts {
	facts := policy.Facts{
		Selected: f.has(selected), Eligible: f.has(eligible), Start: unpack(f.start, f.startNanos), TTL: f.ttl,
		Marked: f.has(marked), Estimated: f.has(estimated),
	}
	if n := f.note; n != nil {
		facts.Err, facts.Group, facts.Outcome, facts.Owner = n.err, n.group, n.outcome, n.owner
		facts.Also, facts.Unpullable = n.also, n.unpullable
		if first := unpack(n.firstSeen, n.firstSeenNanos); f.has(markedEarly) {
			facts.EarlierMark = first
		} else {
			facts.FirstSeen = first
		}
		facts.NotBefore = unpack(n.notBefore, n.notBeforeNanos)
		facts.Outdated = n.outdated
		if facts.Size.Bytes = n.bytes; n.class != (unique.Handle[string]{}) {
			facts.Size.Class = n.class.Value()
		}
	}
	return facts
}

// hasStart reports whether the facts have a start time.
func (f *fact) hasStart() bool { return f.start != 0 || f.startNanos != 0 }

// seconds counts from the zero time, without nanoseconds.
type seconds int64

var zero = time.Time{}.Unix()

func pack(t time.Time) (seconds, int32) { return seconds(t.Unix() - zero), int32(t.Nanosecond()) }

func unpack(s seconds, nanos int32) time.Time { return time.Unix(int64(s)+zero, int64(nanos)).UTC() }
