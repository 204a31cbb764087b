// SPDX-License-Identifier: Apache-2.0

package index

// began returns when the first time to live of an eligible subject started.
func (r *FactRow) began() (start seconds, nanos int32) {
	first := true
	for f := range r.facts {
		if f.has(eligible) && (first || f.start < start || f.start == start && f.startNanos < nanos) {
			start, nanos, first = f.start, f.startNanos, false
		}
	}
	return start, nanos
}

// schedule is a heap of rows by due time. Of rows that are due at the same time, such as the opening of a window, the one whose time
// to live started first comes first. It implements heap.Interface.
type schedule []*FactRow

func (s schedule) Len() int { return len(s) }

func (s schedule) Less(i, j int) bool {
	if s[i].due != s[j].due {
		return s[i].due < s[j].due
	}
	a, aNanos := s[i].began()
	b, bNanos := s[j].began()
	return a < b || a == b && aNanos < bNanos
}

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].slot, s[j].slot = int32(i+1), int32(j+1)
}

func (s *schedule) Push(x any) {
	row := x.(*FactRow)
	*s = append(*s, row)
	row.slot = int32(len(*s))
}

func (s *schedule) Pop() any {
	old := *s
	row := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	row.slot = 0
	return row
}
