// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// FactRow is one subject with the facts about it, packed, because there is one for each object in the cluster. Create it
// with NewFactRow. Once a row is passed to the index, only the index may use it.
type FactRow struct {
	partition *partition // its namespace; shared with the other rows there
	text      string     // name, UID and resourceVersion
	facts     []fact     // in the order of their columns, without facts that say nothing
	created   seconds
	due       seconds // when to evaluate again; zero if only a change can make it due
	ownTTL    time.Duration
	// Nanoseconds of the times above.
	createdNanos, dueNanos int32

	slot     int32  // 1 + index in the schedule; 0 if it is not scheduled
	place    int32  // index in the rows of the partition
	uidEnds  uint16 // end of the UID in text
	nameEnds uint16
	flags    policy.Flags
	streak   uint8 // how often in a row an object of its name was re-created; see returns
	state    state
}

// state is what has been done about a row.
type state uint8

const (
	isGone       state = 1 << iota // a DELETE of this version succeeded, or found nothing; only a newer version counts, or Undelete
	isLeaving                      // a DELETE is in flight
	isHandedOver                   // it waits, and was handed over Ahead of its due time
)

func (r *FactRow) is(s state) bool { return r.state&s != 0 }

func (r *FactRow) set(s state, on bool) {
	if r.state &^= s; on {
		r.state |= s
	}
}

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

// saysNothing reports whether the rule does not select the subject, and the subject has no mark. A row has no such facts,
// because most rules do not select most subjects.
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

// Columns says which facts a row knows. Only rows with the same Columns can be compared. Create it with NewColumns.
type Columns struct {
	first    *Columns // the columns before these; nil for none
	keys     []string
	position map[string]int
}

// NewColumns returns columns for facts with these keys, in this order.
func NewColumns(keys ...string) *Columns { return (*Columns)(nil).And(keys...) }

// And returns these columns, which it shares, and further ones behind them.
func (l *Columns) And(keys ...string) *Columns {
	more := &Columns{first: l, keys: keys, position: make(map[string]int, len(keys))}
	for i, key := range keys {
		more.position[key] = l.len() + i
	}
	return more
}

func (l *Columns) len() int {
	if l == nil {
		return 0
	}
	return l.first.len() + len(l.keys)
}

// Keys returns the keys, in order.
func (l *Columns) Keys() []string {
	if l == nil {
		return nil
	}
	return slices.Concat(l.first.Keys(), l.keys)
}

// key returns the key of a column.
func (l *Columns) key(column int) string {
	if n := l.first.len(); column >= n {
		return l.keys[column-n]
	}
	return l.first.key(column)
}

// column returns the position of the facts under a key; -1 for none.
func (l *Columns) column(key string) int {
	for ; l != nil; l = l.first {
		if c, ok := l.position[key]; ok {
			return c
		}
	}
	return -1
}

// Has reports whether there is a column for a key.
func (l *Columns) Has(key string) bool { return l.column(key) >= 0 }

// Covers reports whether rows of this layout have all columns of another.
func (l *Columns) Covers(o *Columns) bool {
	for ; o != nil && o != l && o != l.first; o = o.first {
		if slices.ContainsFunc(o.keys, func(key string) bool { return !l.Has(key) }) {
			return false
		}
	}
	return true
}

// longestName is far more than the 253 characters of a name, and the 36 of a UID, that the API server writes.
const longestName = math.MaxUint16 / 2

// NewFactRow packs a subject with its facts, one for each column of the layout. It truncates a name or UID that is too long
// for any object: no object has such a name or UID, so none is deleted by it.
func NewFactRow(s policy.Subject, l *Columns, facts ...policy.Facts) *FactRow {
	return NewSparseFactRow(s, l, slices.All(facts))
}

