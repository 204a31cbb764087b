// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
)

func TestStoppingWritesTheLastEndsAndWithdrawsTheRest(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "now-", 5, 0)
		w.add("team-a", "later-", 5, time.Second)
		bubble.Pass(600 * time.Millisecond)
		w.end()
		w.is(5, 0)
		w.begin("second")
	})
}

func TestTakeoverReadsObjectsOfOpenEntries(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.is(0, 0, "gone", "job-0", "older")
		w.use(policyOf("p", nil))
		w.objects["uid-job-0"].Ready()
		bubble.Pass(5 * time.Second)
		w.is(1, 1)
		if l := w.stored("uid-p"); l.Holder == "former" {
			t.Error("the ledger was not taken over")
		}
	}, func(w *harness) {
		w.objects["uid-older"] = &object{harness: w, namespace: "team-a", name: "older", version: 2, held: true}
		w.objects["uid-job-0"] = &object{harness: w, namespace: "team-a", name: "job-0", version: 1}
		w.ledgerOf("p", "gone uid-gone 1", "job-0 uid-job-0 1", "older uid-older 1")
	})
}

// TestTakeoverNeedsNoRoomForOpenEntries: inherited open entries already count against limits, and need no more room.
func TestTakeoverNeedsNoRoomForOpenEntries(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(2)))
		w.add("team-a", "next-", 3, 0)
		w.objects["uid-job-0"].Ready()
		w.objects["uid-job-1"].Ready()
		bubble.Pass(5 * time.Second)
		w.is(2, 0)
		if names := w.names(); len(names) != 2 || names[0][:4] != "job-" || names[1][:4] != "job-" {
			t.Errorf("deleted %q", names)
		}
	}, func(w *harness) {
		for i := range 2 {
			w.objects[types.UID("uid-job-"+itoa(i))] = &object{harness: w, namespace: "team-a", name: "job-" + itoa(i), version: 1}
		}
		w.ledgerOf("p", "job-0 uid-job-0 1", "job-1 uid-job-1 1")
	})
}

func TestManagerEndsWhenDeposed(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.edit("uid-p", func(l *v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger { l.Holder = "newer"; return l })
		w.add("team-a", "job-", 3, 0)
		bubble.Pass(5 * time.Second)
		w.endedWith(ledger.ErrDeposed)
		if n := len(w.names()); n > 0 {
			t.Errorf("%d deleted", n)
		}
	})
}

func TestLedgerThatSomebodyElseMadeIsNotTakenOver(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.ledgerOf("p") // after Open has listed the ledgers
		w.use(policyOf("p", nil))
		bubble.Pass(5 * time.Second)
		w.endedWith(ledger.ErrDeposed)
		if l := w.stored("uid-p"); l.Holder != "former" {
			t.Errorf("the holder is %s", l.Holder)
		}
	})
}

// TestLedgerThatCannotBeSealedStopsNoOther: a ledger that cannot be sealed stops only its own policy. Once it can be
// sealed, the process restarts.
func TestLedgerThatCannotBeSealedStopsNoOther(t *testing.T) {
	inBubble(t, func(w *harness) {
		bubble.Pass(20 * time.Second)
		<-w.opened
		w.use(policyOf("p", nil), policyOf("q", nil))
		w.add("team-a", "job-", 3, 0)
		w.add("team-a", "other-", 3, 0)
		bubble.Pass(10 * time.Second)
		w.is(3, 0)
		if n := w.stored("uid-q").Total.Deleted; n != 0 || len(w.names()) != 3 {
			t.Errorf("%d deletions counted for q; deleted %q", n, w.names())
		}
		if s, _ := w.State("uid-q"); !errors.Is(s.WriteError, errDown) {
			t.Errorf("WriteError is %v", s.WriteError)
		}
		w.setRefuse(nil)
		bubble.Pass(5 * time.Second)
		w.endedWith(ledgers.ErrLate)
	}, func(w *harness) {
		w.ledgerOf("p")
		w.ledgerOf("q")
		w.server.refuse = func(verb, name string) (error, bool) {
			if verb == "update" && name == "uid-q" {
				return errDown, false
			}
			return nil, false
		}
	})
}

func TestLedgersThatCannotBeListed(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 3, 0)
		bubble.Pass(20 * time.Second)
		<-w.opened // policies without a ledger continue
		if _, known := w.State("uid-p"); known || len(w.names()) > 0 {
			t.Error("the state of a ledger is known, or objects were deleted")
		}
		w.setRefuse(nil)
		bubble.Pass(5 * time.Second)
		w.endedWith(ledgers.ErrLate)
	}, func(w *harness) {
		w.server.refuse = func(verb, _ string) (error, bool) {
			if verb == "list" {
				return errDown, false
			}
			return nil, false
		}
	})
}

// TestLedgersThatCannotBeSealedDelayTheOthersForABoundedTime: each write of 60 ledgers hangs until its timeout.
func TestLedgersThatCannotBeSealedDelayTheOthersForABoundedTime(t *testing.T) {
	inBubble(t, func(w *harness) {
		began := time.Now()
		<-w.opened
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("Open took %s", took)
		}
	}, func(w *harness) {
		for i := range 60 {
			w.ledgerOf("slow-" + strconv.Itoa(i))
		}
		w.hangs = func(verb, name string) time.Duration {
			if verb == "update" && strings.HasPrefix(name, "uid-slow") {
				return time.Hour
			}
			return 0
		}
	})
}
