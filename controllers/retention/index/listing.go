package index

import (
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Listing describes a source of rows. Its ID is never 0 and never reused.
type Listing struct {
	ID      uint64
	Kind    schema.GroupVersionKind // the version at which the subjects were read
	Layout  *Columns                // of the rows
	Layouts map[string]*Columns     // of the rows in namespaces with rules of their own; never changed
}

var noColumns = &Columns{}

// layoutIn returns the layout of the rows in a namespace.
func (l *Listing) layoutIn(namespace string) *Columns {
	if own := l.Layouts[namespace]; own != nil {
		return own
	}
	if l.Layout == nil {
		return noColumns
	}
	return l.Layout
}

// Replace replaces the whole content by a complete listing. From then on only changes of that listing count.
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

// Apply applies a subject that was added or has changed, from the listing with that ID.
func (x *Index) Apply(from uint64, row *FactRow, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID == from && !x.isLate(row) {
		x.apply(row, now)
	}
}

// isLate reports whether the index already has this version of the subject, evaluated for other rules, and the rules of
// this row no longer apply in its namespace.
func (x *Index) isLate(row *FactRow) bool {
	return row.space.layout != x.listing.layoutIn(row.space.namespace) && x.compare(row) == 0 &&
		row.space.layout != x.rows[row.uid()].space.layout
}

// Refresh applies a subject that was read live, if it is newer than the version from the watch.
func (x *Index) Refresh(from uint64, row *FactRow, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID == from && x.compare(row) > 0 {
		x.apply(row, now)
	}
}

// ReplaceNamespace applies the subjects of a namespace that was listed again because its own rules have changed. From then
// on its rows have the layout of the listing. Newer versions from the watch stay.
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

// compare compares the version of a row with the known one of the same subject. A subject that the index does not know
// counts as older: the watch will deliver it.
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

// saysNothingNew reports whether a row equals the known one (nil for none): the rules were evaluated again with the same
// result. Then an attempt for the subject that is in progress continues.
func (r *FactRow) saysNothingNew(old *FactRow) bool {
	return old != nil && old.text == r.text && old.created == r.created && old.createdNanos == r.createdNanos && old.flags == r.flags &&
		old.ownTTL == r.ownTTL && old.space.layout == r.space.layout && slices.EqualFunc(old.facts, r.facts, fact.is)
}

// is reports whether the facts are equal.
func (f fact) is(o fact) bool {
	notes := reflect.DeepEqual(f.note, o.note)
	f.note, o.note = nil, nil
	return notes && f == o
}

// Forget removes a subject that no longer exists.
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

// join counts a row in its space, which the rows of the place share.
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

// space returns the space of a place; nil if it has no rows.
func (x *Index) space(at place) *space {
	for _, s := range x.spaces[at.namespace] {
		if s.layout == at.layout {
			return s
		}
	}
	return nil
}

// eachSpace yields the spaces that have rows.
func (x *Index) eachSpace(visit func(*space) bool) {
	for _, here := range x.spaces {
		for _, s := range here {
			if !visit(s) {
				return
			}
		}
	}
}

// drop removes a row, and its space if it was the last row there.
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

// Unsync records that the index may be incomplete: all subjects are kept until the next Replace.
func (x *Index) Unsync(from uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID != from {
		return
	}
	x.synced = false
	x.version++
}
