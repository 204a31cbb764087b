// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const (
	backlog   = 5_000                 // due objects of other namespaces
	quick     = 40 * time.Millisecond // duration of their DELETEs: 400 a second, twice the rate of a server with two cores
	rhythm    = 100 * time.Millisecond
	scheduled = 100 // objects of another namespace that become due later, one each rhythm
)

// drain deletes a backlog, while bad namespaces with some objects each have DELETEs that end as bad says. It returns the
// time that the backlog took, and the longest delay of the scheduled objects.
func drain(t *testing.T, namespaces, each int, bad func() retention.Outcome, obstruct ...func(*harness)) (took, late time.Duration) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		var inBad, good atomic.Int64
		for _, o := range obstruct {
			o(w)
		}
		w.onDelete(func(p policy.DeletePermit) retention.Outcome {
			if strings.HasPrefix(p.Subject().Namespace, "bad") {
				inBad.Add(1)
				defer inBad.Add(-1)
				return bad()
			}
			time.Sleep(quick)
			if strings.HasPrefix(p.Subject().Namespace, "good") {
				good.Add(1)
			}
			return retention.Outcome{Result: retention.Removed}
		})
		w.use(fixture.Rule("a"), own("bad-00", "b"))
		all := append(w.spread("bad", namespaces, each), w.spread("good", 20, backlog/20)...)
		for i := range scheduled {
			all = append(all, row(fmt.Sprintf("later%05d", i), w.began.Add(-time.Hour+time.Duration(i)*rhythm), in("quiet")))
		}
		w.source(0).list(all...)
		for good.Load() < backlog && time.Since(w.began) < 10*time.Minute {
			bubble.Pass(quick)
		}
		took = time.Since(w.began)
		bubble.Pass(max(scheduled*rhythm, time.Minute))
		if n := inBad.Load(); n > 16 {
			t.Errorf("%d DELETEs in flight in bad namespaces after a minute", n)
		}
		late = time.Hour
		if went := w.lateness("later"); len(went) == scheduled {
			late = slices.Max(went)
		}
	})
	return took, late
}

var undisturbed struct {
	sync.Once
	took time.Duration
}

// drainAlone returns the time that a backlog takes without bad namespaces.
func drainAlone(t *testing.T) time.Duration {
	undisturbed.Do(func() { undisturbed.took, _ = drain(t, 0, 0, nil) })
	return undisturbed.took
}

// spread returns due subjects of many namespaces, some in each.
func (w *harness) spread(prefix string, namespaces, each int) (all []*draft) {
	for i := range namespaces {
		all = append(all, rows(fmt.Sprintf("%s%02d-", prefix, i), each, w.began.Add(-2*time.Hour), in(fmt.Sprintf("%s-%02d", prefix, i)))...)
	}
	return all
}

// lateness returns how late the objects with a prefix were deleted. One of them becomes due each rhythm.
func (w *harness) lateness(prefix string) (all []time.Duration) {
	for _, event := range w.happened() {
		at, name, _ := strings.Cut(event, " removed ")
		var n int
		if _, err := fmt.Sscanf(name, prefix+"%d", &n); err != nil {
			continue
		}
		when, err := time.ParseDuration(at)
		expect.NoError(w.t, err)
		all = append(all, when-time.Duration(n)*rhythm)
	}
	return all
}

// after makes a DELETE take a while and then end with a result.
func after(d time.Duration, result retention.Result, unsure bool) func() retention.Outcome {
	return func() retention.Outcome {
		time.Sleep(d)
		o := retention.Outcome{Result: result, Unsure: unsure}
		if result != retention.Removed {
			o.Err = errors.New("no")
		}
		return o
	}
}

