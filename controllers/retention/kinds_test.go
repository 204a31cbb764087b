// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// states returns the result of Kinds, by kind.
func (w *harness) states() map[string]retention.KindState {
	states := map[string]retention.KindState{}
	for _, s := range w.Kinds() {
		states[s.Kind.Kind] = s
	}
	return states
}

func TestKindThatCannotListStopsNoOther(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("a"))
		w.use(fixture.Rule("a"), fixture.Rule("p", fixture.About(fixture.Pods)))
		trouble := &retention.SourceError{Reason: "KindNotFound", Message: "no such kind"}
		w.source(1).sink.Lost(trouble)
		w.source(0).list(row("x", w.began))
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		expect.Equal(t, "error of Pods", trouble, w.states()["Pod"].Lost)
		expect.Equal(t, "error of Jobs", nil, w.states()["Job"].Lost)
		w.source(1).list(row("pod", w.began))
		bubble.Pass(0)
		expect.Equal(t, "removed", []string{"x", "pod"}, w.removed())
		expect.Equal(t, "error of Pods after a listing", nil, w.states()["Pod"].Lost)
	})
}

func TestKindThatHangsDelaysNoOther(t *testing.T) {
	inBubble(t, retention.Options{MaxInFlight: 4}, func(t *testing.T, w *harness) {
		w.onDelete(func(p policy.DeletePermit) retention.Outcome {
			if p.Rule().Kind == fixture.Pods { // a webhook that does not answer
				time.Sleep(30 * time.Second)
				return retention.Outcome{Result: retention.Busy, RetryAfter: time.Hour, Err: errors.New("timeout")}
			}
			time.Sleep(10 * time.Millisecond)
			return retention.Outcome{Result: retention.Removed}
		})
		w.use(fixture.Rule("a"))
		w.use(fixture.Rule("a"), fixture.Rule("p", fixture.About(fixture.Pods)))
		w.source(1).list(rows("pod", 1_000, w.began.Add(-time.Hour))...)
		bubble.Pass(time.Second)
		// The other kind keeps one slot while the requests hang: a hundred a second.
		w.source(0).list(rows("job", 400, w.began.Add(-time.Hour))...)
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "removed", 400, len(w.removed()))
	})
}

func TestLostStopsAKindUntilItsNextList(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		s := w.listed(row("x", w.began))
		trouble := &retention.SourceError{Reason: "ListFailed"}
		s.sink.Lost(trouble)
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "removed", none, w.removed())
		expect.Equal(t, "error", trouble, w.states()["Job"].Lost)
		s.list(row("x", w.began))
		bubble.Pass(0)
		expect.Equal(t, "deleted after a listing", []string{"x"}, w.removed())
	})
}

func TestKindThatCannotBeDeletedSaysSo(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("a"))
		trouble := &retention.SourceError{Reason: "Forbidden"}
		w.source(0).sink.Undeletable(trouble)
		expect.Equal(t, "error", trouble, w.states()["Job"].Undeletable)
		w.source(0).sink.Undeletable(nil)
		expect.Equal(t, "error", nil, w.states()["Job"].Undeletable)
	})
}

