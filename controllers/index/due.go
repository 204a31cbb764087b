package index

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// Next is when the soonest subject is due; ok is false when none will be without a change.
func (x *Index) Next() (due time.Time, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.schedule) == 0 {
		return time.Time{}, false
	}
	return x.schedule[0].dueTime(), true
}

// takeAtMost bounds how long TakeDue holds the index.
const takeAtMost = 512

// TakeDue hands over what is due, the soonest first and not necessarily all, and forgets when it was: the taker judges
// each and, if it is not removed, gives it back with Reconsider.
func (x *Index) TakeDue(now time.Time, take func(policy.Subject, policy.RuleID)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for range takeAtMost {
		if len(x.schedule) == 0 || x.schedule[0].dueTime().After(now) {
			return
		}
		row := heap.Pop(&x.schedule).(*Row)
		row.setDue(time.Time{})
		verdict, _ := x.judge(row, now)
		switch {
		case row.gone:
		case verdict.Action == policy.Delete:
			take(row.Subject(), verdict.Rule)
		case verdict.Action == policy.Wait:
			row.setDue(verdict.Due)
			x.reschedule(row)
		}
	}
}

// Subject gives the version of a subject that is known.
func (x *Index) Subject(uid types.UID) (s policy.Subject, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows[uid]; row != nil {
		return row.Subject(), true
	}
	return policy.Subject{}, false
}

// Judge says what happens to a subject now. ok is false when it is not known, or when this version was removed.
func (x *Index) Judge(uid types.UID, now time.Time) (verdict policy.Verdict, warrant policy.Warrant, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows[uid]
	if row == nil || row.gone {
		return policy.Verdict{}, policy.Warrant{}, false
	}
	verdict, warrant = x.judge(row, now)
	return verdict, warrant, true
}

// Reconsider puts a subject that was taken back on the schedule, should it still have a due time.
func (x *Index) Reconsider(uid types.UID, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows[uid]; row != nil {
		x.unschedule(row)
		x.judgeForLater(row, now)
		x.reschedule(row)
	}
}

// MarkGone records that a DELETE of this version succeeded: it is not judged again unless a newer version turns up.
func (x *Index) MarkGone(s policy.Subject) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows[s.UID]; row != nil && row.version() == s.ResourceVersion {
		row.gone = true
		row.setDue(time.Time{})
		x.unschedule(row)
		x.version++
	}
}