// NewSparseFactRow is NewFactRow for facts of only some columns, in their order. The rules of the other columns do not select
// the subject, and it has no mark of theirs.
func NewSparseFactRow(s policy.Subject, l *Columns, facts iter.Seq2[int, policy.Facts]) *FactRow {
	s.Name, s.UID = s.Name[:min(len(s.Name), longestName)], s.UID[:min(len(s.UID), longestName)]
	r := &FactRow{
		partition: &partition{partitionKey: partitionKey{s.Namespace, l}}, // until it joins an index
		ownTTL:    s.OwnTTL,
		text:      s.Name + string(s.UID) + s.ResourceVersion,
		nameEnds:  uint16(len(s.Name)),
		uidEnds:   uint16(len(s.Name) + len(s.UID)),
		flags:     s.Flags,
	}
	r.created, r.createdNanos = pack(s.Created)
	for column, f := range facts {
		if packed := packFacts(column, &f); !packed.saysNothing() {
			r.facts = append(r.facts, packed)
		}
	}
	if len(r.facts) < cap(r.facts) {
		r.facts = slices.Clone(r.facts)
	}
	return r
}

// EvaluateAgain sets whether the facts with an error should be requested again, because a rule was not evaluated when the row
// was read.
func (r *FactRow) EvaluateAgain(again bool) *FactRow {
	for _, f := range r.facts {
		if f.note != nil && f.note.err != nil {
			f.note.stale = again
		}
	}
	return r
}

// IsStale reports whether some of the facts should be requested again; see EvaluateAgain.
func (r *FactRow) IsStale() bool {
	return slices.ContainsFunc(r.facts, func(f fact) bool { return f.note != nil && f.note.stale })
}

func packFacts(column int, f *policy.Facts) fact {
	packed := fact{ttl: f.TTL, bits: bits(column)*columnOne |
		selected.when(f.Selected) | eligible.when(f.Eligible) | marked.when(f.Marked) | estimated.when(f.Estimated) |
		markedEarly.when(!f.EarlierMark.IsZero())}
	packed.start, packed.startNanos = pack(f.Start)
	packed.note = noteOf(f)
	return packed
}

// Subject returns the version of the subject that the row describes.
func (r *FactRow) Subject() policy.Subject {
	s := policy.Subject{
		Namespace: r.partition.namespace, Name: r.text[:r.nameEnds], UID: r.uid(), ResourceVersion: r.version(),
		Created: unpack(r.created, r.createdNanos), Flags: r.flags, OwnTTL: r.ownTTL,
	}
	if r.streak >= maxReturns {
		s.Flags |= policy.IsRecreated
	}
	return s
}

// effectiveSubject returns the subject as its namespace presents it. The row must have joined an index.
func (r *FactRow) effectiveSubject() policy.Subject { return r.partition.rules.WithHold(r.Subject()) }

func (r *FactRow) uid() types.UID  { return types.UID(r.text[r.nameEnds:r.uidEnds]) }
func (r *FactRow) version() string { return r.text[r.uidEnds:] }

// Facts returns the facts of each column.
func (r *FactRow) Facts() []policy.Facts {
	facts := make([]policy.Facts, r.partition.layout.len())
	for i := range r.facts {
		facts[r.facts[i].column()] = r.facts[i].unpack()
	}
	return facts
}

// fact returns the facts of a column.
func (r *FactRow) fact(column int) *fact {
	i, found := slices.BinarySearchFunc(r.facts, column, func(f fact, column int) int { return cmp.Compare(f.column(), column) })
	if !found {
		return &fact{}
	}
	return &r.facts[i]
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

func (r *FactRow) setDue(t time.Time) { r.due, r.dueNanos = pack(t) }
func (r *FactRow) dueTime() time.Time { return unpack(r.due, r.dueNanos) }
func (r *FactRow) isScheduled() bool  { return r.due != 0 || r.dueNanos != 0 }

// seconds counts from the zero time, without nanoseconds.
type seconds int64

var zero = time.Time{}.Unix()

func pack(t time.Time) (seconds, int32) { return seconds(t.Unix() - zero), int32(t.Nanosecond()) }

func unpack(s seconds, nanos int32) time.Time { return time.Unix(int64(s)+zero, int64(nanos)).UTC() }
