// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestMissingLedgerStopsCountedDeletions: without a Ledger, deletions that must be recorded are not sent, and delay no
// others.
func TestMissingLedgerStopsCountedDeletions(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("counted", fixture.Counted), fixture.Rule("free", fixture.About(fixture.Pods)))
		for n := range 2 {
			switch s := w.source(n); s.asked().Kind {
			case fixture.Jobs:
				s.list(rows("job-", 20, w.began)...)
			case fixture.Pods:
				s.list(row("pod", w.began))
			}
		}
		bubble.Pass(24 * time.Hour)
		expect.Equal(t, "removed", []string{"pod"}, w.removed())
		expect.Equal(t, "attempted", []string{"pod@1"}, w.attempted())
	})
}

// TestLedgerThatOpensLate: subjects that were due before are retried.
func TestLedgerThatOpensLate(t *testing.T) {
	b := newLedgerFake()
	b.unopened = 3
	inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
		w.listedBy(fixture.Rule("a", fixture.Counted), row("x", w.began))
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

// ledgerFake is a Ledger in which every reserved target is recorded at once.
type ledgerFake struct {
	retention.Ledger
	mu       sync.Mutex
	recorded map[policy.Subject]policy.Target
	writes   int
	unopened int    // as many first calls of Reserve find no open ledger
	wrote    func() // called before a candidate is ready; nil for none
	limits   bool   // limits permit no more requests
	fits     bool   // limits permit all that waits
	ended    []retention.Result
}

func newLedgerFake() *ledgerFake {
	return &ledgerFake{Ledger: retention.NoLedger, recorded: map[policy.Subject]policy.Target{}}
}

func (b *ledgerFake) Lookup(i policy.Intent) (policy.Target, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.recorded[i.Subject]
	return t, ok
}

func (b *ledgerFake) Reserve(i policy.Intent, t policy.Target, c retention.Candidate) bool {
	b.mu.Lock()
	b.writes++
	isOpen := b.writes > b.unopened
	if isOpen {
		b.recorded[i.Subject] = t
	}
	b.mu.Unlock()
	if !isOpen {
		return false
	}
	if b.wrote != nil {
		b.wrote()
	}
	c.Ready()
	return true
}

func (b *ledgerFake) Withdraw(i policy.Intent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.recorded, i.Subject)
}

func (b *ledgerFake) Fits(policy.Intent, int) bool { return b.fits }

func (b *ledgerFake) MarkSent(policy.Intent, policy.Target) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.limits
}

func (b *ledgerFake) Finish(i policy.Intent, _ policy.Target, o retention.Outcome) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i.Rule.Ledger {
		b.ended = append(b.ended, o.Result)
	}
	return i.Rule.Ledger
}

// guard ends a test that loops: the fake time does not advance in a loop.
func (w *harness) guard() {
	n := 0
	w.set(func() {
		w.check = func(string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if n++; n == 1000 {
				w.t.Errorf("a loop %s after the start of the test", time.Since(w.began))
				w.cancel()
			}
			return nil
		}
	})
}

func TestSecondBeforeIsQuiet(t *testing.T) {
	for name, rules := range map[string][]*policy.Rule{
		"a policy without a ledger decides":     {fixture.Rule("counted", fixture.Counted, fixture.TTL(time.Minute)), fixture.Rule("free")},
		"the policy with a ledger is a dry run": {fixture.Rule("counted", fixture.Counted, fixture.Mode(v1alpha1.DryRun)), fixture.Rule("free")},
		"the policy with a ledger decides":      {fixture.Rule("counted", fixture.Counted), fixture.Rule("free", fixture.TTL(time.Minute))},
	} {
		runInBubble(t, name, retention.Options{Ledger: newLedgerFake()}, func(t *testing.T, w *harness) {
			w.guard()
			w.use(rules...)
			w.source(0).list(row("x", w.began))
			bubble.Pass(time.Hour - index.Ahead/2)
			w.source(0).apply(row("y", w.began))
			bubble.Pass(index.Ahead)
			removed := w.removed()
			slices.Sort(removed)
			expect.Equal(t, "removed", []string{"x", "y"}, removed)
			if w.checks > 10 {
				t.Errorf("%d preflight checks for two deletions", w.checks)
			}
		})
	}
}

// TestClockThatIsSetBackLosesNoSubjectThatIsWrittenDown: the clock is set back after a subject becomes due, and before it
// is recorded.
func TestClockThatIsSetBackLosesNoSubjectThatIsWrittenDown(t *testing.T) {
	for _, back := range []time.Duration{index.Ahead / 2, 10 * time.Minute} {
		t.Run(back.String(), func(t *testing.T) {
			b := newLedgerFake()
			inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
				w.guard()
				b.wrote = func() { w.clock.Set(-back) }
				w.listedBy(fixture.Rule("counted", fixture.Counted), row("x", w.began.Add(-time.Hour)))
				bubble.Pass(back - time.Millisecond)
				expect.Equal(t, "removed before", []string{}, w.removed())
				bubble.Pass(2 * time.Minute)
				expect.Equal(t, "removed", []string{"x"}, w.removed())
			})
		})
	}
}

