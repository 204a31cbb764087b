// SPDX-License-Identifier: Apache-2.0

package index

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"
)

// rowSet has rows by UID. It is a hash table with linear probing, without keys, because a row has its UID. A map would need up to three
// times the memory. Create it with newRowSet.
type rowSet struct {
	seed   maphash.Seed
	slots  []*FactRow // at most three quarters of them are used
	hashes []uint32   // of the UIDs of the rows in the slots
	count  int
}

// newRowSet makes a set with room for n rows.
func newRowSet(n int) *rowSet {
	s := &rowSet{seed: maphash.MakeSeed()}
	s.resize(n + n/2 + 8)
	return s
}

func (s *rowSet) resize(slots int) {
	s.slots, s.hashes = make([]*FactRow, slots), make([]uint32, slots)
}

func (s *rowSet) hash(uid types.UID) uint32 { return uint32(maphash.String(s.seed, string(uid))) }

// home returns the slot where a row is if no other row has taken it.
func (s *rowSet) home(hash uint32) int { return int(uint64(hash) * uint64(len(s.slots)) >> 32) }

func (s *rowSet) after(slot int) int {
	if slot++; slot < len(s.slots) {
		return slot
	}
	return 0
}

// find returns the slot of a row, or the free slot where it belongs.
func (s *rowSet) find(uid types.UID, hash uint32) int {
	slot := s.home(hash)
	for s.slots[slot] != nil && (s.hashes[slot] != hash || s.slots[slot].uid() != uid) {
		slot = s.after(slot)
	}
	return slot
}

// get returns the row with a UID; nil if there is none.
func (s *rowSet) get(uid types.UID) *FactRow { return s.slots[s.find(uid, s.hash(uid))] }

// put adds a row, or replaces the one with its UID.
func (s *rowSet) put(row *FactRow) {
	hash := s.hash(row.uid())
	slot := s.find(row.uid(), hash)
	if s.slots[slot] == nil {
		if s.count++; 4*s.count > 3*len(s.slots) {
			s.grow()
			slot = s.find(row.uid(), hash)
		}
	}
	s.slots[slot], s.hashes[slot] = row, hash
}

func (s *rowSet) grow() {
	slots, hashes := s.slots, s.hashes
	s.resize(2 * s.count)
	for i, row := range slots {
		if row == nil {
			continue
		}
		slot := s.home(hashes[i])
		for s.slots[slot] != nil {
			slot = s.after(slot)
		}
		s.slots[slot], s.hashes[slot] = row, hashes[i]
	}
}

// remove removes the row with a UID, if there is one. The rows behind it move up, because a search ends at a free slot.
func (s *rowSet) remove(uid types.UID) {
	free := s.find(uid, s.hash(uid))
	if s.slots[free] == nil {
		return
	}
	s.count--
	for slot := s.after(free); s.slots[slot] != nil; slot = s.after(slot) {
		if s.distance(s.home(s.hashes[slot]), slot) >= s.distance(free, slot) {
			s.slots[free], s.hashes[free], free = s.slots[slot], s.hashes[slot], slot
		}
	}
	s.slots[free] = nil
}

// distance returns how many slots after another one a slot is.
func (s *rowSet) distance(from, to int) int {
	if to < from {
		to += len(s.slots)
	}
	return to - from
}

// all yields the rows in the order of the hashes of their UIDs. Do not change the set during the iteration.
func (s *rowSet) all(yield func(*FactRow) bool) {
	for _, row := range s.slots {
		if row != nil && !yield(row) {
			return
		}
	}
}
