// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var noStatus v1alpha1.RetentionPolicyStatus

// listed arranges an enforced policy and a listed kind.
func listed(rows ...*index.FactRow) func(w *harness) {
	return func(w *harness) {
		e := w.create(policyOf(v1alpha1.Enforce, rule("a")), noStatus)
		w.kinds = []retention.KindState{kindOf(e, w.began, rows...)}
	}
}

func TestReporterWritesOnlyChangedStatuses(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "writes", 1, len(w.written()))
		bubble.Pass(30 * time.Minute)
		expect.Equal(t, "writes", 1, len(w.written()))
		bubble.Pass(time.Hour) // after an hour, the time of the count is written for the next leader
		expect.Equal(t, "writes", 2, len(w.written()))
	})
}

func TestCountThatFindsNothingNewIsNotWritten(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		for range 60 {
			w.Changed()
			bubble.Pass(time.Second)
		}
		expect.Equal(t, "writes", 1, len(w.written()))
	})
}

func TestReporterWritesOnceInThreeSeconds(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		for i := range 600 {
			bubble.Pass(100 * time.Millisecond)
			w.kinds[0].Index.Apply(1, row(fmt.Sprint("x", i), w.began), time.Now())
		}
		writes := w.written()
		if len(writes) < 12 || len(writes) > 21 {
			t.Errorf("%d writes in a minute with changes", len(writes))
		}
		for i := 1; i < len(writes); i++ {
			if writes[i]-writes[i-1] < 3*time.Second {
				t.Errorf("writes at %s and %s", writes[i-1], writes[i])
			}
		}
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "matched after the last change", 600, w.status().Matched)
	})
}

func TestCountsThatChangeByThemselvesAreWrittenInTime(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		e := w.create(policyOf(v1alpha1.DryRun, rule("a")), noStatus)
		w.set(func() { w.kinds = []retention.KindState{kindOf(e, w.began, row("x", w.began))} })
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "due", v1alpha1.DueCounts{Hour: 1, Day: 1, Week: 1}, w.status().Due)
		bubble.Pass(time.Hour)
		expect.Equal(t, "due an hour later", v1alpha1.DueCounts{Now: 1, Hour: 1, Day: 1, Week: 1}, w.status().Due)
		writes := len(w.written())
		bubble.Pass(5 * time.Hour)
		expect.Equal(t, "writes after that", writes, len(w.written()))
	})
}

func TestDeletionErrorIsReported(t *testing.T) {
	tests := map[string]struct {
		change    func(w *harness)
		condition string
		want      string
	}{
		"clock skew":                 {func(w *harness) { w.preflightErr = errors.New("clock skew") }, v1alpha1.ConditionEnforcing, "False Stale"},
		"a lost kind":                {func(w *harness) { w.kinds[0].Lost = &retention.SourceError{Reason: "Forbidden"} }, v1alpha1.ConditionWatching, "False Forbidden"},
		"no permission to delete":    {func(w *harness) { w.kinds[0].Undeletable = &retention.SourceError{Reason: "Forbidden"} }, v1alpha1.ConditionEnforcing, "False Forbidden"},
		"a kind that is not watched": {func(w *harness) { w.kinds = nil }, v1alpha1.ConditionWatching, "Unknown Listing"},
	}
	for name, test := range tests {
		runInBubble(t, name, listed(), func(t *testing.T, w *harness) {
			bubble.Pass(time.Minute)
			before := w.kinds[0]
			w.set(func() { w.kinds = append([]retention.KindState{}, w.kinds...); test.change(w) })
			bubble.Pass(10 * time.Second)
			expect.Equal(t, "condition", test.want, condition(w.status(), test.condition))
			w.set(func() { w.kinds, w.preflightErr = []retention.KindState{before}, nil })
			bubble.Pass(10 * time.Second)
			expect.Equal(t, "ready when it has ended", "True Ready", condition(w.status(), v1alpha1.ConditionReady))
		})
	}
}

// TestEditIsReportedAtOnce, even if the status was written recently, because the author reads it next.
func TestEditIsReportedAtOnce(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		bubble.Pass(time.Minute)
		for generation := int64(4); generation < 8; generation++ {
			p := policyOf(v1alpha1.Enforce, rule("a"))
			p.Generation = generation
			w.Use(compiledOf(p))
			bubble.Pass(tick + tick/10)
			expect.Equal(t, "generation", generation, w.status().ObservedGeneration)
		}
	})
}