// TestRefusedOwnerIsNotAnAttempt: an owner that may not be deleted is not an attempt.
func TestRefusedOwnerIsNotAnAttempt(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		refused := &retention.Outcome{Result: retention.Refused, Err: errors.New("it is held")}
		w.resolveTarget = func(policy.Intent) (policy.Target, *retention.Outcome) { return policy.Target{}, refused }
		w.listedBy(fixture.Rule("pods", owners), row("pod", w.began, ownedBy("job")))
		bubble.Pass(time.Minute)
		if len(w.resolvesTarget()) == 0 || w.removals > 0 {
			t.Errorf("%d aims, %d attempts", len(w.resolvesTarget()), w.removals)
		}
		w.set(func() { w.resolveTarget = nil })
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "removed", []string{"job"}, w.removed())
		expect.Equal(t, "attempts", 1, w.removals)
	})
}

// TestUnsentRequestIsNoAttempt: a request that is not sent, because its answers are too old, does not concern the API
// server.
func TestUnsentRequestIsNoAttempt(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.outcome = func(policy.DeletePermit) retention.Outcome {
			return retention.Outcome{Result: retention.Failed, Err: errors.New("late"), Unsent: true}
		}
		w.listedBy(fixture.Rule("jobs", fixture.TTL(0)), row("job", w.began))
		bubble.Pass(time.Minute)
		if len(w.attempted()) == 0 || w.removals > 0 {
			t.Errorf("%d preparations, %d attempts", len(w.attempted()), w.removals)
		}
	})
}

// TestLedgerDecidesLastAndLearnsEachResult: a DELETE that the ledger does not permit is not sent, and Finish is called
// with each result.
func TestLedgerDecidesLastAndLearnsEachResult(t *testing.T) {
	for name, test := range map[string]struct {
		limits bool
		result retention.Result
	}{
		"limits were lowered": {true, retention.Removed}, "removed": {false, retention.Removed}, "refused": {false, retention.Refused},
		"changed": {false, retention.Changed}, "no answer": {false, retention.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLedgerFake()
			b.limits = test.limits
			inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
				w.outcome = func(policy.DeletePermit) retention.Outcome {
					return retention.Outcome{Result: test.result, Err: errors.New("an answer"), Unsure: test.result == retention.Failed}
				}
				w.listedBy(fixture.Rule("jobs", fixture.TTL(0), fixture.Counted), row("job", w.began))
				bubble.Pass(time.Second)
				if sent := len(w.attempted()); test.limits && sent > 0 || !test.limits && (sent == 0 || len(b.ended) != sent || b.ended[0] != test.result) {
					t.Errorf("%d requests were sent, and Finish was called with %v", sent, b.ended)
				}
			})
		})
	}
}

// TestDeletionDeniedByLedgerIsRetried: once limits permit it the subject is deleted, although nothing about it changes.
func TestDeletionDeniedByLedgerIsRetried(t *testing.T) {
	b := newLedgerFake()
	b.limits = true
	inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
		w.listedBy(fixture.Rule("jobs", fixture.TTL(0), fixture.Counted), row("job", w.began))
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted while limits do not permit it", []string{}, w.removed())
		b.mu.Lock()
		b.limits = false
		b.mu.Unlock()
		bubble.Pass(time.Second)
		expect.Equal(t, "removed", []string{"job"}, w.removed())
	})
}

// TestRetryWithdrawsLedgerEntry: if a subject is put off for any reason, its entry makes room for others until the
// retry.
func TestRetryWithdrawsLedgerEntry(t *testing.T) {
	for name, obstacle := range map[string]error{
		"the namespace check fails": fmt.Errorf("%w: it is terminating", preflight.ErrNamespace),
		"the clocks differ":         errors.New("clock skew"),
	} {
		t.Run(name, func(t *testing.T) {
			b := &slowLedger{ledgerFake: newLedgerFake()}
			inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
				t.Cleanup(b.writing.Wait)
				w.use(fixture.Rule("jobs", fixture.TTL(0), fixture.Counted))
				w.set(func() { w.check = func(string) error { return obstacle } })
				w.source(0).list(row("job", w.began))
				bubble.Pass(time.Minute)
				if b.standing() > 0 || b.written() == 0 {
					t.Errorf("%d of %d entries are still recorded while nothing can be deleted", b.standing(), b.written())
				}
				w.set(func() { w.check = nil })
				bubble.Pass(10 * time.Minute)
				expect.Equal(t, "removed", []string{"job"}, w.removed())
			})
		})
	}
}
