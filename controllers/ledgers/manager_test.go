// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestLedgerWritesAreBatchedAndLimited(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 2000, 0)
		bubble.Pass(10 * time.Second)
		w.is(2000, 0)
		if n := w.count("update", 0); n > 15 {
			t.Errorf("%d writes for 2000 deletions", n)
		}
		for range 300 { // a trickle
			w.add("team-a", "drop-"+w.now().String(), 1, 0)
			bubble.Pass(10 * time.Millisecond)
		}
		bubble.Pass(5 * time.Second)
		w.is(2300, 0)
		if n := w.most("update"); n > 10 {
			t.Errorf("%d writes within a second", n)
		}
		idle := w.now()
		bubble.Pass(time.Hour)
		if n := w.count("update", idle) + w.count("get", idle); n > 0 {
			t.Errorf("%d requests with nothing to do", n)
		}
		if requests, standing := w.Remembered("uid-p"); requests+standing > 0 {
			t.Errorf("%d requests in memory, %d recorded and not sent", requests, standing)
		}
	})
}

func TestLedgerRecordsDeletionsASecondAhead(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 3, 10*time.Second)
		bubble.Pass(9500 * time.Millisecond)
		w.is(0, 0, "job-0", "job-1", "job-2")
		writes := w.count("update", 0)
		began := w.now()
		bubble.Pass(515 * time.Millisecond)
		expect.Equal(t, "deleted within 10 ms of their due time", 3, len(w.names()))
		if n := w.count("update", began); n > 0 {
			t.Errorf("%d writes when they were due, after %d before", n, writes)
		}
		bubble.Pass(1500 * time.Millisecond)
		w.is(3, 0)
	})
}

func TestNamespacesTakeTurns(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(200)))
		w.add("team-a", "many-", 1000, 0)
		bubble.Pass(20 * time.Millisecond)
		w.add("team-b", "few-", 50, 0)
		bubble.Pass(10 * time.Minute)
		names := w.names()
		for i := range 50 {
			if !slices.Contains(names[:min(len(names), 400)], "few-"+itoa(i)) {
				t.Errorf("few-%d waited for the backlog of another namespace", i)
			}
		}
	})
}

func TestLedgerWaitsUntilTheStatusNamesIt(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.server.unrecorded = true
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 3, 0)
		began := w.now()
		bubble.Pass(time.Minute)
		w.is(0, 0)
		if n := w.count("get", began) + w.count("update", began); n > 3 {
			t.Errorf("%d requests before the status names the ledger", n)
		}
		w.server.set(func() { w.server.unrecorded = false })
		w.report()
		bubble.Pass(3 * time.Second)
		w.is(3, 0)
	})
}

func TestLostAnswerToAWriteCountsNothingTwice(t *testing.T) {
	for name, landed := range map[string]bool{"it was written": true, "it was not written": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(policyOf("p", limited(20))) // the exact number of deletions
				n := 0
				w.setRefuse(func(verb, _ string) (error, bool) {
					if n++; verb == "update" && n%2 == 0 {
						return errLost, landed
					}
					return nil, false
				})
				w.add("team-a", "job-", 20, 0)
				bubble.Pass(30 * time.Second)
				w.setRefuse(nil)
				bubble.Pass(10 * time.Second)
				w.is(20, 0)
			})
		})
	}
}

// TestEndIsNotForgotten: the last write is lost, and nothing else happens. The ended entry is written nevertheless.
func TestEndIsNotForgotten(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 1, 0)
		bubble.Pass(500 * time.Millisecond)
		w.is(0, 0, "job-0")
		refused := 0
		w.setRefuse(func(verb, _ string) (error, bool) {
			if verb == "update" && refused == 0 {
				refused++
				return errDown, false
			}
			return nil, false
		})
		bubble.Pass(10 * time.Second)
		if refused == 0 {
			t.Fatal("no write was refused")
		}
		w.is(1, 0)
	})
}

func TestEditIsGotOverAtOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.edit("uid-p", func(l *v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger {
			l.Labels = map[string]string{"a": "b"}
			return l
		})
		w.add("team-a", "job-", 3, 0)
		bubble.Pass(time.Second)
		expect.Equal(t, "deleted within a second of an edit", 3, len(w.names()))
	})
}

