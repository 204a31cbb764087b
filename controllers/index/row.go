package index

import (
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// Row is one subject with the facts about it. Facts has one entry for each column of the listing the row belongs to.
// A Row is handed over to the index: nobody changes it afterwards.
type Row struct {
	policy.Subject
	Facts []policy.Facts

	due  time.Time // when to look again; zero when nothing but a change can make it due
	slot int32     // 1 + place in the schedule; 0 when it is not there
	gone bool      // a DELETE of this version succeeded; only a newer version counts
}

// schedule is a heap of rows, the soonest due first. It implements heap.Interface.
type schedule []*Row

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].due.Before(s[j].due) }
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].slot, s[j].slot = int32(i+1), int32(j+1)
}

func (s *schedule) Push(x any) {
	row := x.(*Row)
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