// TestFailingNamespacesDelayNoOthers: if DELETEs in one namespace are slow or fail, others keep nine tenths of their rate,
// and their objects are less than a second late. If many namespaces are slow or fail, the bounds are wider.
func TestFailingNamespacesDelayNoOthers(t *testing.T) {
	alone := drainAlone(t)
	for name, test := range map[string]struct {
		namespaces, each int
		bad              func() retention.Outcome
	}{
		"a slow webhook fails":                                 {1, 500, after(10*time.Second, retention.Unadmitted, true)},
		"slow webhooks fail in 50 namespaces":                  {50, 100, after(10*time.Second, retention.Unadmitted, true)},
		"a webhook fails at once":                              {1, 500, after(5*time.Millisecond, retention.Unadmitted, true)},
		"webhooks fail at once in 50 namespaces":               {50, 100, after(5*time.Millisecond, retention.Unadmitted, true)},
		"a webhook is slower than the timeout":                 {1, 500, after(20*time.Second, retention.Failed, true)},
		"50 webhooks are slower than the timeout":              {50, 100, after(20*time.Second, retention.Failed, true)},
		"the server fails for one namespace":                   {1, 500, after(5*time.Millisecond, retention.Busy, true)},
		"the server fails for five namespaces":                 {5, 500, after(200*time.Millisecond, retention.Busy, true)},
		"a webhook is slow to refuse":                          {1, 500, after(10*time.Second, retention.Refused, false)},
		"webhooks of 50 namespaces are slow to refuse":         {50, 100, after(10*time.Second, retention.Refused, false)},
		"a webhook is slow to allow":                           {1, 500, after(10*time.Second, retention.Removed, false)},
		"webhooks of 50 namespaces are slow to allow":          {50, 100, after(10*time.Second, retention.Removed, false)},
		"the permission to delete is missing":                  {1, 500, after(5*time.Millisecond, retention.Denied, false)},
		"the permission to delete is missing in 50 namespaces": {50, 100, after(5*time.Millisecond, retention.Denied, false)},
		"the permission is missing, and the answer is slow":    {1, 500, after(time.Second, retention.Denied, false)},
		"50 webhooks fail after 600 ms":                        {50, 100, after(600*time.Millisecond, retention.Unadmitted, true)},
	} {
		t.Run(name, func(t *testing.T) {
			took, late := drain(t, test.namespaces, test.each, test.bad)
			ratio := alone.Seconds() / took.Seconds()
			t.Logf("took %s, and %s without bad namespaces: %.3f of the rate; at most %s late", took, alone, ratio, late)
			leastRatio, mostLate := 0.9, time.Second
			if test.namespaces > 1 { // the order of goroutines decides how many are slow at the same moment
				leastRatio, mostLate = 0.8, 3*time.Second
			}
			if ratio < leastRatio {
				t.Errorf("%.3f of the rate", ratio)
			}
			if late >= mostLate {
				t.Errorf("%s late", late)
			}
		})
	}
}

// TestSlowChecksInANamespaceDelayNoOther: neither do checks that prevent its deletions, nor checks before a quick DELETE.
func TestSlowChecksInANamespaceDelayNoOther(t *testing.T) {
	alone := drainAlone(t)
	for name, obstruct := range map[string]func(*harness){
		"its permissions": func(w *harness) {
			w.permit = func(r *policy.Rule) error {
				if r.Namespace == "" {
					return nil
				}
				time.Sleep(900 * time.Millisecond)
				return errors.New("no answer")
			}
		},
		"its policies are being compiled": func(w *harness) {
			w.check = func(namespace string) error {
				if namespace != "bad-00" {
					return nil
				}
				time.Sleep(300 * time.Millisecond)
				return fmt.Errorf("%w: compiling", preflight.ErrNamespace)
			}
		},
		"reading its objects": func(w *harness) {
			w.prepared = func(p policy.DeletePermit) {
				if p.Subject().Namespace == "bad-00" {
					time.Sleep(3 * time.Second)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			took, late := drain(t, 1, 1_000, after(quick, retention.Removed, false), obstruct)
			ratio := alone.Seconds() / took.Seconds()
			t.Logf("took %s, and %s without bad namespaces: %.3f of the rate; at most %s late", took, alone, ratio, late)
			if ratio < 0.9 || late >= time.Second {
				t.Errorf("%.3f of the rate, %s late", ratio, late)
			}
		})
	}
}

// TestFailingNamespaceIsAskedOnceAtATime, even with a large backlog. All such namespaces together have at most four
// requests in flight.
func TestFailingNamespaceIsAskedOnceAtATime(t *testing.T) {
	for name, test := range map[string]struct {
		namespaces, most int
		bad              func() retention.Outcome
	}{
		"one namespace":                {1, 1, after(10*time.Second, retention.Unadmitted, true)},
		"one namespace, slow refusals": {1, 1, after(10*time.Second, retention.Refused, false)},
		"three namespaces":             {3, 3, after(10*time.Second, retention.Unadmitted, true)},
		"fifty namespaces":             {50, 4, after(10*time.Second, retention.Unadmitted, true)},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			var mu sync.Mutex
			underWay, all := map[string]int{}, 0
			w.onDelete(func(p policy.DeletePermit) retention.Outcome {
				in := p.Subject().Namespace
				mu.Lock()
				all++
				underWay[in]++
				if known := time.Since(w.began) > 15*time.Second; known && (underWay[in] > 1 || all > test.most) {
					t.Errorf("%d requests in flight in %s, %d in all", underWay[in], in, all)
				}
				mu.Unlock()
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					all--
					underWay[in]--
				}()
				return test.bad()
			})
			w.listed(w.spread("bad", test.namespaces, 100)...)
			bubble.Pass(10 * time.Minute)
			if n := len(w.attempted()); n < 59*test.most {
				t.Errorf("%d attempts in ten minutes", n)
			}
		})
	}
}

