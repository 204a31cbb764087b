// SPDX-License-Identifier: Apache-2.0

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

var noColumns = NewColumns()

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
	x.listing = from
	x.changeAll()
	x.rows = newRowSet(len(rows))
	x.partitions = map[string][]*partition{}
	for _, row := range rows {
		if twin := x.rows.get(row.uid()); twin != nil {
			x.drop(twin) // listed twice: pages of a list may overlap
		}
		x.join(row)
		old := known.get(row.uid())
		if old == nil {
			x.setStreak(row, now)
		}
		row.succeed(old, gap, now)
		x.rows.put(row)
	}
	for row := range known.all {
		if (row.is(isLeaving) || row.is(isGone)) && x.rows.get(row.uid()) == nil {
			x.recordDeparture(row, now)
		}
	}
	for s := range x.eachPartition {
		s.rows = slices.Clone(s.rows) // without the room in which they have grown
	}
	x.synced = true
	x.rankAll()
	for row := range x.rows.all {
		x.setNextDue(row, now)
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
	return row.partition.layout != x.listing.layoutIn(row.partition.namespace) && x.compare(row) == 0 &&
		row.partition.layout != x.rows.get(row.uid()).partition.layout
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
	x.changeAll()
}

// compare compares the version of a row with the known one of the same subject. A subject that the index does not know
// counts as older: the watch will deliver it.
func (x *Index) compare(row *FactRow) int {
	old := x.rows.get(row.uid())
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
	old := x.rows.get(row.uid())
	row.succeed(old, false, now)
	if row.saysNothingNew(old) {
		return
	}
	x.join(row)
	if old != nil {
		x.drop(old)
	} else {
		x.setStreak(row, now)
	}
	x.rows.put(row)
	x.change(row.partition.namespace)
	x.enlist(row, now)
	x.setNextDue(row, now)
	x.reschedule(row)
}

// saysNothingNew reports whether a row equals the known one (nil for none): the rules were evaluated again with the same
// result. Then an attempt for the subject that is in progress continues.
func (r *FactRow) saysNothingNew(old *FactRow) bool {
	return old != nil && old.text == r.text && old.created == r.created && old.flags == r.flags && old.partition.layout == r.partition.layout &&
		old.first.is(r.first) && old.ownTTL() == r.ownTTL() && slices.EqualFunc(old.moreFacts(), r.moreFacts(), fact.is)
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
	if old := x.rows.get(uid); old != nil {
		x.delist(old, now)
		x.drop(old)
		x.recordDeparture(old, now)
	}
}

// join counts a row in its partition, which the rows of the key share.
func (x *Index) join(row *FactRow) {
	at := row.partition.partitionKey
	shared := x.partition(at)
	if shared == nil {
		shared = &partition{partitionKey: at, rules: x.rulesOf(x.snapshot, at)}
		x.linkRanks(shared)
		x.partitions[at.namespace] = append(x.partitions[at.namespace], shared)
	}
	shared.rows = append(shared.rows, row)
	row.place = int32(len(shared.rows) - 1)
	if row.IsStale() {
		shared.stale++
	}
	row.partition = shared
}

// has reports whether a row that joined the partition was not dropped since.
func (s *partition) has(row *FactRow) bool {
	return int(row.place) < len(s.rows) && s.rows[row.place] == row
}

// partition returns the partition of a key; nil if it has no rows.
func (x *Index) partition(at partitionKey) *partition {
	for _, s := range x.partitions[at.namespace] {
		if s.layout == at.layout {
			return s
		}
	}
	return nil
}

// eachPartition yields the partitions that have rows.
func (x *Index) eachPartition(visit func(*partition) bool) {
	for _, here := range x.partitions {
		for _, s := range here {
			if !visit(s) {
				return
			}
		}
	}
}

// drop removes a row, and its partition if it was the last row there.
func (x *Index) drop(row *FactRow) {
	x.unschedule(row)
	x.rows.remove(row.uid())
	shared := row.partition
	if row.IsStale() {
		shared.stale--
	}
	x.change(shared.namespace)
	last := len(shared.rows) - 1
	shared.rows[row.place], shared.rows[last].place = shared.rows[last], row.place
	shared.rows[last] = nil
	if shared.rows = shared.rows[:last]; last > 0 {
		return
	}
	here := x.partitions[shared.namespace]
	if here = slices.DeleteFunc(here, func(s *partition) bool { return s == shared }); len(here) == 0 {
		delete(x.partitions, shared.namespace)
		delete(x.changed, shared.namespace)
	} else {
		x.partitions[shared.namespace] = here
	}
}

// MarkIncomplete records that the index may be incomplete: all subjects are kept until the next Replace.
func (x *Index) MarkIncomplete(from uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing.ID != from {
		return
	}
	x.synced = false
	x.changeAll()
}
