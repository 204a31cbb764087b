package index

import (
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Listing is a source of rows. Its ID is never 0 and never used again.
type Listing struct {
	ID      uint64
	Kind    schema.GroupVersionKind // at which version the subjects were read
	Layout  *Columns                // of the rows
	Layouts map[string]*Columns     // of the rows in namespaces that have rules of their own; never changed
}

var noColumns = &Columns{}

// layoutIn is that of the rows in a namespace.
func (l *Listing) layoutIn(namespace string) *Columns {
	if own := l.Layouts[namespace]; own != nil {
		return own
	}
	if l.Layout == nil {
		return noColumns
	}
	return l.Layout
}

// Replace puts a complete listing in place of everything known. From then on only changes of that listing count.
func (x *Index) Replace(from Listing, rows []*FactRow, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known, gap := x.rows, !x.synced
	x.listing, x.version = from, x.version+1
	x.rows = make(map[types.UID]*FactRow, len(rows))
	x.spaces = map[string][]*space{}
	for _, row := range rows {
		if twin := x.rows[row.uid()]; twin != nil {
			x.drop(twin) // listed twice: pages of a list may overlap
		}
		x.join(row)
		old := known[row.uid()]
		if old == nil {
			x.arrive(row, now)
		}
		row.succeed(old, gap, now)
		x.rows[row.uid()] = row
	}
	for uid, row := range known {
		if (row.leaving || row.gone) && x.rows[uid] == nil {
			x.depart(row, now)
		}
	}
	x.synced = true
	x.rankAll()
	for _, row := range x.rows {
		x.judgeForLater(row, now)
	}
	x.rebuild(time.Time{})
}

// Apply takes in a subject that was added or has changed, from the listing of that ID.
func (x *Index) Apply(from uint64, row *FactRow, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID == from && !x.isLate(row) {
		x.apply(row, now)
	}
}

// isLate reports whether a row is of a version that is known, observed for other rules than its namespace has now and the
// known row was.
func (x *Index) isLate(row *FactRow) bool {
	return row.space.layout != x.listing.layoutIn(row.space.namespace) && x.compare(row) == 0 &&
		row.space.layout != x.rows[row.uid()].space.layout
}

// Refresh takes in a subject that was read past the watch, if it is newer than what the watch has brought.
func (x *Index) Refresh(from uint64, row *FactRow, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID == from && x.compare(row) > 0 {
		x.apply(row, now)
	}
}

// ReplaceNamespace takes in the subjects of a namespace, listed again because it has other rules of its own: from then on its rows
// have the layout that the listing says. What the watch has brought since the list stays.
func (x *Index) ReplaceNamespace(from Listing, rows []*FactRow, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID != from.ID {
		return
	}
	for _, row := range rows {
		if x.compare(row) >= 0 {
			x.apply(row, now)
		}
	}
	x.listing.Layouts = from.Layouts
	x.version++
}

// compare orders a row with the one that is known of the same subject. One that is unknown to the watch is older than
// nothing: the watch will tell.
func (x *Index) compare(row *FactRow) int {
	old := x.rows[row.uid()]
	if old == nil {
		return -1
	}
	order, err := resourceversion.CompareResourceVersion(row.version(), old.version())
	if err != nil {
		return -1
	}
	return order
}

func (x *Index) apply(row *FactRow, now time.Time) {
	old := x.rows[row.uid()]
	row.succeed(old, false, now)
	if row.saysNothingNew(old) {
		return
	}
	x.join(row)
	if old != nil {
		x.drop(old)
	} else {
		x.arrive(row, now)
	}
	x.rows[row.uid()] = row
	x.version++
	x.enlist(row, now)
	x.judgeForLater(row, now)
	x.reschedule(row)
}

// saysNothingNew reports whether a row is what is known already, nil for nothing: the rules were asked again, and answered
// as before. Whoever has taken the subject meanwhile goes on with it.
func (r *FactRow) saysNothingNew(old *FactRow) bool {
	return old != nil && old.text == r.text && old.created == r.created && old.createdNanos == r.createdNanos && old.flags == r.flags &&
		old.ownTTL == r.ownTTL && old.space.layout == r.space.layout && slices.EqualFunc(old.facts, r.facts, fact.is)
}

// is reports whether facts are the same.
func (f fact) is(o fact) bool {
	notes := reflect.DeepEqual(f.note, o.note)
	f.note, o.note = nil, nil
	return notes && f == o
}

// Forget drops a subject that is gone.
func (x *Index) Forget(from uint64, uid types.UID, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID != from {
		return
	}
	if old := x.rows[uid]; old != nil {
		x.delist(old, now)
		x.drop(old)
		x.depart(old, now)
		x.version++
	}
}

// join counts a row in its space, which it shares with others from now on.
func (x *Index) join(row *FactRow) {
	at := row.space.place
	shared := x.space(at)
	if shared == nil {
		shared = &space{place: at, page: x.page(at)}
		x.linkRanks(shared)
		x.spaces[at.namespace] = append(x.spaces[at.namespace], shared)
	}
	shared.rows++
	if row.again() {
		shared.again++
	}
	row.space = shared
}

// space is that of a place; nil for one without rows.
func (x *Index) space(at place) *space {
	for _, s := range x.spaces[at.namespace] {
		if s.layout == at.layout {
			return s
		}
	}
	return nil
}

// eachSpace visits the spaces that have rows.
func (x *Index) eachSpace(visit func(*space) bool) {
	for _, here := range x.spaces {
		for _, s := range here {
			if !visit(s) {
				return
			}
		}
	}
}

// drop removes a row, and what is known of its space with the last one.
func (x *Index) drop(row *FactRow) {
	x.unschedule(row)
	delete(x.rows, row.uid())
	if row.again() {
		row.space.again--
	}
	if row.space.rows--; row.space.rows > 0 {
		return
	}
	here := x.spaces[row.space.namespace]
	if here = slices.DeleteFunc(here, func(s *space) bool { return s == row.space }); len(here) == 0 {
		delete(x.spaces, row.space.namespace)
	} else {
		x.spaces[row.space.namespace] = here
	}
}

// Unsync records that the index may be missing something: everything is kept until the next Replace.
func (x *Index) Unsync(from uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID != from {
		return
	}
	x.synced = false
	x.version++
}
