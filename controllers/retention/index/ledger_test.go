// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func withOutcome(text string) func(*draft) { return func(r *draft) { r.Facts[0].Outcome = text } }

// taken returns the UIDs that are handed over now.
func (w *harness) taken(now time.Time) (uids []string) {
	w.TakeDue(now, func(s policy.Subject, _ policy.RuleID) { uids = append(uids, string(s.UID)) })
	return uids
}

func expectTaken(t *testing.T, when string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) || len(want) == 1 && got[0] != want[0] {
		t.Errorf("handed over %s: %v, want %v", when, got, want)
	}
}

func TestTakeDueTakesLedgerSubjectsTwice(t *testing.T) {
	w := newHarness(t, []*policy.Rule{fixture.Rule("a", fixture.Counted)}, row("x", now))
	due := now.Add(time.Hour)
	if at, _, ok := w.Next(); !ok || !at.Equal(due.Add(-index.Ahead)) {
		t.Errorf("next evaluation at %s", at)
	}
	expectTaken(t, "a moment too early", w.taken(due.Add(-index.Ahead-time.Nanosecond)))
	expectTaken(t, "ahead", w.taken(due.Add(-index.Ahead)), "x")
	expectTaken(t, "between", w.taken(due.Add(-time.Nanosecond)))
	if at, _, ok := w.Next(); !ok || !at.Equal(due) {
		t.Errorf("next evaluation at %s", at)
	}
	expectTaken(t, "when it is due", w.taken(due), "x")
}

// TestTakeDueTakesArchivedSubjectsEarlier than others with a ledger: both must be written.
func TestTakeDueTakesArchivedSubjectsEarlier(t *testing.T) {
	archived := func(r *policy.Rule) { r.Archive = &policy.Archive{To: "main"} }
	w := newHarness(t, []*policy.Rule{fixture.Rule("a", fixture.Counted, archived)}, row("x", now))
	due := now.Add(time.Hour)
	expectTaken(t, "a moment too early", w.taken(due.Add(-index.AheadArchived-time.Nanosecond)))
	expectTaken(t, "ahead", w.taken(due.Add(-index.AheadArchived)), "x")
	expectTaken(t, "between", w.taken(due.Add(-index.Ahead)))
	expectTaken(t, "when it is due", w.taken(due), "x")
}

func TestTakeDueTakesSubjectsWithoutLedgerOnce(t *testing.T) {
	w := newHarness(t, []*policy.Rule{fixture.Rule("a")}, row("x", now))
	due := now.Add(time.Hour)
	expectTaken(t, "ahead", w.taken(due.Add(-index.Ahead)))
	expectTaken(t, "when it is due", w.taken(due), "x")
}

func TestTakeDueTakesLateLedgerSubjectsAtOnce(t *testing.T) {
	w := newHarness(t, []*policy.Rule{fixture.Rule("a", fixture.Counted)})
	late := now.Add(time.Hour - index.Ahead/2)
	w.Apply(w.listing.ID, row("x", now), late)
	expectTaken(t, "at once", w.taken(late), "x")
	expectTaken(t, "when it is due", w.taken(now.Add(time.Hour)), "x")
}

func TestPeekReturnsExpectedDeletion(t *testing.T) {
	due := now.Add(time.Hour)
	a := fixture.Rule("a", fixture.Counted)
	tests := map[string]struct {
		rules []*policy.Rule
		at    time.Time
		want  bool
	}{
		"just ahead":                             {[]*policy.Rule{a}, due.Add(-index.Ahead), true},
		"due":                                    {[]*policy.Rule{a}, due, true},
		"too early":                              {[]*policy.Rule{a}, due.Add(-index.Ahead - time.Nanosecond), false},
		"by a rule without a ledger":             {[]*policy.Rule{fixture.Rule("a")}, due, false},
		"another rule with a longer TTL decides": {[]*policy.Rule{a, fixture.Rule("b", fixture.TTL(3*time.Hour))}, due.Add(2 * time.Hour), false},
		"another rule decides, and has a ledger": {[]*policy.Rule{fixture.Rule("a"), fixture.Rule("b", fixture.Counted, fixture.TTL(3*time.Hour))}, due.Add(2 * time.Hour), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			names := "a"
			if len(test.rules) > 1 {
				names = "a b"
			}
			w := newHarness(t, test.rules, row("x", now, withOutcome("Failed"), under(names)))
			j, ok := w.Peek("x", test.at)
			if !ok || (j.Expected.Rule != nil) != test.want {
				t.Fatalf("known %v, expected %+v", ok, j.Expected)
			}
			if test.want && (j.Expected.Outcome != "Failed" || j.Expected.Subject.UID != "x" || !j.Expected.Rule.Ledger) {
				t.Errorf("expected %+v", j.Expected)
			}
			if test.want && j.Permit.Valid() && j.Permit.Intent() != j.Expected {
				t.Errorf("expected %+v, and %+v is permitted", j.Expected, j.Permit.Intent())
			}
		})
	}
}
