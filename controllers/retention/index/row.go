// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// FactRow is one subject with the facts about it, packed, because there is one for each object in the cluster. Create it
// with NewFactRow. Once a row is passed to the index, only the index may use it.
type FactRow struct {
	partition *partition // its namespace; shared with the other rows there
	text      string     // name, UID and resourceVersion
	first     fact       // of the first column with facts that say something; most rows have no other facts
	more      *more      // nil for most rows
	created   microseconds
	due       microseconds // when to evaluate again; zero if only a change can make it due

	slot     int32  // 1 + index in the schedule; 0 if it is not scheduled
	place    int32  // index in the rows of the partition
	uidEnds  uint16 // end of the UID in text
	nameEnds uint16
	flags    policy.Flags
	streak   uint8 // how often in a row an object of its name was re-created; see returns
	state    state
}

// more has what few rows have.
type more struct {
	facts  []fact // of further columns, in their order, without facts that say nothing
	ownTTL time.Duration
}

// facts yields the facts that say something, in the order of their columns.
func (r *FactRow) facts(yield func(*fact) bool) {
	if !r.first.saysNothing() && !yield(&r.first) {
		return
	}
	further := r.moreFacts()
	for i := range further {
		if !yield(&further[i]) {
			return
		}
	}
}

func (r *FactRow) moreFacts() []fact {
	if r.more == nil {
		return nil
	}
	return r.more.facts
}

// withMore returns what few rows have, to set it.
func (r *FactRow) withMore() *more {
	if r.more == nil {
		r.more = &more{}
	}
	return r.more
}

func (r *FactRow) ownTTL() time.Duration {
	if r.more == nil {
		return 0
	}
	return r.more.ownTTL
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
		text:      s.Name + string(s.UID) + s.ResourceVersion,
		nameEnds:  uint16(len(s.Name)),
		uidEnds:   uint16(len(s.Name) + len(s.UID)),
		flags:     s.Flags,
	}
	r.created = packMicroseconds(s.Created)
	if s.OwnTTL != 0 {
		r.withMore().ownTTL = s.OwnTTL
	}
	for column, f := range facts {
		switch packed := packFacts(column, &f); {
		case packed.saysNothing():
		case r.first.saysNothing():
			r.first = packed
		default:
			r.withMore().facts = append(r.withMore().facts, packed)
		}
	}
	if further := r.moreFacts(); len(further) < cap(further) {
		r.more.facts = slices.Clone(further)
	}
	return r
}

// EvaluateAgain sets whether the facts with an error should be requested again, because a rule was not evaluated when the row
// was read.
func (r *FactRow) EvaluateAgain(again bool) *FactRow {
	for f := range r.facts {
		if f.note != nil && f.note.err != nil {
			f.note.stale = again
		}
	}
	return r
}

// IsStale reports whether some of the facts should be requested again; see EvaluateAgain.
func (r *FactRow) IsStale() bool {
	for f := range r.facts {
		if f.note != nil && f.note.stale {
			return true
		}
	}
	return false
}

// Subject returns the version of the subject that the row describes.
func (r *FactRow) Subject() policy.Subject {
	s := policy.Subject{
		Namespace: r.partition.namespace, Name: r.text[:r.nameEnds], UID: r.uid(), ResourceVersion: r.version(),
		Created: r.created.time(), Flags: r.flags, OwnTTL: r.ownTTL(),
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
	for f := range r.facts {
		facts[f.column()] = f.unpack()
	}
	return facts
}

// fact returns the facts of a column.
func (r *FactRow) fact(column int) *fact {
	if r.first.column() == column {
		return &r.first
	}
	further := r.moreFacts()
	i, found := slices.BinarySearchFunc(further, column, func(f fact, column int) int { return cmp.Compare(f.column(), column) })
	if !found {
		return &fact{}
	}
	return &further[i]
}

func (r *FactRow) setDue(t time.Time) { r.due = packMicroseconds(t) }
func (r *FactRow) dueTime() time.Time { return r.due.time() }
func (r *FactRow) isScheduled() bool  { return r.due != 0 }

// microseconds counts from the zero time, rounded up: no subject is older than it was, or evaluated before it is due.
type microseconds int64

func packMicroseconds(t time.Time) microseconds {
	return microseconds((t.Unix()-zero)*1e6 + int64(t.Nanosecond()+999)/1e3)
}

func (m microseconds) time() time.Time { return time.Unix(int64(m/1e6)+zero, int64(m%1e6)*1e3).UTC() }
