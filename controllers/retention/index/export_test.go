// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"slices"
	"unsafe"
)

// Consistent returns an error if the schedule or the partitions are inconsistent.
func (x *Index) Consistent() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, row := range x.schedule {
		switch {
		case int(row.slot) != i+1:
			return fmt.Errorf("%s is at index %d of the schedule and has slot %d", row.uid(), i+1, row.slot)
		case x.rows.get(row.uid()) != row:
			return fmt.Errorf("%s is scheduled and has no row", row.uid())
		case row.is(isGone) || !row.isScheduled():
			return fmt.Errorf("%s is scheduled without a due time", row.uid())
		case i > 0 && x.schedule.Less(i, (i-1)/2):
			return fmt.Errorf("%s comes after a row with a later due time", row.uid())
		}
	}
	rows := map[*partition]int{}
	for row := range x.rows.all {
		if rows[row.partition]++; x.partition(row.partition.partitionKey) != row.partition {
			return fmt.Errorf("%s is in an unknown partition", row.uid())
		}
		if row.slot > 0 && !slices.Contains(x.schedule, row) {
			return fmt.Errorf("%s has a slot and is not scheduled", row.uid())
		}
	}
	for s := range x.eachPartition {
		if len(s.rows) != rows[s] {
			return fmt.Errorf("%s has %d rows, and its partition %d", s.namespace, rows[s], len(s.rows))
		}
		for i, row := range s.rows {
			if x.rows.get(row.uid()) != row || int(row.place) != i {
				return fmt.Errorf("%s has place %d, and is at %d", row.uid(), row.place, i)
			}
		}
	}
	return x.rankedConsistently()
}

// rankedConsistently returns an error if a ranking has too many or too few members.
func (x *Index) rankedConsistently() error {
	members := map[*ranks]int{}
	for row := range x.rows.all {
		for i, r := range row.partition.rules.ranks {
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

// TakeAtMost is how many subjects one TakeDue hands over.
const TakeAtMost = takeAtMost

// Partitions returns the number of partitions in memory.
func (x *Index) Partitions() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for range x.eachPartition {
		n++
	}
	return n
}

// RowSize is the size of a FactRow in bytes, without its text and the facts of further columns.
const RowSize = unsafe.Sizeof(FactRow{})

// NoteSize is the size of a note in bytes.
const NoteSize = unsafe.Sizeof(note{})

// Departures returns the number of names of deleted objects in memory.
func (x *Index) Departures() int { return len(x.returns.young) + len(x.returns.old) }
