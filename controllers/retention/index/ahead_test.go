// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestAheadNeedsACountedRuleThatDecides(t *testing.T) {
	tests := map[string]struct {
		counts, other *policy.Rule
		ahead         bool
	}{
		"the counted rule decides":                        {fixture.Rule("a", fixture.Counted), fixture.Rule("b", fixture.TTL(time.Minute)), true},
		"another rule decides":                            {fixture.Rule("a", fixture.Counted, fixture.TTL(time.Minute)), fixture.Rule("b"), false},
		"the counted rule is a dry run":                   {fixture.Rule("a", fixture.Counted, fixture.Mode(v1alpha1.DryRun)), fixture.Rule("b"), false},
		"the counted rule is a dry run with a longer TTL": {fixture.Rule("a", fixture.Counted, fixture.Mode(v1alpha1.DryRun), fixture.TTL(2*time.Hour)), fixture.Rule("b"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, []*policy.Rule{test.counts, test.other}, row("x", now, under("a b")))
			due := now.Add(time.Hour)
			early := due.Add(-index.Ahead / 2)
			var want []string
			if test.ahead {
				want = []string{"x"}
			}
			expectTaken(t, "ahead", w.taken(early), want...)
			for range 3 {
				w.Reconsider("x", early)
				expectTaken(t, "again", w.taken(early))
				if at, _, ok := w.Next(); !ok || !at.Equal(due) {
					t.Fatalf("next evaluation at %s", at)
				}
			}
			expectTaken(t, "when it is due", w.taken(due), "x")
		})
	}
}

func TestAheadTakesSubjectsAtOnceAndOnlyOnce(t *testing.T) {
	due := now.Add(time.Hour)
	early := due.Add(-index.Ahead / 2)
	tests := map[string]func(w *harness){
		"it is new":                  func(w *harness) { w.Apply(w.listing.ID, row("x", now), early) },
		"it was edited":              func(w *harness) { w.Apply(w.listing.ID, row("x", now, at("2")), early) },
		"its TTL was shortened":      func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.Counted)), early) },
		"its time ahead was reached": func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.Counted)), now) },
		"time passed after that": func(w *harness) {
			w.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.Counted)), now)
			w.Reconsider("x", early)
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, []*policy.Rule{fixture.Rule("a", fixture.Counted, fixture.TTL(2*time.Hour))})
			if name != "it is new" {
				w.Apply(w.listing.ID, row("x", now), now)
			}
			if name == "it is new" || name == "it was edited" {
				w.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.Counted)), now)
			}
			if name == "it was edited" {
				expectTaken(t, "before", w.taken(early), "x")
			}
			change(w)
			expectTaken(t, "at once", w.taken(early), "x")
			w.Reconsider("x", early)
			expectTaken(t, "again", w.taken(early))
			expectTaken(t, "when it is due", w.taken(due), "x")
		})
	}
}

// TestClockThatIsSetBackLosesNothing: Reconsider schedules a subject again that was handed over, ahead of its due time or
// at it.
func TestClockThatIsSetBackLosesNothing(t *testing.T) {
	due := now.Add(time.Hour)
	for name, back := range map[string]time.Duration{"a little": index.Ahead / 2, "a lot": 30 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, []*policy.Rule{fixture.Rule("a", fixture.Counted)}, row("x", now))
			expectTaken(t, "when it is due", w.taken(due), "x")
			for range 3 {
				w.Reconsider("x", due.Add(-back))
				w.taken(due.Add(-back))
			}
			if at, _, ok := w.Next(); !ok || at.After(due) || at.Before(due.Add(-index.Ahead)) {
				t.Fatalf("next evaluation at %s", at)
			}
			w.taken(due.Add(-index.Ahead))
			expectTaken(t, "when it is due again", w.taken(due), "x")
		})
	}
}
