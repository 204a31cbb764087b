// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var none = []string{}

func TestRemovedExactlyWhenDue(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began), row("y", w.began.Add(time.Minute)))
		bubble.Pass(time.Hour - 1)
		expect.Equal(t, "deleted one nanosecond early", none, w.removed())
		bubble.Pass(1)
		expect.Equal(t, "deleted when due", []string{"x"}, w.removed())
		bubble.Pass(time.Hour)
		expect.Equal(t, "happened", []string{
			"1h0m0s removed x", "1h0m0s witnessed x by a/a, due 1h0m0s",
			"1h1m0s removed y", "1h1m0s witnessed y by a/a, due 1h1m0s",
		}, w.happened())
	})
}

// TestPreflightPrefetches: half a second before a subject is due, and only once at a time.
// TestKnown: a ledger asks about tens of thousands of subjects while it holds its lock, so only the indexes are asked.
func TestKnown(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		known := w.Known()
		expect.Equal(t, "known", []bool{true, false}, []bool{known("uid-x"), known("uid-y")})
		expect.Equal(t, "allocations", 0.0, testing.AllocsPerRun(100, func() { known("uid-y") }))
	})
}

func TestPreflightPrefetches(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		var read []string
		w.set(func() {
			w.prefetch = func(namespace string, at time.Time) {
				w.set(func() {
					read = append(read, fmt.Sprintf("%s at %s for %s", namespace, time.Since(w.began), at.Sub(w.began)))
				})
				time.Sleep(400 * time.Millisecond) // ends after the next one is due
			}
		})
		w.listed(row("x", w.began), row("y", w.began.Add(300*time.Millisecond)), row("z", w.began.Add(10*time.Second), in("team-b")))
		bubble.Pass(2 * time.Hour)
		want := []string{"team-a at 59m59.5s for 1h0m0.25s", "team-a at 1h0m0s for 1h0m0.55s", "team-b at 1h0m9.5s for 1h0m10.25s"}
		expect.Equal(t, "read", want, read)
		expect.Equal(t, "removed", []string{"x", "y", "z"}, w.removed())
	})
}

// TestBacklogPrefetches: answers that will soon be too old are read again, before deletions have to wait for that.
func TestBacklogPrefetches(t *testing.T) {
	for name, test := range map[string]struct {
		age  time.Duration
		want []string
	}{
		"answers of 0.7 s count for a while": {700 * time.Millisecond, nil},
		"answers of 0.8 s":                   {800 * time.Millisecond, []string{"team-a for 1.05s"}},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			var read []string
			w.set(func() {
				w.check = func(string) error {
					time.Sleep(test.age)
					return nil
				}
				w.prefetch = func(namespace string, at time.Time) {
					w.set(func() { read = append(read, fmt.Sprintf("%s for %s", namespace, at.Sub(w.began))) })
				}
			})
			w.listed(row("x", w.began.Add(-2*time.Hour)))
			bubble.Pass(time.Minute)
			expect.Equal(t, "read", test.want, read)
			expect.Equal(t, "removed", []string{"x"}, w.removed())
		})
	}
}

func TestEarlierSubjectIsNotMissed(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("late", w.began.Add(100*time.Hour)))
		bubble.Pass(time.Hour)
		w.source(0).apply(row("early", w.began.Add(time.Second)))
		bubble.Pass(time.Second)
		expect.Equal(t, "happened", "1h0m1s removed early", w.happened()[0])
		w.source(0).apply(row("overdue", w.began.Add(-100*time.Hour)))
		bubble.Pass(0)
		expect.Equal(t, "removed", []string{"early", "overdue"}, w.removed())
	})
}

// TestClockThatIsSet: the clock at the time of the deletion counts.
func TestClockThatIsSet(t *testing.T) {
	tests := map[string]struct {
		set  time.Duration
		want time.Duration // time that passes until the deletion
	}{
		"back, between the schedule and the deletion": {-10 * time.Minute, 70 * time.Minute},
		"not at all": {0, 60 * time.Minute},
	}
	for name, test := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.set(func() { w.check = func(string) error { w.clock.Set(test.set); return nil } })
			w.listed(row("x", w.began))
			bubble.Pass(test.want - 1)
			expect.Equal(t, "deleted early", none, w.removed())
			bubble.Pass(1)
			expect.Equal(t, "removed", []string{"x"}, w.removed())
		})
	}
}