// TestRecoveredNamespaceIsThrottledNoMore: when the webhook answers again, all waiting objects are deleted, without
// throttling.
func TestRecoveredNamespaceIsThrottledNoMore(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		bad := after(10*time.Second, retention.Unadmitted, true)
		w.set(func() { w.outcome = func(policy.DeletePermit) retention.Outcome { return bad() } })
		w.use(fixture.Rule("a"))
		w.use(fixture.Rule("a"), fixture.Rule("p", fixture.About(fixture.Pods)))
		w.source(0).list(rows("x", 1_000, w.began.Add(-2*time.Hour))...)
		bubble.Pass(time.Minute + time.Millisecond)
		expect.Equal(t, "throttled", [][]string{{"team-a"}, nil}, [][]string{w.states()["Job"].Throttled, w.states()["Pod"].Throttled})
		w.set(func() {
			w.outcome = func(policy.DeletePermit) retention.Outcome { return after(quick, retention.Removed, false)() }
		})
		bubble.Pass(20 * time.Second) // the attempt in flight, then 1,000 at 400 a second, and backoffs
		if n := len(w.removed()); n < 990 {
			t.Errorf("%d of 1000 deleted 20 s after the webhook has recovered", n)
		}
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", 1_000, len(w.removed()))
		bubble.Pass(2 * time.Minute)
		expect.Equal(t, "throttled in the end", nil, w.states()["Job"].Throttled)
		expect.Equal(t, "namespaces in memory", 0, w.Loads())
	})
}

// TestAttemptThatHangsStopsItsNamespaceForAWhileOnly, even if another attempt in it has failed since.
func TestAttemptThatHangsStopsItsNamespaceForAWhileOnly(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		ends, failed := make(chan struct{}), false
		w.onDelete(func(p policy.DeletePermit) retention.Outcome {
			switch name := p.Subject().Name; {
			case strings.HasPrefix(name, "hangs"):
				<-ends
			case strings.HasPrefix(name, "fails") && !failed:
				failed = true
				return after(quick, retention.Failed, true)()
			}
			return after(quick, retention.Removed, false)()
		})
		w.listed(rows("hangs", 1, w.began.Add(-2*time.Hour))...)
		bubble.Pass(time.Second)
		w.source(0).apply(row("fails", w.began.Add(-2*time.Hour)))
		bubble.Pass(time.Second)
		for _, later := range rows("later", 100, w.began.Add(-2*time.Hour)) {
			w.source(0).apply(later)
		}
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "deleted while it hangs", 101, len(w.removed()))
		close(ends)
		bubble.Pass(time.Second)
		expect.Equal(t, "removed", 102, len(w.removed()))
	})
}

