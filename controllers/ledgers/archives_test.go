// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// archives plays all RetentionArchives. The mu of the harness guards it.
type archives struct {
	harness  *harness
	settings *policy.Archive // of rules; nil for none
	settled  map[string]bool // by archive and name: whether the object is gone
	down     error           // why nothing can be written
	slow     time.Duration   // to write what a read has shown
	waiting  []func()        // for results to be written
	gone     []string        // names
}

// archiving is policy p with a rule that archives.
func (w *harness) archiving() *policy.Policy {
	w.archives.settings = &policy.Archive{To: "history"}
	p := policyOf("p", nil)
	p.Rules = []*policy.Rule{{ID: policy.RuleID{Policy: "p", Rule: "old"}, Archive: w.archives.settings}}
	return p
}

// results returns what is settled.
func (a *archives) results() map[string]bool {
	a.harness.mu.Lock()
	defer a.harness.mu.Unlock()
	return maps.Clone(a.settled)
}

// Settled implements ledgers.Archives.
func (a *archives) Settled(_ context.Context, archive string, targets map[policy.Target]bool) error {
	time.Sleep(a.slow)
	a.harness.mu.Lock()
	defer a.harness.mu.Unlock()
	for t, gone := range targets {
		if a.down == nil {
			a.settled[archive+"/"+t.Name] = gone
		}
	}
	return a.down
}

// Gone implements ledgers.Archives.
func (a *archives) Gone(_ string, t policy.Target) {
	a.harness.mu.Lock()
	defer a.harness.mu.Unlock()
	a.gone = append(a.gone, t.Name)
}

// Written implements ledgers.Archives.
func (a *archives) Written(_ string, then func()) {
	a.harness.mu.Lock()
	defer a.harness.mu.Unlock()
	a.waiting = append(a.waiting, then)
}

func TestDeletionsCountAfterTheirRecordsHaveResults(t *testing.T) {
	inBubble(t, func(w *harness) {
		p := w.archiving()
		w.use(p)
		w.add("team-a", "job-", 3, 0)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", 3, len(w.names()))
		w.is(0, 0, "job-0", "job-1", "job-2")
		for _, then := range w.archives.waiting[:2] {
			then()
		}
		bubble.Pass(2 * time.Second)
		if l := w.stored("uid-p"); l.Total.Deleted != 2 {
			t.Errorf("counted %+v", l.Total)
		}
		w.end() // before the third result is written
		w.begin("second")
		w.set(func() { w.archives.down = errLost })
		w.use(p)
		bubble.Pass(10 * time.Second)
		if l := w.stored("uid-p"); l.Total.Gone != 0 {
			t.Errorf("counted %+v, although the archive cannot be written", l.Total)
		}
		if s, _ := w.State("uid-p"); !errors.Is(s.ReadError, errLost) {
			t.Errorf("error %v", s.ReadError)
		}
		w.set(func() { w.archives.down = nil })
		bubble.Pass(time.Minute)
		w.is(2, 1)
		expect.Equal(t, "results by version", 1, len(w.archives.results()))
	})
}

// TestDoubtOfRulesThatArchive: the archive has what reads have shown, of entries that end.
func TestDoubtOfRulesThatArchive(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.set(func() {
			w.objects["uid-kept"] = &object{harness: w, namespace: "team-a", name: "kept", version: 1, held: true}
			w.objects["uid-changed"] = &object{harness: w, namespace: "team-a", name: "changed", version: 2, held: true}
		})
		bubble.Pass(10 * time.Second)
		w.is(0, 0, "changed", "gone", "kept") // the policies are not known yet: it may have rules that archive
		w.use(w.archiving())
		bubble.Pass(5 * time.Second)
		w.is(0, 1, "kept")
		expect.Equal(t, "settled", map[string]bool{"history/gone": true, "history/changed": false}, w.archives.results())
		bubble.Pass(20 * time.Minute)
		w.is(0, 1)
		expect.Equal(t, "settled at last", map[string]bool{"history/gone": true, "history/changed": false, "history/kept": false}, w.archives.results())
	}, func(w *harness) {
		w.ledgerOf("p", "gone uid-gone 1", "kept uid-kept 1", "changed uid-changed 1")
	})
}

// TestDeletionThatFailsWhileAnArchiveIsWritten stays in doubt, even if a read has shown that the object is gone: the archive has no result.
func TestDeletionThatFailsWhileAnArchiveIsWritten(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.set(func() {
			w.reading, w.takes, w.archives.slow = time.Second, 5*time.Second, 10*time.Second
			w.answer = func(*object) *retention.Outcome {
				return &retention.Outcome{Result: retention.Failed, Err: errLost, Unsure: true}
			}
			w.objects["uid-busy"] = &object{harness: w, namespace: "team-a", name: "busy", version: 1}
		})
		w.use(w.archiving()) // now the reads begin
		w.objects["uid-busy"].Ready()
		bubble.Pass(100 * time.Millisecond)
		w.forget("busy")
		for range 600 {
			bubble.Pass(time.Second)
			settled := len(w.archives.results())
			if n := int(w.stored("uid-p").Total.Gone); n > settled {
				t.Fatalf("%d objects are counted as gone, and the archive has %d results", n, settled)
			}
		}
		w.is(0, 2)
	}, func(w *harness) { w.ledgerOf("p", "busy uid-busy 1", "gone uid-gone 1") })
}

