package index

import (
	"fmt"
	"slices"
	"unsafe"
)

// Consistent says what is wrong with the order and the places of the schedule.
func (x *Index) Consistent() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, row := range x.schedule {
		switch {
		case int(row.slot) != i+1:
			return fmt.Errorf("%s is at %d and thinks it is at %d", row.uid(), i+1, row.slot)
		case x.rows[row.uid()] != row:
			return fmt.Errorf("%s is scheduled and not known", row.uid())
		case row.gone || !row.isScheduled():
			return fmt.Errorf("%s is scheduled and never due", row.uid())
		case i > 0 && x.schedule.Less(i, (i-1)/2):
			return fmt.Errorf("%s comes after one that is due later", row.uid())
		}
	}
	rows := map[*space]int{}
	for uid, row := range x.rows {
		if rows[row.space]++; x.space(row.space.place) != row.space {
			return fmt.Errorf("%s is in a place that is not known", uid)
		}
		if row.slot > 0 && !slices.Contains(x.schedule, row) {
			return fmt.Errorf("%s thinks it is scheduled", uid)
		}
	}
	for s := range x.eachSpace {
		if s.rows != rows[s] {
			return fmt.Errorf("%s has %d rows and thinks it has %d", s.namespace, rows[s], s.rows)
		}
	}
	return x.rankedConsistently()
}

// rankedConsistently says whether somebody is ranked who should not be, or is not who should.
func (x *Index) rankedConsistently() error {
	members := map[*ranks]int{}
	for _, row := range x.rows {
		for i, r := range row.space.page.ranks {
			if m, ok := row.member(i); ok && !m.Unknown && r != nil {
				members[r]++
			}
		}
	}
	for id, r := range x.ranks {
		if r.set.Len() != members[r] {
			return fmt.Errorf("%s ranks %d members of %d", id, r.set.Len(), members[r])
		}
	}
	return nil
}

// TakeAtMost is how much one TakeDue hands over.
const TakeAtMost = takeAtMost

// Spaces is of how many places the index remembers the rules.
func (x *Index) Spaces() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for range x.eachSpace {
		n++
	}
	return n
}

// RowSize is how many bytes a Row has without its text and facts.
const RowSize = unsafe.Sizeof(FactRow{})

// Departures is how many names of deleted objects are remembered.
func (x *Index) Departures() int { return len(x.returns.young) + len(x.returns.old) }