func TestWriteErrorsAreRetriedWithPauses(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.setRefuse(func(verb, _ string) (error, bool) { return errDown, false })
		began := w.now()
		for range 1000 { // each one that becomes due wakes the worker
			w.add("team-a", "job-"+w.now().String(), 1, 0)
			bubble.Pass(10 * time.Millisecond)
		}
		if n := w.count("get", began) + w.count("update", began); n > 10 {
			t.Errorf("%d requests in ten seconds to an API server that is down", n)
		}
		if s, _ := w.State("uid-p"); !errors.Is(s.WriteError, errDown) {
			t.Errorf("WriteError is %v", s.WriteError)
		}
		w.setRefuse(nil)
		bubble.Pass(20 * time.Second)
		w.is(1000, 0)
	})
}

func TestRefusedDeletionsStopNoOthers(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(400)))
		w.answer = func(o *object) *retention.Outcome {
			if o.namespace == "refused" {
				return &retention.Outcome{Result: retention.Refused, Err: errors.New("no")}
			}
			return nil
		}
		w.add("refused", "refused-", 300, 0)
		bubble.Pass(2 * time.Second)
		w.add("team-a", "job-", 300, 0)
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "deleted while other deletions are refused", 300, len(w.names()))
	})
}

// TestDeniedEntriesMakeRoomForOthers: deletions are recorded, then their namespace loses the permission. They make room
// for others.
func TestDeniedEntriesMakeRoomForOthers(t *testing.T) {
	for name, limits := range map[string]*policy.Limits{"without limits": nil, "within limits": limited(400)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(policyOf("p", limits))
				w.add("denied", "stuck-", 900, 10*time.Second)
				bubble.Pass(9500 * time.Millisecond)
				w.set(func() { w.denied["denied"] = true })
				bubble.Pass(time.Second)
				w.add("team-a", "job-", 300, 0)
				bubble.Pass(2 * time.Minute)
				expect.Equal(t, "deleted while deletions in another namespace are not permitted", 300, len(w.names()))
				w.set(func() { w.denied["denied"] = false })
				bubble.Pass(10 * time.Minute)
				w.is(1200, 0)
			})
		})
	}
}

// TestFits: limits must have room for what counts against them, for what waits and for more.
func TestFits(t *testing.T) {
	inBubble(t, func(w *harness) {
		fits := func(policyUID types.UID) (more int) {
			for more = -1; more < 10 && w.Fits(policy.Intent{Rule: &policy.Rule{PolicyUID: policyUID}}, more+1); more++ {
			}
			return more
		}
		w.use(policyOf("p", limited(5)))
		expect.Equal(t, "before the first deletion", 5, fits("uid-p"))
		w.add("team-a", "job-", 3, 0)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "after three deletions", 2, fits("uid-p"))
		w.add("team-a", "more-", 4, 0)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "while two wait", -1, fits("uid-p"))
		w.use(policyOf("p", nil))
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "without limits", 10, fits("uid-p"))
		expect.Equal(t, "a policy without a ledger", -1, fits("uid-other"))
	})
}

func TestLimitsWaitAndGoOn(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(5)))
		w.add("team-a", "job-", 12, 0)
		bubble.Pass(10 * time.Second)
		w.is(5, 0)
		s, _ := w.State("uid-p")
		if s.Charged != 5 || s.Waiting != 7 || s.FreeAt.Before(time.Now().Add(50*time.Second)) {
			t.Errorf("charged %d, waiting %d, free at %s", s.Charged, s.Waiting, s.FreeAt)
		}
		waiting := w.now()
		bubble.Pass(30 * time.Second)
		if n := w.count("update", waiting); n > 0 {
			t.Errorf("%d writes while limits permit no deletions", n)
		}
		bubble.Pass(time.Until(s.FreeAt) + 5*time.Second)
		w.is(10, 0)
		w.use(policyOf("p", limited(6))) // an edit
		bubble.Pass(5 * time.Second)
		w.is(11, 0)
		w.use(policyOf("p", limited(0)))
		bubble.Pass(10 * time.Minute)
		w.is(11, 0)
		w.use(policyOf("p", nil))
		bubble.Pass(5 * time.Second)
		w.is(12, 0)
	})
}

func TestLimitsThatAreLoweredStopWhatIsWrittenDown(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(1000)))
		w.add("team-a", "job-", 300, 10*time.Second)
		bubble.Pass(9700 * time.Millisecond)
		w.use(policyOf("p", limited(3)))
		bubble.Pass(5 * time.Second)
		w.is(3, 0)
		w.use(policyOf("p", limited(0)))
		bubble.Pass(time.Minute)
		w.is(3, 0)
	})
}