// TestCountThatTakesLongDelaysAnEditLess: an edit waits five times as long as a count, and other changes wait fifty times as
// long.
func TestCountThatTakesLongDelaysAnEditLess(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		bubble.Pass(time.Minute)
		expect.Equal(t, "rest while nothing is edited", 10*time.Second, w.RestAfter(200*time.Millisecond))
		expectWrites(t, w, 200*time.Millisecond, time.Second, 2500*time.Millisecond)
		p := policyOf(v1alpha1.Enforce, rule("a"))
		p.Generation = 4
		w.Use(compiledOf(p))
		expect.Equal(t, "rest after an edit", time.Second, w.RestAfter(200*time.Millisecond))
		expectWrites(t, w, 50*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond)
		expectWrites(t, w, 2*time.Second, 10*time.Second, 10*time.Second)
	})
}

// expectWrites checks how long a report writes after a count that took a while, if policies change and if not.
func expectWrites(t *testing.T, w *harness, took, least, most time.Duration) {
	t.Helper()
	gotLeast, gotMost := w.WritesAfter(took)
	expect.Equal(t, fmt.Sprint("writing after ", took, ", with changes"), least, gotLeast)
	expect.Equal(t, fmt.Sprint("writing after ", took), most, gotMost)
}

// tick is how often the Reporter checks for changes.
const tick = time.Second

// TestDryRunIsCountedAgain: the policyset reconciler says which policies have an outdated count, and receives their new count
// once it is complete.
func TestDryRunIsCountedAgain(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		e := w.create(policyOf(v1alpha1.DryRun, rule("a")), noStatus)
		w.set(func() { w.kinds = []retention.KindState{kindOf(e, w.began, row("x", w.began))} })
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "counts", 1, len(w.previewed))
		bubble.Pass(time.Minute)
		expect.Equal(t, "counts while nothing changes", 1, len(w.previewed))
		changed := compiledOf(e.Snapshot.Policies()...)
		changed.Outdated = map[types.UID]time.Time{"uid-p": now}
		listed := w.kinds
		w.set(func() {
			w.kinds = []retention.KindState{{Index: index.New(fixture.Jobs.GroupKind(), func() {}), Kind: fixture.Jobs}}
		})
		w.Use(changed)
		bubble.Pass(time.Minute)
		expect.Equal(t, "counts while it is being listed", 1, len(w.previewed))
		w.set(func() { w.kinds = listed })
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "counts once it is listed", true, len(w.previewed) > 1)
		expect.Equal(t, "Outdated", now, w.previewed[1].Outdated)
		counts := len(w.previewed)
		suspended := policyOf(v1alpha1.Suspend, rule("a"))
		later := compiledOf(suspended)
		later.Outdated = map[types.UID]time.Time{"uid-p": now.Add(time.Hour)}
		w.Use(later)
		bubble.Pass(time.Minute)
		expect.Equal(t, "counts while it is suspended", counts, len(w.previewed))
	})
}

// deletedBefore returns a status with earlier deletions.
func deletedBefore(n int64) v1alpha1.RetentionPolicyStatus {
	return v1alpha1.RetentionPolicyStatus{Deleted: n, Rules: []v1alpha1.RuleStatus{{Name: "a", Deleted: n}}}
}

func TestDeletedCountsGoOn(t *testing.T) {
	a := rule("a")
	tests := map[string]struct {
		happens func(w *harness)
		want    int64
	}{
		"nothing":                          {func(*harness) {}, 10},
		"deletions":                        {func(w *harness) { bubble.Pass(5 * time.Second); w.removed(3, a) }, 13},
		"deletions before the first count": {func(w *harness) { w.removed(3, a) }, 13},
		"deletions before and after":       {func(w *harness) { w.removed(3, a); bubble.Pass(5 * time.Second); w.removed(4, a) }, 17},
		"writes that fail": {func(w *harness) {
			w.removed(3, a)
			bubble.Pass(5 * time.Second)
			w.set(func() { w.fail = errors.New("no answer") })
			w.removed(4, a)
			bubble.Pass(time.Minute)
			w.removed(5, a)
			bubble.Pass(time.Minute)
			w.set(func() { w.fail = nil })
		}, 22},
		"a restart": {func(w *harness) {
			w.removed(3, a)
			bubble.Pass(5 * time.Second)
			w.stop()
			e := compiledOf(policyOf(v1alpha1.Enforce, rule("a")))
			w.Reporter = quiet(&status.Reporter{Client: w, Live: w, Events: w, State: w, Gates: w, Ledgers: w.ledgers})
			w.Use(e)
			w.removed(2, a)
			w.start()
			w.removed(2, a)
		}, 17},
	}
	for name, test := range tests {
		runInBubble(t, name, func(w *harness) { w.create(policyOf(v1alpha1.Enforce, rule("a")), deletedBefore(10)) }, func(t *testing.T, w *harness) {
			test.happens(w)
			bubble.Pass(time.Minute)
			expect.Equal(t, "deleted", test.want, w.status().Deleted)
			expect.Equal(t, "deleted by the rule", test.want, w.status().Rules[0].Deleted)
		})
	}
}

