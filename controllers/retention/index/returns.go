// SPDX-License-Identifier: Apache-2.0

package index

import (
	"hash/maphash"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// A subject is re-created if an object with its name and another UID appears within returnsWithin after the API server last
// had the object that Sunset deleted. After maxReturns times in a row the subject is kept (policy.IsRecreated).
//
// A streak ends if another client deletes the object, if the name is absent for longer, if a user edits a rule that finds
// the object eligible, and at a restart. It starts again with an object whose time to live started more than startsWithin
// after its creation: a Pod of a StatefulSet that is evicted now and then is not in a loop.
const (
	maxReturns    = 3
	returnsWithin = time.Minute
	startsWithin  = time.Hour
)

// departuresKept is how many names each half of returns remembers. If a name is forgotten, its count starts again.
const departuresKept = 8192

// returns remembers the names of the objects that Sunset deleted last, about as many as it deletes in a minute. The row of
// the object counts how often its name was re-created. The zero value remembers no names.
type returns struct {
	seed       maphash.Seed
	young, old map[uint64]departure
}

// departure is a deleted object: how many objects of its name in a row were deleted, including it, and when it last
// existed.
type departure struct {
	uid    uint64
	at     int64 // in nanoseconds since 1970
	streak uint8
}

// objectName identifies an object by its name; the UID may differ.
type objectName struct {
	kind            schema.GroupKind
	namespace, name string
}

func (r *returns) key(n objectName) uint64 {
	if r.young == nil {
		r.seed, r.young = maphash.MakeSeed(), map[uint64]departure{}
	}
	return maphash.Comparable(r.seed, n)
}

// record records that an object was deleted. Another call records that it still existed until now.
func (r *returns) record(n objectName, uid types.UID, streak uint8, now time.Time) {
	key := r.key(n)
	if len(r.young) >= departuresKept {
		r.old, r.young = r.young, map[uint64]departure{}
	}
	r.young[key] = departure{uid: maphash.Comparable(r.seed, uid), at: now.UnixNano(), streak: streak}
}

// departed returns the record of an object's deletion; false if there is none, or if it is about another object.
func (r *returns) departed(n objectName, uid types.UID) (departure, bool) {
	d, known := r.last(n)
	return d, known && d.uid == maphash.Comparable(r.seed, uid)
}

func (r *returns) last(n objectName) (departure, bool) {
	if r.young == nil {
		return departure{}, false
	}
	key := r.key(n)
	if d, ok := r.young[key]; ok {
		return d, true
	}
	d, ok := r.old[key]
	return d, ok
}

// forget ends the streak of a name.
func (r *returns) forget(n objectName) {
	if r.young != nil {
		key := r.key(n)
		delete(r.young, key)
		delete(r.old, key)
	}
}

// streak returns how often in a row objects of the name were re-created, including the new one.
func (r *returns) streak(n objectName, uid types.UID, now time.Time) uint8 {
	d, known := r.last(n)
	if !known || d.uid == maphash.Comparable(r.seed, uid) || now.Sub(time.Unix(0, d.at)) > returnsWithin {
		return 0
	}
	return d.streak
}

// setStreak sets how often the object of a new row, or the owner that would be deleted in its place, was re-created.
func (x *Index) setStreak(row *FactRow, now time.Time) {
	row.streak = x.returns.streak(x.nameOf(row), row.uid(), now)
	for f := range row.facts {
		if n := f.note; n != nil && n.owner != nil {
			row.streak = max(row.streak, x.returns.streak(ownerName(n.owner, row.partition.namespace), n.owner.UID, now))
		}
	}
}

// recordDeparture records that a row no longer exists. If a DELETE is in flight, it counts as Sunset's deletion: the watch may be
// faster than the answer.
func (x *Index) recordDeparture(row *FactRow, now time.Time) {
	name := x.nameOf(row)
	switch d, known := x.returns.departed(name, row.uid()); {
	case known:
		x.returns.record(name, row.uid(), d.streak, now)
	case row.is(isLeaving):
		x.returns.record(name, row.uid(), row.nextStreak(), now)
	default:
		x.returns.forget(name)
	}
}

// Deleted records that a DELETE from Sunset succeeded: objects that are re-created again and again under that name will be
// kept. Call it before MarkGone.
func (x *Index) Deleted(i policy.Intent, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	name := objectName{x.kind, i.Subject.Namespace, i.Subject.Name}
	d, _ := x.returns.departed(name, i.Subject.UID)
	if row := x.rows.get(i.Subject.UID); row != nil {
		d.streak = row.nextStreak()
		x.returns.record(name, i.Subject.UID, d.streak, now)
	}
	if i.Owner != nil && d.streak > 0 {
		x.returns.record(ownerName(i.Owner, i.Subject.Namespace), i.Owner.UID, d.streak, now)
	}
}

func (x *Index) nameOf(row *FactRow) objectName {
	return objectName{x.kind, row.partition.namespace, row.text[:row.nameEnds]}
}

func ownerName(o *policy.Owner, namespace string) objectName {
	return objectName{o.Kind.GroupKind(), namespace, o.Name}
}

// nextStreak returns the streak of the row's name after its deletion.
func (r *FactRow) nextStreak() uint8 {
	if !r.isPrompt() {
		return 1
	}
	return min(r.streak+1, maxReturns)
}

// isPrompt reports whether the time to live of the subject started soon after its creation, by every rule that finds it
// eligible.
func (r *FactRow) isPrompt() bool {
	for f := range r.facts {
		if f.has(selected) && f.has(eligible) && unpack(f.start, f.startNanos).Sub(r.created.time()) > startsWithin {
			return false
		}
	}
	return true
}

// isEdited reports whether a rule that finds the subject eligible was edited since then. Edits of other rules do not end
// a loop: otherwise frequent edits of any rule would keep it running.
func (r *FactRow) isEdited(before *partitionRules) bool {
	for f := range r.facts {
		if !f.has(selected) || !f.has(eligible) {
			continue
		}
		for _, i := range before.readers(f.column()) {
			was, rules := before.Rules[i], r.partition.rules.Rules
			k, found := slices.BinarySearchFunc(rules, was.ID, func(is *policy.Rule, id policy.RuleID) int { return is.ID.Compare(id) })
			if found && rules[k].EditedSince(was) {
				return true
			}
		}
	}
	return false
}
