package index

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// Next is when the soonest subject is due, and its namespace; ok is false when none will be without a change.
func (x *Index) Next() (due time.Time, namespace string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.schedule) == 0 {
		return time.Time{}, "", false
	}
	return x.schedule[0].dueTime(), x.schedule[0].Subject().Namespace, true
}

// Ahead is how long before it is due a subject is handed over whose deletion is to be written down first.
const Ahead = time.Second

// takeAtMost bounds how long TakeDue holds the index.
const takeAtMost = 512

// TakeDue hands over what is due or is to be marked, the soonest first and not necessarily all, and forgets when it was:
// the taker judges each and, if it is not removed, gives it back with Reconsider. What is to be written down before it goes
// is handed over twice: once Ahead of its time, and then. What waits stays on the schedule.
func (x *Index) TakeDue(now time.Time, take func(policy.Subject, policy.RuleID)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for range takeAtMost {
		if len(x.schedule) == 0 || x.schedule[0].dueTime().After(now) {
			return
		}
		row := heap.Pop(&x.schedule).(*FactRow)
		row.setDue(time.Time{})
		if row.gone {
			continue
		}
		subject, evaluations := row.seen(), x.rule(row)
		verdict, _ := policy.Decide(subject, evaluations, now)
		switch {
		case verdict.Action == policy.Delete:
			take(row.Subject(), verdict.Rule)
		case policy.NeedsEligibleSincePatch(subject, evaluations):
			take(row.Subject(), verdict.Rule)
			if verdict.Action == policy.Wait { // should it not be marked by then
				row.setDue(verdict.Due)
				x.reschedule(row)
			}
		case verdict.Action == policy.Wait:
			if !row.told && row.expected(subject, evaluations, now).Rule != nil {
				take(row.Subject(), verdict.Rule)
				row.told = true
			}
			x.judgeForLater(row, now)
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

// Judgement is what is to be done with one version of a subject now.
type Decision struct {
	Verdict policy.Verdict
	Permit  policy.DeletePermit       // to delete it; not valid unless the verdict says so
	Marking policy.EligibleSincePatch // what to write on it otherwise; not valid when it is marked as it should be

	// Expected is what is going to be deleted within the time Ahead, where that is to be written down first; its Rule is
	// nil otherwise.
	Expected policy.Intent
}

// Rules are those on whose word something is done; none when nothing is.
func (j Decision) Rules() []*policy.Rule {
	if j.Permit.Valid() {
		return []*policy.Rule{j.Permit.Rule()}
	}
	return j.Marking.Rules()
}

// Peek says what happens to a subject now, for nobody to act on. ok is false when it is not known, or when this version
// was removed.
func (x *Index) Peek(uid types.UID, now time.Time) (j Decision, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows[uid]
	if row == nil || row.gone {
		return j, false
	}
	return x.judge(row, now), true
}

// PeekAt is Look at exactly the version of a target. ok is false when another one is known, or none, or not all.
func (x *Index) PeekAt(t policy.Target, now time.Time) (v policy.Verdict, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows[t.UID]
	if row == nil || row.gone || row.version() != t.ResourceVersion || !x.synced {
		return v, false
	}
	return x.judge(row, now).Verdict, true
}

func (x *Index) judge(row *FactRow, now time.Time) (j Decision) {
	subject, evaluations := row.seen(), x.rule(row)
	j.Verdict, j.Permit = policy.Decide(subject, evaluations, now)
	if !j.Permit.Valid() {
		j.Marking = policy.EligibleSincePatchOf(subject, evaluations, now)
	}
	j.Expected = row.expected(subject, evaluations, now)
	return j
}

// Claim is Look for who acts on it: a subject that is to be deleted takes no place any more among those that stay, until
// Reconsider or Return.
func (x *Index) Claim(uid types.UID, now time.Time) (j Decision, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows[uid]
	if row == nil || row.gone {
		return j, false
	}
	if j = x.judge(row, now); j.Permit.Valid() {
		row.leaving = true
		x.delist(row, now)
	}
	return j, true
}

// Release gives a subject its place back that was to be deleted, and was not.
func (x *Index) Release(uid types.UID, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows[uid]; row != nil {
		x.giveBack(row, now)
	}
}

func (x *Index) giveBack(row *FactRow, now time.Time) {
	if row.leaving {
		row.leaving = false
		x.enlist(row, now)
	}
}

// Reconsider puts a subject that was taken back on the schedule, should it still have a due time.
func (x *Index) Reconsider(uid types.UID, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows[uid]; row != nil {
		x.giveBack(row, now)
		x.unschedule(row)
		x.judgeForLater(row, now)
		x.reschedule(row)
	}
}

// MarkGone records that a DELETE of this version succeeded: it is not judged again unless a newer version turns up. One
// that has turned up already takes its place.
func (x *Index) MarkGone(s policy.Subject, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows[s.UID]
	switch {
	case row == nil:
	case row.version() != s.ResourceVersion:
		x.giveBack(row, now)
	default:
		row.gone, row.leaving = true, false
		row.setDue(time.Time{})
		x.unschedule(row)
		x.delist(row, now)
		x.version++
	}
}

// Undelete takes back that a subject is gone which the watch still shows. It reports whether the subject is known.
func (x *Index) Undelete(uid types.UID, now time.Time) (known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows[uid]
	if row == nil {
		return false
	}
	if row.gone {
		row.gone = false
		x.enlist(row, now)
		x.version++
	}
	return true
}