func TestLastCountIsWrittenAtTheEnd(t *testing.T) {
	for name, before := range map[string]func(*harness){
		"deleted before the end":          func(*harness) {},
		"deleted after the end has begun": func(w *harness) { w.cancel(); bubble.Pass(2 * time.Second) },
	} {
		runInBubble(t, name, listed(), func(t *testing.T, w *harness) {
			bubble.Pass(4 * time.Second)
			before(w)
			w.removed(3, rule("a"))
			w.stop()
			expect.Equal(t, "deleted", 3, w.status().Deleted)
		})
	}
}

func TestEndDoesNotWaitForEver(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		bubble.Pass(4 * time.Second)
		w.removed(3, rule("a"))
		w.cancel()
		began := time.Now()
		<-w.stopped
		if waited := time.Since(began); waited > 30*time.Second {
			t.Errorf("waited %s for a reconciler that hangs", waited)
		}
		expect.Equal(t, "deleted", 3, w.status().Deleted)
	})
}

func TestNamesakeBeginsAtNothing(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		w.removed(3, rule("a"))
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", 3, w.status().Deleted)
		namesake := policyOf(v1alpha1.Enforce, rule("a", func(r *policy.Rule) { r.PolicyUID = "uid-2" }))
		namesake.UID = types.UID("uid-2")
		w.create(namesake, noStatus)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted by the new policy", 0, w.status().Deleted)
		w.removed(2, namesake.Rules[0])
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "later deleted by the new policy", 2, w.status().Deleted)
	})
}

func TestPolicyThatIsGoneIsNotWritten(t *testing.T) {
	tests := map[string]func(w *harness){
		"deleted":             func(w *harness) { delete(w.server, "p") },
		"replaced by another": func(w *harness) { w.server["p"].UID = "another" },
	}
	for name, change := range tests {
		runInBubble(t, name, listed(), func(t *testing.T, w *harness) {
			w.set(func() { change(w) })
			bubble.Pass(10 * time.Second)
			w.removed(1, rule("a"))
			bubble.Pass(10 * time.Second)
			expect.Equal(t, "writes", 0, w.patches)
		})
	}
}

func TestFailedWriteIsTriedAgain(t *testing.T) {
	inBubble(t, listed(), func(t *testing.T, w *harness) {
		w.set(func() { w.fail = errors.New("no answer") })
		bubble.Pass(time.Minute)
		if _, ok := gathered(t, "sunset_policy_condition")[" Ready Ready True"]; !ok {
			t.Errorf("conditions %v", gathered(t, "sunset_policy_condition"))
		}
		w.set(func() { w.fail = nil })
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "writes", 1, len(w.written()))
	})
}

func TestReporterWritesNothingBeforeUse(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		w.Changed()
		w.Attempted(retention.Busy)
		bubble.Pass(time.Minute)
		expect.Equal(t, "writes", 0, len(w.written()))
		expect.Equal(t, "leader only", true, w.NeedLeaderElection())
	})
}

// TestClockSkewIsReported within a second, independently of what preflight has found.
func TestClockSkewIsReported(t *testing.T) {
	var trouble error
	inBubble(t, func(w *harness) {
		w.DeletionError = func() error {
			w.mu.Lock()
			defer w.mu.Unlock()
			return trouble
		}
		listed()(w)
	}, func(t *testing.T, w *harness) {
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "enforcing", "True Enforcing", condition(w.status(), v1alpha1.ConditionEnforcing))
		w.set(func() { trouble = errors.New("clock skew") })
		bubble.Pass(2 * time.Second)
		expect.Equal(t, "enforcing with a wrong clock", "False Stale", condition(w.status(), v1alpha1.ConditionEnforcing))
	})
}
