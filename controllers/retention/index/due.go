// SPDX-License-Identifier: Apache-2.0

package index

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// Next returns when the first subject is due, and its namespace; ok is false if no subject becomes due without a change.
func (x *Index) Next() (due time.Time, namespace string, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.schedule) == 0 {
		return time.Time{}, "", false
	}
	return x.schedule[0].dueTime(), x.schedule[0].Subject().Namespace, true
}

const (
	// Ahead is how long before its due time a subject is handed over if its deletion must be recorded first.
	Ahead = time.Second
	// AheadArchived is the same if a rule archives: the archive needs a read of the subject, and a segment, after the ledger.
	AheadArchived = 2 * time.Second
)

// MarkAgain is after how long TakeDue hands over a subject again that needs a mark, if it still has none.
const MarkAgain = time.Hour

// takeAtMost limits how long TakeDue locks the index.
const takeAtMost = 512

// TakeDue hands over the subjects that are due or need a mark, in the order of their due times. It hands over a limited
// number at a time, and removes them from the schedule. The caller evaluates each one and, if it is not deleted, returns it
// with Reconsider. A subject whose deletion must be recorded first is handed over twice: once Ahead of its due time, and
// once at that time. If it waits, it stays on the schedule.
func (x *Index) TakeDue(now time.Time, take func(policy.Subject, policy.RuleID)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for range takeAtMost {
		if len(x.schedule) == 0 || x.schedule[0].dueTime().After(now) {
			return
		}
		row := heap.Pop(&x.schedule).(*FactRow)
		row.setDue(time.Time{})
		if row.is(isGone) {
			continue
		}
		subject, evaluations := row.effectiveSubject(), x.evaluationsOf(row)
		verdict, _ := policy.Decide(subject, evaluations, now)
		switch {
		case verdict.Action == policy.Delete:
			take(row.Subject(), verdict.Rule)
		case policy.NeedsEligibleSincePatch(subject, evaluations, now):
			take(row.Subject(), verdict.Rule)
			again := now.Add(MarkAgain) // in case it is not marked by then: an admission webhook may remove the mark
			if verdict.Action == policy.Wait {
				again = policy.Soonest(again, verdict.Due)
			}
			row.setDue(again)
			x.reschedule(row)
		default:
			if verdict.Action == policy.Wait && !row.is(isHandedOver) && row.expected(subject, evaluations, now).Rule != nil {
				take(row.Subject(), verdict.Rule)
				row.set(isHandedOver, true)
			}
			x.setNextDue(row, now)
			x.reschedule(row)
		}
	}
}

// Subject returns the version of a subject that is known.
func (x *Index) Subject(uid types.UID) (s policy.Subject, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows.get(uid); row != nil {
		return row.Subject(), true
	}
	return policy.Subject{}, false
}

// Decision is what to do with one version of a subject now.
type Decision struct {
	Verdict policy.Verdict
	Permit  policy.DeletePermit       // permits to delete it; not valid unless the verdict is Delete
	Policy  *policy.Policy            // the policy of the rule that decided, as it was in force; nil if the permit is not valid
	Marking policy.EligibleSincePatch // the mark to write otherwise; not valid if the subject has the right mark

	// Expected is the deletion that is expected within the time Ahead, if it must be recorded first; otherwise its Rule is
	// nil.
	Expected policy.Intent
}

// Rules returns the rules that the action of a decision depends on; none without an action.
func (j Decision) Rules() []*policy.Rule {
	if j.Permit.Valid() {
		return []*policy.Rule{j.Permit.Rule()}
	}
	return j.Marking.Rules()
}

// Peek returns the decision about a subject now. It is provisional: only Claim permits a deletion. ok is false if the subject
// is unknown, or if this version was deleted.
func (x *Index) Peek(uid types.UID, now time.Time) (j Decision, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows.get(uid)
	if row == nil || row.is(isGone) {
		return j, false
	}
	return x.decide(row, now), true
}

// PeekAt is Peek for exactly the version of a target. ok is false if the index has another version or none, or is not
// complete.
func (x *Index) PeekAt(t policy.Target, now time.Time) (v policy.Verdict, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows.get(t.UID)
	if row == nil || row.is(isGone) || row.version() != t.ResourceVersion || !x.synced {
		return v, false
	}
	return x.decide(row, now).Verdict, true
}

func (x *Index) decide(row *FactRow, now time.Time) (j Decision) {
	subject, evaluations := row.effectiveSubject(), x.evaluationsOf(row)
	j.Verdict, j.Permit = policy.Decide(subject, evaluations, now)
	if j.Permit.Valid() {
		j.Policy = x.snapshot.Policy(j.Permit.Rule().ID.Policy)
	} else {
		j.Marking = policy.EligibleSincePatchOf(subject, evaluations, now)
	}
	j.Expected = row.expected(subject, evaluations, now)
	return j
}

// Claim is Peek for a caller that acts on the decision. A subject that is to be deleted no longer counts among those that
// stay, until Reconsider or Release.
func (x *Index) Claim(uid types.UID, now time.Time) (j Decision, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows.get(uid)
	if row == nil || row.is(isGone) {
		return j, false
	}
	if j = x.decide(row, now); j.Permit.Valid() {
		row.set(isLeaving, true)
		x.delist(row, now)
		x.change(row.partition.namespace)
	}
	return j, true
}

// Release makes a claimed subject that was not deleted count again among those that stay.
func (x *Index) Release(uid types.UID, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows.get(uid); row != nil {
		x.release(row, now)
	}
}

func (x *Index) release(row *FactRow, now time.Time) {
	if row.is(isLeaving) {
		row.set(isLeaving, false)
		x.enlist(row, now)
		x.change(row.partition.namespace)
	}
}

// Reconsider returns a subject that was handed over to the schedule, if it still has a due time.
func (x *Index) Reconsider(uid types.UID, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if row := x.rows.get(uid); row != nil {
		x.release(row, now)
		x.replan(row, now)
	}
}

// MarkGone records that this version was deleted, by a DELETE or before it (404): the subject is not evaluated again unless a newer version
// arrives. If a newer version has arrived already, that one counts again.
func (x *Index) MarkGone(s policy.Subject, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows.get(s.UID)
	switch {
	case row == nil:
	case row.version() != s.ResourceVersion:
		x.release(row, now)
	default:
		row.set(isGone, true)
		row.set(isLeaving, false)
		row.setDue(time.Time{})
		x.unschedule(row)
		x.delist(row, now)
		x.change(row.partition.namespace)
	}
}

// Undelete reverts MarkGone for a subject that the watch still shows. It reports whether the subject is known.
func (x *Index) Undelete(uid types.UID, now time.Time) (known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows.get(uid)
	if row == nil {
		return false
	}
	if row.is(isGone) {
		row.set(isGone, false)
		x.enlist(row, now)
		x.change(row.partition.namespace)
	}
	return true
}