// TestNamespaceThatFailsNowAndThenStaysThrottled: successes before a failure do not count towards the end of the
// throttling.
func TestNamespaceThatFailsNowAndThenStaysThrottled(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		var n atomic.Int64
		w.onDelete(func(policy.DeletePermit) retention.Outcome {
			if n.Add(1)%5 == 0 {
				return after(quick, retention.Unadmitted, true)()
			}
			return after(quick, retention.Removed, false)()
		})
		w.listed(rows("x", 2_000, w.began.Add(-2*time.Hour))...)
		bubble.Pass(time.Second)
		for range 500 {
			bubble.Pass(10 * time.Millisecond)
			if len(w.states()["Job"].Throttled) == 0 {
				t.Fatalf("the namespace is not throttled after %d attempts, and every fifth fails", n.Load())
			}
		}
	})
}

// TestNamespaceThatAnswersSlowlyStaysThrottled as long as its answers are slow, even if they are successes.
func TestNamespaceThatAnswersSlowlyStaysThrottled(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(300*time.Millisecond, retention.Removed, false))
		w.listed(rows("slow", 2_000, w.began.Add(-2*time.Hour))...)
		bubble.Pass(time.Second)
		for at := range 50 {
			if throttled := w.states()["Job"].Throttled; len(throttled) == 0 {
				t.Fatalf("not throttled after %d00 ms", 10+at)
			}
			bubble.Pass(100 * time.Millisecond)
		}
	})
}

// TestLimiterLowersConcurrencyForAFailingServer: DELETEs fail in all namespaces.
func TestLimiterLowersConcurrencyForAFailingServer(t *testing.T) {
	for name, bad := range map[string]func() retention.Outcome{
		"at once":           after(20*time.Millisecond, retention.Busy, true),
		"after ten seconds": after(10*time.Second, retention.Busy, true),
		"without an answer": after(20*time.Second, retention.Failed, true),
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			var underWay atomic.Int64
			w.onEachDelete(func() retention.Outcome {
				underWay.Add(1)
				defer underWay.Add(-1)
				if n, at := underWay.Load(), time.Since(w.began); n > 5 && at > time.Minute {
					t.Errorf("%d requests in flight after %s", n, at)
				}
				return bad()
			})
			w.listed(w.spread("good", 50, 20)...)
			bubble.Pass(2 * time.Minute)
			w.onEachDelete(after(quick, retention.Removed, false))
			bubble.Pass(time.Minute)
			expect.Equal(t, "deleted after the server recovers", 1_000, len(w.removed()))
		})
	}
}

// TestStormOf429Passes: it throttles no namespace, and deletions are as fast as before afterwards.
func TestStormOf429Passes(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		const storm = 5 * time.Second
		w.onDelete(func(p policy.DeletePermit) retention.Outcome {
			switch {
			case strings.HasPrefix(p.Subject().Namespace, "bad"):
				return after(10*time.Second, retention.Unadmitted, true)()
			case time.Since(w.began) < storm:
				o := after(quick, retention.Busy, false)()
				o.RetryAfter = time.Second
				return o
			default:
				return after(quick, retention.Removed, false)()
			}
		})
		w.listed(append(w.spread("bad", 1, 500), w.spread("good", 20, 200)...)...)
		bubble.Pass(storm)
		if n := len(w.attempted()); n > 60 {
			t.Errorf("%d attempts in a storm of %s with a Retry-After of a second", n, storm)
		}
		bubble.Pass(12 * time.Second) // ten seconds at 400 a second, and the time to restore the limit
		if n := count(w.removed(), "good"); n < 3_980 {
			t.Errorf("%d of 4000 deleted after the storm", n)
		}
	})
}