func TestLimitsCountEarlierDeletionsWhenRestored(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(5)))
		w.add("team-a", "job-", 5, 0)
		bubble.Pass(5 * time.Second)
		w.is(5, 0)
		w.use(policyOf("p", nil))
		w.add("team-a", "more-", 2, 0)
		bubble.Pass(5 * time.Second)
		w.is(7, 0)
		unread := limited(5)
		unread.Window = 0
		for _, limits := range []*policy.Limits{unread, limited(7)} {
			w.use(policyOf("p", limits))
			w.add("team-a", "again-", 2, 0)
			bubble.Pass(5 * time.Second)
			w.is(7, 0)
		}
	})
}

func TestLedgerRecordsNothingDuringClockSkew(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.set(func() { w.doubt = errors.New("clock skew") })
		w.add("team-a", "job-", 5, 0)
		bubble.Pass(time.Minute)
		w.is(0, 0)
		w.set(func() { w.doubt = nil })
		bubble.Pass(5 * time.Second)
		w.is(5, 0)
	})
}

func TestEntryIsReplacedWhenItsTermsChange(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 3, 10*time.Second)
		bubble.Pass(9700 * time.Millisecond)
		w.mu.Lock()
		for _, o := range w.objects {
			o.terms = "Edited"
		}
		w.mu.Unlock()
		bubble.Pass(5 * time.Second)
		w.is(3, 0)
		if l := w.stored("uid-p"); len(l.Rules) != 1 || len(l.Rules[0].Outcomes) != 1 || l.Rules[0].Outcomes[0].Name != "Edited" {
			t.Errorf("the old outcome was counted: %+v", l.Rules)
		}
	})
}

func TestPruneQueueDropsForgottenSubjects(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(0)))
		w.add("team-a", "job-", 100, 0)
		bubble.Pass(5 * time.Second)
		for i := range 99 {
			w.forget("job-" + itoa(i))
		}
		bubble.Pass(2 * time.Minute)
		if s, _ := w.State("uid-p"); s.Waiting != 1 {
			t.Errorf("%d wait", s.Waiting)
		}
		w.add("team-a", "more-", 5000, 0) // a long queue is pruned sooner
		bubble.Pass(time.Second)
		w.set(func() { clear(w.objects) })
		w.add("team-a", "last-", 5000, 0)
		bubble.Pass(time.Second)
		if s, _ := w.State("uid-p"); s.Waiting > 6000 {
			t.Errorf("%d wait, and 5000 of them no longer exist", s.Waiting)
		}
	})
}

func TestObjectThatChangesOrIsHeldIsWithdrawn(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(2)))
		w.add("team-a", "job-", 2, 10*time.Second)
		bubble.Pass(9500 * time.Millisecond)
		w.is(0, 0, "job-0", "job-1")
		w.change("job-0", func(o *object) { o.held = true })
		w.change("job-1", func(o *object) { o.due = time.Now().Add(time.Hour) })
		bubble.Pass(5 * time.Second)
		w.is(0, 0)
		w.add("team-a", "next-", 2, 0)
		bubble.Pass(3 * time.Second)
		w.is(2, 0)
	})
}

// TestPutOffSubjectTakesNoRoom: a subject that the reconciler puts off takes no room, also if it waits for room or the worker writes its
// entry. Otherwise a throttled namespace would use up the limits for subjects whose turn comes much later.
func TestPutOffSubjectTakesNoRoom(t *testing.T) {
	putOff := func(w *harness, names ...string) {
		for _, name := range names {
			w.mu.Lock()
			o := w.objects[types.UID("uid-"+name)]
			w.mu.Unlock()
			i, _ := o.Intent()
			w.Withdraw(i)
		}
	}
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(2)))
		w.add("team-a", "first-", 2, 0)
		bubble.Pass(3 * time.Second)
		w.is(2, 0)
		w.add("team-a", "job-", 2, 0)
		bubble.Pass(time.Second)
		putOff(w, "job-0", "job-1")
		w.add("team-a", "next-", 2, 0)
		bubble.Pass(10 * time.Minute)
		w.is(4, 0)
		expect.Equal(t, "deleted", []string{"next-0", "next-1"}, slices.Sorted(slices.Values(w.names()[2:])))
		w.change("job-1", func(*object) {}) // reserves it
		bubble.Pass(10 * time.Minute)
		w.is(5, 0)
	})
	for _, again := range []bool{false, true} {
		inBubble(t, func(w *harness) {
			w.use(policyOf("p", limited(2)))
			w.add("team-a", "first-", 1, 0)
			bubble.Pass(10 * time.Second)
			w.is(1, 0)
			w.server.set(func() {
				w.hangs = func(verb, _ string) time.Duration { return map[string]time.Duration{"update": 2 * time.Second}[verb] }
			})
			w.add("team-a", "job-", 1, 0)
			bubble.Pass(time.Second)
			putOff(w, "job-0")
			if again {
				w.change("job-0", func(o *object) { o.version-- })
			}
			bubble.Pass(10 * time.Second)
			w.is(map[bool]int64{false: 1, true: 2}[again], 0)
		})
	}
}