func TestAddedRuleKeepsUntilItsListingIsComplete(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		old := w.listed(row("x", w.began), row("y", w.began.Add(time.Hour)))
		bubble.Pass(30 * time.Minute)

		w.use(fixture.Rule("a"), fixture.Rule("b"))
		expect.Equal(t, "relisting", true, w.states()["Job"].Relisting)
		added := w.source(1)
		expect.Equal(t, "rules listed for", 2, len(added.asked().Rules()))
		bubble.Pass(time.Hour)
		expect.Equal(t, "deleted without the facts of b", none, w.removed())
		if n, synced := w.states()["Job"].Index.Len(); n != 2 || !synced {
			t.Errorf("%d old facts, synced %v", n, synced)
		}
		expect.Equal(t, "old watch", nil, old.ctx.Err())
		old.sink.Forget("uid-y") // the old watch still counts

		added.list(row("x", w.began))
		bubble.Pass(0)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		expect.Equal(t, "relisting", false, w.states()["Job"].Relisting)
		if old.ctx.Err() == nil {
			t.Error("the old watch still runs")
		}
		old.apply(row("z", w.began.Add(-time.Hour)))
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

func TestDryRunIsListedBesideWithoutDelay(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		w.use(fixture.Rule("a"), fixture.Rule("b", fixture.Mode(v1alpha1.DryRun)))
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

func TestRuleThatIsTakenBackWhileItLists(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		w.use(fixture.Rule("a"), fixture.Rule("b"))
		w.source(1).sink.Lost(&retention.SourceError{Reason: "Forbidden"})
		w.use(fixture.Rule("a"))
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		if w.source(1).ctx.Err() == nil {
			t.Error("the listing for b still runs")
		}
		expect.Equal(t, "error", nil, w.states()["Job"].Lost)
		expect.Equal(t, "relisting", false, w.states()["Job"].Relisting)
		w.source(1).list(row("y", w.began)) // too late
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

func TestRemovedRule(t *testing.T) {
	tests := map[string][]*policy.Rule{
		"deleted":            nil,
		"made invalid":       {fixture.Rule("a", invalid)},
		"about another kind": {fixture.Rule("a", fixture.About(fixture.Pods))},
	}
	for name, rules := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.listed(row("x", w.began))
			w.use(rules...)
			bubble.Pass(10 * time.Hour)
			expect.Equal(t, "removed", none, w.removed())
			if w.source(0).ctx.Err() == nil {
				t.Error("its source still runs")
			}
			if _, ok := w.states()["Job"]; ok {
				t.Error("its kind still exists")
			}
		})
	}
}

// TestBacklogEndsWithItsRule: queued subjects must be evaluated by the rules in force, not by the earlier ones.
func TestBacklogEndsWithItsRule(t *testing.T) {
	tests := map[string]struct {
		rules []*policy.Rule
		again bool // enforced again an hour later, with a TTL that has not passed
	}{
		"deleted":                      {nil, false},
		"made invalid":                 {[]*policy.Rule{fixture.Rule("a", invalid)}, false},
		"switched to a dry run":        {[]*policy.Rule{fixture.Rule("a", fixture.Mode(v1alpha1.DryRun))}, false},
		"suspended":                    {[]*policy.Rule{fixture.Rule("a", fixture.Mode(v1alpha1.Suspend))}, false},
		"with a longer TTL":            {[]*policy.Rule{fixture.Rule("a", fixture.TTL(1000*time.Hour))}, false},
		"kept by a rule without facts": {[]*policy.Rule{fixture.Rule("a"), fixture.Rule("b")}, false},
		"deleted, and added again with a longer TTL": {nil, true},
	}
	for name, test := range tests {
		runInBubble(t, name, retention.Options{MaxInFlight: 4}, func(t *testing.T, w *harness) {
			w.onEachDelete(after(10*time.Millisecond, retention.Removed, false))
			w.listed(rows("x", 2_000, w.began.Add(-time.Hour))...)
			bubble.Pass(time.Second)
			before := len(w.attempted())
			if before < 100 || before > 1000 {
				t.Fatalf("%d attempts in a second", before)
			}
			w.use(test.rules...)
			if test.again {
				w.use(fixture.Rule("a", fixture.TTL(1000*time.Hour)))
			}
			bubble.Pass(time.Hour)
			if n := len(w.attempted()) - before; n > 4 {
				t.Errorf("%d attempts after the change of the rule", n)
			}
		})
	}
}

// TestPreflightMayChangeTheRules: Check may put newer rules in force before it answers, and they count for the same subject.
func TestPreflightMayChangeTheRules(t *testing.T) {
	for name, rules := range map[string][]*policy.Rule{
		"suspended": {fixture.Rule("a", fixture.Mode(v1alpha1.Suspend))}, "deleted": nil, "longer": {fixture.Rule("a", fixture.TTL(9*time.Hour))},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.listed(row("x", w.began))
			w.set(func() {
				w.check = func(string) error {
					w.Use(snapshotOf(rules...))
					return nil
				}
			})
			bubble.Pass(2 * time.Hour)
			expect.Equal(t, "attempts", nil, w.attempted())
		})
	}
}