// TestA429InAThrottledNamespaceRestsAll: a 429 concerns the API server, in any namespace.
func TestA429InAThrottledNamespaceRestsAll(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		var n atomic.Int64
		w.onDelete(func(p policy.DeletePermit) retention.Outcome {
			switch bad := p.Subject().Namespace == "bad-00"; {
			case bad && n.Add(1) == 1:
				return after(quick, retention.Unadmitted, true)()
			case bad && n.Load() == 2:
				return retention.Outcome{Result: retention.Busy, RetryAfter: 20 * time.Second, Err: errors.New("too many requests")}
			}
			return after(quick, retention.Removed, false)()
		})
		w.listed(row("x", w.began.Add(-2*time.Hour), in("bad-00")))
		bubble.Pass(time.Second)
		expect.Equal(t, "attempts in the namespace", int64(2), n.Load())
		for _, good := range rows("good", 10, w.began.Add(-2*time.Hour), in("good-00")) {
			w.source(0).apply(good)
		}
		bubble.Pass(15 * time.Second)
		expect.Equal(t, "deleted during Retry-After", []string{}, w.removed())
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "removed", 11, len(w.removed()))
	})
}

// TestThrottledNamespacesWaitForRetryAfter of an answer in another namespace.
func TestThrottledNamespacesWaitForRetryAfter(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		var n atomic.Int64
		var answered atomic.Bool
		w.onDelete(func(p policy.DeletePermit) retention.Outcome {
			if p.Subject().Namespace == "bad-00" {
				n.Add(1)
				return after(quick, retention.Unadmitted, true)()
			}
			if answered.Swap(true) {
				return after(quick, retention.Removed, false)()
			}
			return retention.Outcome{Result: retention.Busy, RetryAfter: 20 * time.Second, Err: errors.New("too many requests")}
		})
		w.listed(rows("bad", 20, w.began.Add(-2*time.Hour), in("bad-00"))...)
		bubble.Pass(5 * time.Second)
		w.source(0).apply(row("good", w.began.Add(-2*time.Hour), in("good-00")))
		bubble.Pass(quick)
		before := n.Load()
		bubble.Pass(15 * time.Second)
		expect.Equal(t, "attempts during Retry-After", 0, n.Load()-before)
		bubble.Pass(30 * time.Second)
		if n.Load() == before {
			t.Error("no attempts after Retry-After")
		}
	})
}

// TestBusyServerIsAskedLessInThrottledNamespacesToo, even if its 429 has no Retry-After.
func TestBusyServerIsAskedLessInThrottledNamespacesToo(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		slow := after(400*time.Millisecond, retention.Removed, false) // slow enough to throttle the namespace
		w.onEachDelete(slow)
		w.listed(rows("x", 2_000, w.began.Add(-2*time.Hour))...)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "throttled", []string{"team-a"}, w.states()["Job"].Throttled)
		w.onEachDelete(after(quick, retention.Busy, false))
		bubble.Pass(time.Second)
		before := len(w.attempted())
		bubble.Pass(time.Minute)
		if n := len(w.attempted()) - before; n < 30 || n > 70 {
			t.Errorf("%d requests in a minute to a server that answers 429, want one a second", n)
		}
		w.onEachDelete(slow)
		bubble.Pass(3 * time.Minute)
		expect.Equal(t, "deleted after the server recovers", 2_000, len(w.removed()))
	})
}

// TestDeniedNamespaceIsProbedWithADueObject, and not with one that has changed since it was due.
func TestDeniedNamespaceIsProbedWithADueObject(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(0, retention.Denied, false))
		w.listed(rows("x", 200, w.began.Add(-2*time.Hour))...)
		bubble.Pass(time.Minute)
		if n := len(w.attempted()); n < 12 || n > 12+16 {
			t.Errorf("%d attempts in a minute, want one in 5 s, and those before the first denial", n)
		}
		for i := range 199 {
			w.source(0).apply(row(fmt.Sprintf("x%05d", i), w.began.Add(-2*time.Hour), version(2), func(r *draft) { r.Facts.Eligible = false }))
		}
		w.onDelete(nil)
		bubble.Pass(6 * time.Second)
		expect.Equal(t, "removed", []string{"x00199"}, w.removed())
	})
}