// TestAwaits: a subject waits while it is queued and while its entry is written.
func TestAwaits(t *testing.T) {
	inBubble(t, func(w *harness) {
		next := &again{}
		about := func(name string) policy.Intent {
			w.mu.Lock()
			next.Candidate = w.objects[types.UID("uid-"+name)]
			w.mu.Unlock()
			i, _ := next.Intent()
			return i
		}
		awaits := func(name string) bool { return w.Awaits(about(name), next) }
		w.use(policyOf("p", limited(1)))
		w.add("team-a", "first-", 1, 0)
		bubble.Pass(3 * time.Second)
		w.is(1, 0)
		w.add("team-a", "job-", 1, 0)
		bubble.Pass(time.Second)
		expect.Equal(t, "waits for room", true, awaits("job-0"))
		bubble.Pass(10 * time.Minute)
		w.is(2, 0)
		w.server.set(func() {
			w.hangs = func(verb, _ string) time.Duration { return map[string]time.Duration{"update": 2 * time.Second}[verb] }
		})
		bubble.Pass(10 * time.Minute)
		w.add("team-a", "next-", 1, 0)
		bubble.Pass(time.Second)
		expect.Equal(t, "waits for the write", true, awaits("next-0"))
		bubble.Pass(time.Minute)
		w.is(3, 0)
		expect.Equal(t, "calls of Ready of the candidates that asked", 2, int(next.calls.Load()))
		bubble.Pass(10 * time.Minute)
		w.add("team-a", "last-", 1, 0)
		bubble.Pass(time.Second)
		w.Withdraw(about("last-0"))
		expect.Equal(t, "waits although it was put off", false, awaits("last-0"))
		bubble.Pass(time.Minute)
		expect.Equal(t, "calls of Ready after it was put off", 2, int(next.calls.Load()))
	})
}

// again is the candidate of a subject that is queued again.
type again struct {
	retention.Candidate
	calls atomic.Int32
}

func (c *again) Ready() {
	c.calls.Add(1)
	c.Candidate.Ready()
}

// TestEntryOfALostWriteIsWithdrawn: when the entry of a lost write is found, its version of the object no longer
// exists.
func TestEntryOfALostWriteIsWithdrawn(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.setRefuse(func(verb, _ string) (error, bool) {
			if verb == "update" {
				return errLost, true
			}
			return nil, false
		})
		w.add("team-a", "job-", 1, 0)
		bubble.Pass(500 * time.Millisecond)
		w.setRefuse(nil)
		w.is(0, 0, "job-0")
		w.change("job-0", func(*object) {})
		bubble.Pass(10 * time.Second)
		w.is(1, 0)
	})
}

func TestDeleteNobodySawTheAnswerTo(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.answer = func(o *object) *retention.Outcome {
			if o.name == "job-0" { // the DELETE took effect
				delete(w.objects, o.uid())
			}
			return &retention.Outcome{Unsure: true, Err: errLost}
		}
		w.add("team-a", "job-", 2, 0)
		bubble.Pass(3500 * time.Millisecond)
		w.is(0, 1, "job-1")
		w.set(func() { w.answer = nil })
		bubble.Pass(5 * time.Second)
		w.is(1, 1)
		if requests, standing := w.Remembered("uid-p"); requests+standing > 0 {
			t.Errorf("%d requests in memory, %d recorded and not sent", requests, standing)
		}
	})
}
