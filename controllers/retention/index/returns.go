package index

import (
	"hash/maphash"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// A subject has come back if an object of its name, and with another UID, is seen within returnsWithin of the moment when the
// API server no longer had the one that Sunset deleted. Where that has happened maxReturns times in a row the subject is kept
// (policy.IsRecreated). A row is broken by an object that somebody else deletes, by a longer absence, by an edit of a rule that
// finds it eligible, and by a restart, and begins again with one that came back and whose time to live started more
// than startsWithin after its creation: a Pod of a StatefulSet that is evicted now and then is in no loop.
const (
	maxReturns    = 3
	returnsWithin = time.Minute
	startsWithin  = time.Hour
)

// departuresKept is how many names each half of returns remembers. One that is forgotten begins to count again.
const departuresKept = 8192

// returns remembers which names Sunset's deletions have freed: the latest ones, about as many as go in a minute. How often a
// name has come back is in the row that has it. The zero value remembers nothing.
type returns struct {
	seed       maphash.Seed
	young, old map[uint64]departure
}

// departure is a deleted object: how often in a row one of its name has been deleted, it included, and when it was last there.
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

// left records that an object has been deleted; called again, that it existed until now.
func (r *returns) left(n objectName, uid types.UID, streak uint8, now time.Time) {
	key := r.key(n)
	if len(r.young) >= departuresKept {
		r.old, r.young = r.young, map[uint64]departure{}
	}
	r.young[key] = departure{uid: maphash.Comparable(r.seed, uid), at: now.UnixNano(), streak: streak}
}

// departed is what is known of an object's deletion; false when it is another object that was deleted, or none.
func (r *returns) departed(n objectName, uid types.UID) (departure, bool) {
	d, known := r.last(n)
	return d, known && d.uid == maphash.Comparable(r.seed, uid)
}

func (r *returns) last(n objectName) (departure, bool) {
	if len(r.young) == 0 {
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
	if len(r.young) > 0 {
		key := r.key(n)
		delete(r.young, key)
		delete(r.old, key)
	}
}

// streak is how often in a row objects of the name were re-created, the new one included.
func (r *returns) streak(n objectName, uid types.UID, now time.Time) uint8 {
	d, known := r.last(n)
	if !known || d.uid == maphash.Comparable(r.seed, uid) || now.Sub(time.Unix(0, d.at)) > returnsWithin {
		return 0
	}
	return d.streak
}

// arrive counts how often the object of a new row was re-created, or the owner that would be deleted in its place.
func (x *Index) arrive(row *FactRow, now time.Time) {
	row.streak = x.returns.streak(x.nameOf(row), row.uid(), now)
	for i := range row.facts {
		if n := row.facts[i].note; n != nil && n.owner != nil {
			row.streak = max(row.streak, x.returns.streak(ownerName(n.owner, row.space.namespace), n.owner.UID, now))
		}
	}
}

// depart notes that a row is gone. One whose DELETE is under way went by it: the watch may be faster than the answer.
func (x *Index) depart(row *FactRow, now time.Time) {
	name := x.nameOf(row)
	switch d, known := x.returns.departed(name, row.uid()); {
	case known:
		x.returns.left(name, row.uid(), d.streak, now)
	case row.leaving:
		x.returns.left(name, row.uid(), row.nextStreak(), now)
	default:
		x.returns.forget(name)
	}
}

// Deleted records that a DELETE which Sunset sent has succeeded: should objects of that name come back again and again, they
// are kept. It is called before MarkGone.
func (x *Index) Deleted(i policy.Intent, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	name := objectName{x.kind, i.Subject.Namespace, i.Subject.Name}
	d, _ := x.returns.departed(name, i.Subject.UID)
	if row := x.rows[i.Subject.UID]; row != nil {
		d.streak = row.nextStreak()
		x.returns.left(name, i.Subject.UID, d.streak, now)
	}
	if i.Owner != nil && d.streak > 0 {
		x.returns.left(ownerName(i.Owner, i.Subject.Namespace), i.Owner.UID, d.streak, now)
	}
}

func (x *Index) nameOf(row *FactRow) objectName {
	return objectName{x.kind, row.space.namespace, row.text[:row.nameEnds]}
}

func ownerName(o *policy.Owner, namespace string) objectName {
	return objectName{o.Kind.GroupKind(), namespace, o.Name}
}

// nextStreak is how often in a row an object of the row's name will have been deleted once the row is.
func (r *FactRow) nextStreak() uint8 {
	if !r.isPrompt() {
		return 1
	}
	return min(r.streak+1, maxReturns)
}

// isPrompt reports whether the time to live of the subject started soon after its creation, by every rule that finds it
// eligible.
func (r *FactRow) isPrompt() bool {
	created := unpack(r.created, r.createdNanos)
	for i := range r.facts {
		f := &r.facts[i]
		if f.selected && f.eligible && unpack(f.start, f.startNanos).Sub(created) > startsWithin {
			return false
		}
	}
	return true
}

// isEdited reports whether a rule that finds the subject eligible was edited since a page. What else changes in the namespace ends no
// loop: else whoever edits other rules all the time would keep it going.
func (r *FactRow) isEdited(before *page) bool {
	for i, was := range before.Rules {
		if c := before.columns[i]; c < 0 || !r.facts[c].selected || !r.facts[c].eligible {
			continue
		}
		for _, is := range r.space.page.Rules {
			if is.ID == was.ID && is.EditedSince(was) {
				return true
			}
		}
	}
	return false
}