// TestFailingNamespaceTakesATenthOfThePace, if the operator limits the deletions per second.
func TestFailingNamespaceTakesATenthOfThePace(t *testing.T) {
	inBubble(t, retention.Options{MaxPerSecond: 10}, func(t *testing.T, w *harness) {
		w.onDelete(func(p policy.DeletePermit) retention.Outcome {
			if strings.HasPrefix(p.Subject().Namespace, "bad") {
				return after(0, retention.Unadmitted, true)()
			}
			return retention.Outcome{Result: retention.Removed}
		})
		w.listed(append(rows("good", 1_000, w.began.Add(-2*time.Hour)), w.spread("bad", 20, 50)...)...)
		bubble.Pass(10 * time.Second) // each one has failed once or twice
		before := len(w.removed())
		bubble.Pass(50 * time.Second)
		if n := len(w.removed()) - before; n < 445 {
			t.Errorf("%d deleted in 50 s at 10 a second, want nine tenths", n)
		}
	})
}

// TestThrottledNamespaceRecordsOneDeletionAtATime, so that its entries in the ledger delay no other namespace.
func TestThrottledNamespaceRecordsOneDeletionAtATime(t *testing.T) {
	for name, takes := range map[string]time.Duration{"at once": 0, "soon": 100 * time.Millisecond, "late": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			b := &slowLedger{ledgerFake: newLedgerFake(), takes: takes}
			inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
				t.Cleanup(b.writing.Wait)
				w.onDelete(func(p policy.DeletePermit) retention.Outcome {
					if p.Subject().Namespace == "bad-00" {
						return after(10*time.Second, retention.Unadmitted, true)()
					}
					return after(quick, retention.Removed, false)()
				})
				w.listedBy(fixture.Rule("a", fixture.Counted), append(rows("bad", 500, w.began.Add(-2*time.Hour), in("bad-00")), rows("good", 500, w.began.Add(-2*time.Hour))...)...)
				bubble.Pass(30 * time.Second)
				expect.Equal(t, "removed", 500, len(w.removed()))
				before, writes := len(w.attempted()), b.written()
				bubble.Pass(10 * time.Minute)
				if n := len(w.attempted()) - before; n < 40 {
					t.Errorf("%d attempts in ten minutes, want about one in 10 s", n)
				}
				if n := b.standing(); n > 5 {
					t.Errorf("%d entries in the ledger", n)
				}
				if n := b.written() - writes; n > 1000 {
					t.Errorf("%d entries were recorded in ten minutes", n)
				}
			})
		})
	}
}

// TestThrottledNamespaceDeletesWhatItCan: objects that can be deleted do not wait long for those that cannot.
func TestThrottledNamespaceDeletesWhatItCan(t *testing.T) {
	for name, test := range map[string]struct {
		takes  time.Duration
		doubts bool
		free   int
		later  time.Duration
	}{
		"at the same time as refusals": {20 * time.Millisecond, false, 200, 0},
		"after refusals":               {20 * time.Millisecond, false, 200, time.Second},
		"after refusals without a definite answer, with slow writes": {300 * time.Millisecond, true, 5, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := &slowLedger{ledgerFake: newLedgerFake(), takes: test.takes, doubts: test.doubts}
			inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
				t.Cleanup(b.writing.Wait)
				w.onDelete(func(p policy.DeletePermit) retention.Outcome {
					if strings.HasPrefix(p.Subject().Name, "refused") {
						return after(quick, retention.Unadmitted, true)()
					}
					return after(quick, retention.Removed, false)()
				})
				w.listedBy(fixture.Rule("a", fixture.Counted), rows("refused", 8, w.began.Add(-2*time.Hour), in("team-b"))...)
				bubble.Pass(test.later)
				for _, free := range rows("free", test.free, w.began.Add(-2*time.Hour), in("team-b")) {
					w.source(0).apply(free)
				}
				bubble.Pass(20 * time.Second) // 5 to 11 seconds, by the jitter of the retries
				expect.Equal(t, "removed", test.free, len(w.removed()))
			})
		})
	}
}