func TestClockThatIsSetAheadIsNoticedWithinAMinute(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		bubble.Pass(30*time.Second + 1)
		w.clock.Set(5 * time.Hour)
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

func TestTTLEditCountsAtOnce(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		bubble.Pass(30 * time.Minute)
		w.use(fixture.Rule("a", fixture.TTL(time.Minute)))
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		expect.Equal(t, "listings: a TTL edit needs no new facts", 1, len(w.sources))
	})
}

func TestReconcileRemovesNothingWithoutAPermit(t *testing.T) {
	tests := map[string][]*policy.Rule{
		"a dry run":                            {fixture.Rule("a", fixture.Mode(v1alpha1.DryRun))},
		"a suspended rule":                     {fixture.Rule("a", fixture.Mode(v1alpha1.Suspend))},
		"an invalid rule and a dry run":        {fixture.Rule("a", invalid), fixture.Rule("b", fixture.Mode(v1alpha1.DryRun), func(r *policy.Rule) { r.Key = "a" })},
		"an enforced rule and a suspended one": {fixture.Rule("a"), fixture.Rule("b", fixture.Mode(v1alpha1.Suspend), func(r *policy.Rule) { r.Key = "a" })},
	}
	for name, rules := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.use(rules...)
			w.source(0).list(row("x", w.began))
			bubble.Pass(24 * time.Hour)
			expect.Equal(t, "attempts", nil, w.attempted())
			expect.Equal(t, "preflight checks", 0, w.checks)
		})
	}
}

func TestBacklogDelaysNobodyElse(t *testing.T) {
	inBubble(t, retention.Options{MaxInFlight: 4}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(10*time.Millisecond, retention.Removed, false))
		w.use(fixture.Rule("big"), fixture.Rule("small", func(r *policy.Rule) { r.Key = "big" }, fixture.TTL(2*time.Hour)))
		big := rows("big", 5_000, w.began.Add(-2*time.Hour))
		late := rows("late", 10, w.began.Add(-2*time.Hour+time.Second), in("team-b"))
		w.source(0).list(append(big, late...)...)
		bubble.Pass(time.Second)
		queued := len(w.removed())
		if n := count(w.removed(), "late"); n > 0 {
			t.Fatalf("%d were deleted early", n)
		}
		// 4 at a time, 10 ms each, in turns: the ten take 50 ms.
		bubble.Pass(60 * time.Millisecond)
		expect.Equal(t, fmt.Sprintf("late objects deleted after %d of the backlog", queued), 10, count(w.removed(), "late"))
		if n := len(w.removed()); n > 450 {
			t.Errorf("%d deleted", n)
		}
	})
}

func TestEverythingOfABacklogGoesOnce(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(rows("x", 3_000, w.began)...)
		bubble.Pass(time.Hour)
		bubble.Pass(time.Hour)
		removed := w.removed()
		slices.Sort(removed)
		expect.Equal(t, "removed", 3_000, len(slices.Compact(removed)))
		expect.Equal(t, "attempts", 3_000, len(w.attempted()))
		expect.Equal(t, "witnessed and removed", 6_000, len(w.happened()))
	})
}

func TestPreflightErrorStopsDeletions(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		doubt := errors.New("clock skew")
		w.set(func() { w.check = func(string) error { return doubt } })
		w.listed(rows("x", 100, w.began.Add(-time.Hour))...)
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "deleted while the check fails", none, w.removed())
		if got := w.PreflightError(); !errors.Is(got, doubt) {
			t.Errorf("doubt: %v, want %v", got, doubt)
		}
		if w.checks > 16*2*600+16 {
			t.Errorf("%d checks in ten minutes", w.checks)
		}
		w.set(func() { w.check = nil })
		bubble.Pass(time.Second)
		expect.Equal(t, "deleted after the check succeeds", 100, len(w.removed()))
		expect.Equal(t, "doubt", nil, w.PreflightError())
	})
}

