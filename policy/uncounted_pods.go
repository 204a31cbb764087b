// SPDX-License-Identifier: Apache-2.0

package policy

import "time"

// UncountedPods counts the Pods that would be gone if their Jobs had counted them. Each Pod is in one of the counts. All counts
// return to zero without any action, unless the Job controller has stopped or has lost a Pod.
type UncountedPods struct {
	Due         int64 // by the rules in force, for less than Overdue
	Overdue     int64 // by the rules in force, for Overdue or longer
	Terminating int64 // deletion has been requested
}

// Overdue is the time after which an uncounted Pod that is due deserves attention: the Job controller counts within seconds.
const Overdue = time.Minute

// addUncountedPod counts a subject with these votes of the rules in force.
func (t *Stats) addUncountedPod(s Subject, all votes) {
	if !s.Flags.Has(IsUncounted) {
		return
	}
	verdict, _ := all.unflagged(t.now)
	switch due := verdict.Due; {
	case verdict.Reason == NotSelected:
	case s.Flags.Has(IsTerminating):
		t.UncountedPods.Terminating++
	case due.IsZero():
	case t.now.Before(due):
		t.next = Soonest(t.next, due)
	case t.now.Before(due.Add(Overdue)):
		t.UncountedPods.Due++
		t.next = Soonest(t.next, due.Add(Overdue))
	default:
		t.UncountedPods.Overdue++
	}
}