func TestKindIsRelistedAtAnotherVersion(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		other := schema.GroupVersionKind{Group: "batch", Version: "v2", Kind: "Job"}
		w.use(fixture.Rule("a", fixture.About(other), func(r *policy.Rule) { r.Key = "a2" }))
		expect.Equal(t, "kind listed", other, w.source(1).asked().Kind)
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", none, w.removed())
		w.source(1).list(row("x", w.began))
		bubble.Pass(0)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		if w.source(0).ctx.Err() == nil {
			t.Error("the old version is still watched")
		}
	})
}

func TestRulesKnownBeforeTheStart(t *testing.T) {
	r := retention.New(retention.Options{Clock: clock.RealClock{}})
	r.Use(snapshotOf(fixture.Rule("a")))
	expect.Equal(t, "kinds", 0, len(r.Kinds()))
	expect.Equal(t, "doubt", nil, r.PreflightError())
	expect.Equal(t, "leader only", true, r.NeedLeaderElection())
}

// TestRuleThatComesAndGoesListsItsKindOnce, and while no rule exists nothing is deleted.
func TestRuleThatComesAndGoesListsItsKindOnce(t *testing.T) {
	unwatched := fixture.Rule("a", func(r *policy.Rule) { r.Unwatched = true })
	for name, without := range map[string][]*policy.Rule{"deleted": nil, "not permitted": {unwatched}} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.listed(row("x", w.began))
			w.use(without...)
			before := runtime.NumGoroutine()
			for range 200 { // the object is due after the last one
				w.use(fixture.Rule("a"))
				bubble.Pass(time.Second)
				w.use(without...)
				bubble.Pass(16 * time.Second)
			}
			if more := runtime.NumGoroutine() - before; more > 5 {
				t.Errorf("%d goroutines leaked", more)
			}
			bubble.Pass(5 * time.Minute)
			expect.Equal(t, "listed", 1, w.opened())
			if w.source(0).ctx.Err() == nil {
				t.Error("the kind is still watched")
			}
			bubble.Pass(time.Hour)
			expect.Equal(t, "removed", none, w.removed())
			w.use(fixture.Rule("a"))
			expect.Equal(t, "listed", 2, w.opened())
			w.source(1).list(row("x", w.began))
			bubble.Pass(time.Hour)
			expect.Equal(t, "removed", []string{"x"}, w.removed())
		})
	}
}

// TestKindWithoutRulesDeletesNothing: an object that becomes due without a rule is only deleted by a rule that is added in
// time.
func TestKindWithoutRulesDeletesNothing(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		bubble.Pass(time.Hour - time.Second)
		w.use()
		w.source(0).apply(row("y", w.began.Add(-2*time.Hour)))
		bubble.Pass(30 * time.Second)
		expect.Equal(t, "kinds", 0, len(w.Kinds()))
		expect.Equal(t, "removed", none, w.removed())
		w.use(fixture.Rule("a", fixture.TTL(4*time.Hour)))
		bubble.Pass(0)
		expect.Equal(t, "deleted by the added rule", none, w.removed())
		w.use(fixture.Rule("a", fixture.TTL(2*time.Hour)))
		bubble.Pass(0)
		expect.Equal(t, "deleted by the added rule", []string{"y"}, w.removed())
	})
}

func TestDroppedKindLeavesNothingBehind(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(rows("x", 10, w.began)...)
		held := weak.Make(w.Kinds()[0].Index)
		w.use()
		bubble.Pass(2 * time.Minute)
		w.set(func() { w.sources = nil })
		for range 3 {
			runtime.GC()
		}
		if held.Value() != nil {
			t.Error("the index of a dropped kind is still held")
		}
	})
}

func TestResultsAreSpelled(t *testing.T) {
	var spelled []string
	for r := retention.Failed; r <= retention.Unadmitted; r++ {
		spelled = append(spelled, r.String())
	}
	expect.Equal(t, "results", []string{"failed", "removed", "gone", "changed", "busy", "refused", "denied", "marked", "unadmitted"}, spelled)
}

func TestIgnoreKindIsNotWatched(t *testing.T) {
	elsewhere := func(kind schema.GroupKind) bool { return kind == fixture.Pods.GroupKind() }
	inBubble(t, retention.Options{IgnoreKind: elsewhere}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("a"), fixture.Rule("p", fixture.About(fixture.Pods)))
		w.source(0).list(row("x", w.began))
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		if _, watched := w.states()["Pod"]; watched || len(w.states()) != 1 {
			t.Errorf("watched: %v", w.states())
		}
	})
}