// TestAnswersThatArchivesDelayKeepLaterRequests: when the answer about an earlier version comes, the next one waits already.
func TestAnswersThatArchivesDelayKeepLaterRequests(t *testing.T) {
	inBubble(t, func(w *harness) {
		const n = 310 // more than may be recorded and not sent
		w.answer = func(o *object) *retention.Outcome {
			if o.version == 1 && o.name != "next-0" {
				return &retention.Outcome{Result: retention.Gone}
			}
			return nil
		}
		w.use(w.archiving())
		w.add("team-a", "job-", n, 0)
		answer := func() {
			bubble.Pass(5 * time.Second)
			var all []func()
			w.set(func() { all, w.archives.waiting = w.archives.waiting, nil })
			for _, then := range all {
				then()
			}
		}
		bubble.Pass(5 * time.Second)
		for i := range n {
			w.change(fmt.Sprint("job-", i), func(*object) {})
		}
		for range 5 {
			answer()
		}
		expect.Equal(t, "deleted", n, len(w.names()))
		w.add("team-a", "next-", 1, 0)
		answer()
		expect.Equal(t, "deleted afterwards", n+1, len(w.names()))
	})
}

func TestOtherResultsOfRulesThatArchiveDoNotWait(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(w.archiving())
		w.answer = func(*object) *retention.Outcome {
			return &retention.Outcome{Result: retention.Refused, Err: errLost}
		}
		w.add("team-a", "job-", 1, 0)
		bubble.Pass(500 * time.Millisecond)
		expect.Equal(t, "waiting", 0, len(w.archives.waiting))
	})
}

// TestArchivesKnowWhatLedgersCountAsGone: an object that did not exist at the first request counts nowhere.
func TestArchivesKnowWhatLedgersCountAsGone(t *testing.T) {
	for name, test := range map[string]struct {
		first *retention.Outcome
		want  []string
	}{
		"absent at the first request":               {nil, nil},
		"after a request without a definite answer": {&retention.Outcome{Result: retention.Failed, Err: errLost, Unsure: true}, []string{"job-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(w.archiving())
				first := test.first
				w.answer = func(*object) *retention.Outcome {
					if o := first; o != nil {
						first = nil
						return o
					}
					return &retention.Outcome{Result: retention.Gone}
				}
				w.add("team-a", "job-", 1, 0)
				bubble.Pass(5 * time.Second)
				expect.Equal(t, "gone in the archive", test.want, w.archives.gone)
				for _, then := range w.archives.waiting {
					then()
				}
				bubble.Pass(2 * time.Second)
				if l := w.stored("uid-p"); int(l.Total.Gone) != len(test.want) {
					t.Errorf("counted %+v", l.Total)
				}
			})
		})
	}
}

// TestEntriesOfRulesThatArchiveAreWrittenInTime: the ledger is filled again before the archive has the results of what was deleted.
func TestEntriesOfRulesThatArchiveAreWrittenInTime(t *testing.T) {
	for name, test := range map[string]struct{ flush, ahead time.Duration }{
		"fast store": {50 * time.Millisecond, 1100 * time.Millisecond},
		"slow store": {700 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(w.archiving())
				w.streamOf(2500, test.flush)
				if w.least < test.ahead {
					t.Errorf("an entry was confirmed %v before it was due, want at least %v", w.least, test.ahead)
				}
				if n := w.most("update"); n > 10 {
					t.Errorf("%d writes within a second", n)
				}
				expect.Equal(t, "deleted", 2500, len(w.names()))
			})
		})
	}
}

// streamOf has n objects become due, 250 a second. The index of their archive is written when 100 results wait, and each write takes
// a while.
func (w *harness) streamOf(n int, flush time.Duration) {
	const each = 4 * time.Millisecond
	seen := map[string]bool{}
	w.least = time.Hour
	w.recorded = func(o *object) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !seen[o.name] {
			seen[o.name], w.least = true, min(w.least, time.Until(o.due))
		}
	}
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(each)
			w.archives.write(100, flush)
		}
	}()
	for i := range n {
		w.add("team-a", fmt.Sprintf("job-%d-", i), 1, 3*time.Second)
		bubble.Pass(each)
	}
	bubble.Pass(5 * time.Second)
}

// write writes the index if at least so many results wait.
func (a *archives) write(least int, takes time.Duration) {
	a.harness.mu.Lock()
	written := a.waiting
	if len(written) < least {
		written = nil
	}
	a.waiting = a.waiting[len(written):]
	a.harness.mu.Unlock()
	if len(written) > 0 {
		time.Sleep(takes)
	}
	for _, then := range written {
		then()
	}
}