func TestNamespaceInDoubtHoldsBackOnlyItself(t *testing.T) {
	inBubble(t, retention.Options{MaxInFlight: 2}, func(t *testing.T, w *harness) {
		w.set(func() {
			w.check = func(namespace string) error {
				if namespace == "team-a" {
					return fmt.Errorf("%w: terminating", preflight.ErrNamespace)
				}
				return nil
			}
		})
		w.listed(append(rows("a", 1_000, w.began.Add(-time.Hour)), rows("b", 10, w.began.Add(-time.Hour), in("team-b"))...)...)
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted in team-b", 10, count(w.removed(), "b"))
		expect.Equal(t, "deleted in team-a", 0, count(w.removed(), "a"))
		expect.Equal(t, "error of PreflightError", nil, w.PreflightError())
		w.set(func() { w.check = nil })
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted in team-a later", 1_000, count(w.removed(), "a"))
	})
}

// conflictUnless makes DELETEs of other versions end with a conflict.
func conflictUnless(current string) func(policy.DeletePermit) retention.Outcome {
	return func(p policy.DeletePermit) retention.Outcome {
		if p.Subject().ResourceVersion != current {
			return after(0, retention.Changed, false)()
		}
		return after(0, retention.Removed, false)()
	}
}

func TestChangedSubjectIsJudgedAgain(t *testing.T) {
	tests := map[string]struct {
		brought func(*draft) // what the watch delivers
		want    []string
	}{
		"still due": {func(*draft) {}, []string{"x@1", "x@2"}},
		"kept":      {func(r *draft) { r.Facts.Eligible = false }, []string{"x@1"}},
		"held":      {func(r *draft) { r.Flags = policy.IsHeld }, []string{"x@1"}},
	}
	for name, test := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.listed(row("x", w.began))
			bubble.Pass(time.Hour - time.Second)
			w.onDelete(conflictUnless("2"))
			bubble.Pass(time.Second + 50*time.Millisecond)
			w.source(0).apply(row("x", w.began, version(2), test.brought))
			bubble.Pass(time.Hour)
			expect.Equal(t, "attempts", test.want, w.attempted())
		})
	}
}

func TestSubjectIsReadAfterThreeConflicts(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.onDelete(conflictUnless("7"))
		s := w.listed(row("x", w.began))
		s.read = func(policy.Subject) (*draft, error) { return row("x", w.began, version(7)), nil }
		bubble.Pass(time.Hour)
		bubble.Pass(time.Minute)
		expect.Equal(t, "attempts", []string{"x@1", "x@1", "x@1", "x@7"}, w.attempted())
		expect.Equal(t, "reads", 1, s.reads)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

func TestReadAfterConflictsKeepsTheBackoff(t *testing.T) {
	tests := map[string]struct {
		read  func(start time.Time) (*draft, error)
		known bool
	}{
		"not found":        {func(time.Time) (*draft, error) { return nil, nil }, false},
		"not readable":     {func(time.Time) (*draft, error) { return nil, errors.New("no answer") }, true},
		"the same version": {func(start time.Time) (*draft, error) { return row("x", start), nil }, true},
		"an older version": {func(start time.Time) (*draft, error) { return row("x", start, version(0)), nil }, true},
		"a version that is kept": {func(start time.Time) (*draft, error) {
			return row("x", start, version(9), func(r *draft) { r.Facts.Eligible = false }), nil
		}, true},
	}
	for name, test := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.onEachDelete(after(0, retention.Changed, false))
			w.use(fixture.Rule("a"))
			s := w.source(0)
			s.read = func(policy.Subject) (*draft, error) { return test.read(w.began.Add(-time.Hour)) }
			s.list(row("x", w.began.Add(-time.Hour)))
			bubble.Pass(time.Hour)
			if n := len(w.attempted()); n < 2 || n > 150 {
				t.Errorf("%d attempts in an hour, want some, with backoff", n)
			}
			n, _ := w.Kinds()[0].Index.Len()
			expect.Equal(t, "known", test.known, n == 1)
		})
	}
}

