package index

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Listing is a source of rows whose facts are all about the same rules. Its ID is never 0 and never used again.
type Listing struct {
	ID      uint64
	Kind    schema.GroupVersionKind // at which version the subjects were read
	Columns []string                // the facts keys of each Row's facts, in order
}

// Replace puts a complete listing in place of everything known. From then on only changes of that listing count.
func (x *Index) Replace(from Listing, rows []*Row, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.rows
	columns := from.Columns
	x.listing, x.version = from.ID, x.version+1
	x.reads = from.Kind
	x.columns = make(map[string]int, len(columns))
	for i, key := range columns {
		x.columns[key] = i
	}
	x.rows = make(map[types.UID]*Row, len(rows))
	x.spaces = map[string]*space{}
	for _, row := range rows {
		if twin := x.rows[row.uid()]; twin != nil {
			x.drop(twin) // listed twice: pages of a list may overlap
		}
		x.join(row)
		if old := known[row.uid()]; old != nil && old.version() == row.version() {
			row.gone = old.gone
		}
		x.rows[row.uid()] = row
	}
	x.synced = true
	for _, row := range x.rows {
		x.judgeForLater(row, now)
	}
	x.rebuild(time.Time{})
}

// Apply takes in a subject that was added or has changed.
func (x *Index) Apply(from Listing, row *Row, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing == from.ID {
		x.apply(row, now)
	}
}

// Refresh takes in a subject that was read past the watch, if it is newer than what the watch has brought.
func (x *Index) Refresh(from Listing, row *Row, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.rows[row.uid()]
	if x.listing != from.ID || old == nil {
		return
	}
	if order, err := resourceversion.CompareResourceVersion(row.version(), old.version()); err == nil && order > 0 {
		x.apply(row, now)
	}
}

func (x *Index) apply(row *Row, now time.Time) {
	x.join(row)
	if old := x.rows[row.uid()]; old != nil {
		row.gone = old.gone && old.version() == row.version()
		x.drop(old)
	}
	x.rows[row.uid()] = row
	x.version++
	x.judgeForLater(row, now)
	x.reschedule(row)
}

// Forget drops a subject that is gone.
func (x *Index) Forget(from Listing, uid types.UID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing != from.ID {
		return
	}
	if old := x.rows[uid]; old != nil {
		x.drop(old)
		x.version++
	}
}

// join counts a row in its namespace, which it shares with others from now on.
func (x *Index) join(row *Row) {
	shared := x.spaces[row.space.name]
	if shared == nil {
		shared = &space{name: row.space.name, page: x.page(row.space.name)}
		x.spaces[shared.name] = shared
	}
	shared.rows++
	row.space = shared
}

// drop removes a row, and what is known of its namespace with the last one.
func (x *Index) drop(row *Row) {
	x.unschedule(row)
	delete(x.rows, row.uid())
	if row.space.rows--; row.space.rows == 0 {
		delete(x.spaces, row.space.name)
	}
}

// Distrust records that the index may be missing something: everything is kept until the next Replace.
func (x *Index) Distrust(from Listing) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.listing != from.ID {
		return
	}
	x.synced = false
	x.version++
}