// TestThrottledNamespaceLosesNone: a subject that comes alone to a throttled namespace is attempted at once, and its request stays.
func TestThrottledNamespaceLosesNone(t *testing.T) {
	b := &slowLedger{ledgerFake: newLedgerFake(), takes: 20 * time.Millisecond}
	inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
		t.Cleanup(b.writing.Wait)
		w.onDelete(func(policy.DeletePermit) retention.Outcome { return after(time.Second, retention.Removed, false)() }) // slow
		w.listedBy(fixture.Rule("a", fixture.Counted), rows("first", 1, w.began.Add(-2*time.Hour), in("team-b"))...)
		bubble.Pass(5 * time.Second)
		for _, next := range rows("next", 5, w.began.Add(-2*time.Hour), in("team-b")) {
			w.source(0).apply(next)
			bubble.Pass(5 * time.Second)
		}
		expect.Equal(t, "removed", 6, len(w.removed()))
	})
}

// TestThrottledSubjectIsRecordedDespiteChanges: policies change more often than a ledger is written. Each change queues all due
// subjects again.
func TestThrottledSubjectIsRecordedDespiteChanges(t *testing.T) {
	b := &slowLedger{ledgerFake: newLedgerFake(), takes: 700 * time.Millisecond}
	inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
		t.Cleanup(b.writing.Wait)
		w.onDelete(func(policy.DeletePermit) retention.Outcome { return after(time.Second, retention.Removed, false)() }) // slow
		rule := fixture.Rule("a", fixture.Counted)
		w.listedBy(rule, rows("old", 100, w.began.Add(-2*time.Hour), in("team-b"))...)
		bubble.Pass(5 * time.Second)
		for n := range 600 {
			changed := *rule
			changed.TTL += time.Duration(n%2) * time.Second
			w.use(&changed)
			bubble.Pass(200 * time.Millisecond)
		}
		if n := len(w.removed()); n < 50 {
			t.Errorf("%d of 100 objects deleted in two minutes", n)
		}
	})
}

// slowLedger is a ledgerFake whose writes take a while. It forgets entries that are withdrawn or have ended, and requests that are
// withdrawn. If doubts is true, it keeps uncertain ones.
type slowLedger struct {
	*ledgerFake
	takes    time.Duration
	doubts   bool
	unsure   map[policy.Subject]bool
	requests map[types.UID]int // the last one of each subject
	waiting  map[types.UID]bool

	writing sync.WaitGroup // a test waits for the end of the writes
}

func (d *slowLedger) Reserve(i policy.Intent, t policy.Target, c retention.Candidate) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting[i.Subject.UID] {
		return true
	}
	d.writes++
	request := d.next(i)
	d.waiting[i.Subject.UID] = true
	d.writing.Go(func() {
		time.Sleep(d.takes)
		d.mu.Lock()
		wanted := d.requests[i.Subject.UID] == request
		if wanted {
			delete(d.waiting, i.Subject.UID)
			d.recorded[i.Subject] = t
		}
		d.mu.Unlock()
		if wanted {
			c.Ready()
		}
	})
	return true
}

// next begins a request for a subject, and ends an earlier one. The caller holds mu.
func (d *slowLedger) next(i policy.Intent) int {
	if d.requests == nil {
		d.requests, d.waiting = map[types.UID]int{}, map[types.UID]bool{}
	}
	delete(d.waiting, i.Subject.UID)
	d.requests[i.Subject.UID]++
	return d.requests[i.Subject.UID]
}

func (d *slowLedger) Awaits(i policy.Intent, _ retention.Candidate) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting[i.Subject.UID]
}

// Withdraw takes a moment: an attempt that begins before it ends must not lose its request.
func (d *slowLedger) Withdraw(i policy.Intent) {
	time.Sleep(time.Millisecond)
	d.mu.Lock()
	d.next(i)
	d.mu.Unlock()
	d.forget(i)
}

func (d *slowLedger) forget(i policy.Intent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.unsure[i.Subject] {
		delete(d.recorded, i.Subject)
	}
}

func (d *slowLedger) Finish(i policy.Intent, _ policy.Target, o retention.Outcome) bool {
	if !i.Rule.Ledger {
		return false
	}
	d.mu.Lock()
	if d.unsure == nil {
		d.unsure = map[policy.Subject]bool{}
	}
	d.unsure[i.Subject] = d.doubts && o.Unsure
	d.mu.Unlock()
	d.forget(i)
	return true
}

func (d *slowLedger) written() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes
}

func (d *slowLedger) standing() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.recorded)
}
