package policy

import "time"

// UncountedPods counts the Pods that would be gone, were it not that their Jobs have not counted them yet. All numbers come
// back to zero by themselves, unless the Job controller stands still or has lost a Pod. Each Pod is in one of them.
type UncountedPods struct {
	Due         int64 // by the rules in force, for less than Overdue
	Overdue     int64 // by the rules in force, for Overdue or longer
	Terminating int64 // somebody has deleted it
}

// Overdue is how long after it was due an uncounted Pod is worth a look: the Job controller counts within seconds.
const Overdue = time.Minute

// addLingering counts a subject about which the rules in force have these voices.
func (t *Stats) addLingering(s Subject, all votes) {
	if !s.Flags.Has(IsUncounted) {
		return
	}
	verdict, _ := all.unflagged(t.now)
	switch due := verdict.Due; {
	case verdict.Reason == NotSelected:
	case s.Flags.Has(IsTerminating):
		t.Lingering.Terminating++
	case due.IsZero():
	case t.now.Before(due):
		t.changesAt(due)
	case t.now.Before(due.Add(Overdue)):
		t.Lingering.Due++
		t.changesAt(due.Add(Overdue))
	default:
		t.Lingering.Overdue++
	}
}

// changesAt notes that the counts change at a time without any subject changing.
func (t *Stats) changesAt(at time.Time) {
	if t.next.IsZero() || at.Before(t.next) {
		t.next = at
	}
}