func TestWatchIsNotOverwrittenByWhatWasReadBefore(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.onDelete(conflictUnless("9"))
		w.use(fixture.Rule("a"))
		s := w.source(0)
		s.read = func(policy.Subject) (*draft, error) {
			read := row("x", w.began, version(8), func(r *draft) { r.Facts.Eligible = false })
			s.apply(row("x", w.began, version(9))) // the watch is faster than the answer
			return read, nil
		}
		s.list(row("x", w.began.Add(-time.Hour)))
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

// TestPreflightIsTheLastStepBeforeTheDeletion: the answers of preflight are at most a second old when the DELETE is
// sent, even if the subject had to be read and the answer took long.
func TestPreflightIsTheLastStepBeforeTheDeletion(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		var checked atomic.Int64
		w.set(func() {
			w.check = func(string) error { checked.Store(time.Now().UnixNano()); return nil }
			w.outcome = func(p policy.DeletePermit) retention.Outcome {
				if age := time.Now().UnixNano() - checked.Load(); age > int64(time.Second) {
					t.Errorf("deleted %s after preflight", time.Duration(age))
				}
				return conflictUnless("7")(p)
			}
		})
		w.use(fixture.Rule("a"))
		s := w.source(0)
		s.read = func(policy.Subject) (*draft, error) {
			time.Sleep(time.Minute) // a slow answer
			return row("x", w.began.Add(-time.Hour), version(7)), nil
		}
		s.list(row("x", w.began.Add(-time.Hour)))
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

func TestFailuresBackOffAlone(t *testing.T) {
	for result, attempts := range map[retention.Result][2]int{
		retention.Refused: {30, 60},   // 100 ms, doubled up to 10 min: 13 within 10 min, then 6 an hour
		retention.Failed:  {700, 760}, // up to 30 s: the error concerns the server, not the subject
		retention.Busy:    {700, 760},
	} {
		runInBubble(t, result.String(), retention.Options{MaxInFlight: 2}, func(t *testing.T, w *harness) {
			w.onDelete(func(p policy.DeletePermit) retention.Outcome {
				if p.Subject().Namespace == "team-a" {
					return retention.Outcome{Result: result, Err: errors.New("no")}
				}
				return retention.Outcome{Result: retention.Removed}
			})
			w.listed(append(rows("stuck", 3, w.began.Add(-time.Hour)), rows("free", 100, w.began.Add(-time.Hour), in("team-b"))...)...)
			bubble.Pass(time.Second)
			expect.Equal(t, "removed", 100, len(w.removed()))
			bubble.Pass(6 * time.Hour)
			if n := count(w.attempted(), "stuck00001"); n < attempts[0] || n > attempts[1] {
				t.Errorf("%d attempts in six hours", n)
			}
			expect.Equal(t, "removed", 100, len(w.removed()))
		})
	}
}

// TestBackoffRestartsWithAnotherResult: an object that was refused for an hour is soon retried if the server is only busy.
func TestBackoffRestartsWithAnotherResult(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		var busy []time.Duration
		w.onDelete(func(policy.DeletePermit) retention.Outcome {
			at := time.Since(w.began)
			if at < time.Hour {
				return retention.Outcome{Result: retention.Refused, Err: errors.New("no")}
			}
			busy = append(busy, at)
			return retention.Outcome{Result: retention.Busy, Err: errors.New("busy")}
		})
		w.listed(row("stuck", w.began.Add(-time.Hour)))
		bubble.Pass(2 * time.Hour)
		if len(busy) < 2 || busy[1]-busy[0] > time.Second {
			t.Errorf("retried at %v", busy[:min(2, len(busy))])
		}
	})
}

func TestObserverIgnoresGone(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(0, retention.Gone, false))
		w.listed(row("x", w.began.Add(-time.Hour)))
		bubble.Pass(time.Second)
		w.source(0).sink.Forget("uid-x")
		bubble.Pass(10 * time.Hour)
		expect.Equal(t, "attempts", []string{"x@1"}, w.attempted())
		expect.Equal(t, "happened", nil, w.happened())
	})
}

// TestSubjectReportedGoneIsRetried: an API server that has not read its store yet answers 404, and no watch event
// corrects that.
func TestSubjectReportedGoneIsRetried(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(0, retention.Gone, false))
		w.listed(row("x", w.began.Add(-time.Hour)))
		bubble.Pass(time.Hour)
		if n := len(w.attempted()); n < 5 || n > 20 {
			t.Errorf("%d attempts in an hour", n)
		}
		w.onDelete(nil)
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		n := len(w.attempted())
		bubble.Pass(time.Hour)
		expect.Equal(t, "attempts after the deletion", n, len(w.attempted()))
	})
}

func TestRemovedSubjectIsSeenOffByTheWatch(t *testing.T) {
	tests := map[string]struct {
		then func(w *harness)
		want []string
	}{
		"forgotten":            {func(w *harness) { w.source(0).sink.Forget("uid-x") }, []string{"x@1"}},
		"the same event again": {func(w *harness) { w.source(0).apply(row("x", w.began)) }, []string{"x@1"}},
		"listed again":         {func(w *harness) { w.source(0).list(row("x", w.began)) }, []string{"x@1"}},
		"terminating": {func(w *harness) {
			w.source(0).apply(row("x", w.began, version(2), func(r *draft) { r.Flags = policy.IsTerminating }))
		}, []string{"x@1"}},
		"a newer version": {func(w *harness) { w.source(0).apply(row("x", w.began, version(2))) }, []string{"x@1", "x@2"}},
	}
	for name, test := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.listed(row("x", w.began))
			bubble.Pass(time.Hour)
			test.then(w)
			bubble.Pass(time.Hour)
			expect.Equal(t, "attempts", test.want, w.attempted())
		})
	}
}

func TestDeletionUnderWayIsFinished(t *testing.T) {
	inBubble(t, retention.Options{MaxInFlight: 2}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(10*time.Second, retention.Removed, false))
		w.listed(rows("x", 5, w.began.Add(-time.Hour))...)
		bubble.Pass(time.Second)
		w.cancel()
		bubble.Pass(time.Second)
		select {
		case <-w.stopped:
			t.Error("stopped with deletions in flight")
		default:
		}
		<-w.stopped
		expect.Equal(t, "time", 10*time.Second, time.Since(w.began))
		expect.Equal(t, "attempts", 2, len(w.attempted()))
		expect.Equal(t, "removed and witnessed", 4, len(w.happened()))
	})
}

func TestMaxPerSecond(t *testing.T) {
	inBubble(t, retention.Options{MaxPerSecond: 10}, func(t *testing.T, w *harness) {
		w.listed(rows("x", 100, w.began.Add(-time.Hour))...)
		for second := range 9 {
			bubble.Pass(time.Second)
			if got, most := len(w.removed()), 10*(second+1)+1; got > most || got < most-2 {
				t.Errorf("%d deleted after %d s, want at most %d", got, second+1, most)
			}
		}
		bubble.Pass(2 * time.Second)
		expect.Equal(t, "removed", 100, len(w.removed()))
	})
}

func TestMaxInFlightLimitsDeletions(t *testing.T) {
	inBubble(t, retention.Options{MaxInFlight: 3}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(time.Second, retention.Removed, false))
		w.listed(rows("x", 9, w.began.Add(-time.Hour))...)
		for round := range 3 {
			synctest.Wait()
			expect.Equal(t, "attempts", 3*(round+1), len(w.attempted()))
			bubble.Pass(time.Second)
		}
	})
}

// TestObjectsOfADeletedNamespaceAreForgotten: the check of such a namespace never succeeds again.
func TestObjectsOfADeletedNamespaceAreForgotten(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.set(func() {
			w.check = func(string) error { return fmt.Errorf("%w: team-a is terminating", preflight.ErrNamespace) }
		})
		w.use(fixture.Rule("a"))
		due := rows("x", 100, w.began.Add(-time.Hour))
		w.source(0).list(due...)
		bubble.Pass(time.Minute)
		for _, r := range due {
			w.source(0).sink.Forget(r.UID)
		}
		bubble.Pass(time.Minute)
		var before, after int
		w.set(func() { before = w.checks })
		bubble.Pass(time.Hour)
		w.set(func() { after = w.checks })
		expect.Equal(t, "checks in an hour for objects that do not exist", 0, after-before)
	})
}
