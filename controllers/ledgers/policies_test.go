// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func itoa(i int) string { return strconv.Itoa(i) }

func TestLedgerBeginsWithWhatWasDeletedBefore(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 2, 0)
		bubble.Pass(5 * time.Second)
		w.is(9, 0)
		if rules := w.stored("uid-p").Rules; len(rules) != 1 || rules[0].Deleted != 7 {
			t.Errorf("the ledger has rules %v", rules)
		}
	}, func(w *harness) {
		*w.server.policies["uid-p"] = v1alpha1.RetentionPolicyStatus{Deleted: 7, Rules: []v1alpha1.RuleStatus{{Name: "old", Deleted: 5}}}
	})
}

// TestLedgerCatchesUpWhenThePolicyKeepsItAgain: its counts change together with Rebases, because the test deletes nothing then.
func TestLedgerCatchesUpWhenThePolicyKeepsItAgain(t *testing.T) {
	with, without := policyOf("p", nil), policyOf("p", nil)
	without.Ledger = false
	with.Generation = 3
	tests := map[string]struct {
		happens func(w *harness) // before the policy keeps the ledger again
		want    int64
	}{
		"at once": {func(w *harness) {}, 5},
		"after a write without an answer": {func(w *harness) {
			failOnce(w, "update", true)
		}, 5},
		"after a failed write": {func(w *harness) {
			failOnce(w, "update", false)
		}, 5},
		"although it was deleted": {func(w *harness) {
			w.edit("uid-p", func(*v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger { return nil })
			w.server.set(func() { w.server.policies["uid-p"].Ledger = nil })
		}, 5},
		"although the policy kept it for a moment": {func(w *harness) {
			w.server.set(func() {
				w.server.hangs = func(verb, _ string) time.Duration {
					if verb == "update" {
						return 200 * time.Millisecond
					}
					return 0
				}
				w.server.policies["uid-p"].Deleted = 3
			})
			w.use(with)
			w.use(without)
			bubble.Pass(time.Second)
			w.server.set(func() { w.server.hangs, w.server.policies["uid-p"].Deleted = nil, 5 })
		}, 5},
		"once the status is about the new spec": {func(w *harness) {
			w.server.set(func() { w.server.policies["uid-p"].ObservedGeneration = 2 })
			time.AfterFunc(3*time.Second, func() {
				w.server.set(func() { w.server.policies["uid-p"].ObservedGeneration, w.server.policies["uid-p"].Deleted = 3, 9 })
			})
		}, 9},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(with)
				w.add("team-a", "job-", 2, 0)
				bubble.Pass(5 * time.Second)
				w.use(without)
				before, _ := w.State("uid-p")
				w.server.set(func() { w.server.policies["uid-p"].Deleted = 5 })
				test.happens(w)
				w.Use(policy.NewSnapshot([]*policy.Policy{with}, nil, policy.DefaultProtection()))
				for range 8000 {
					bubble.Pass(time.Millisecond)
					s, _ := w.State("uid-p")
					if s.Ledger == nil { // a new ledger is created
						continue
					}
					if total := s.Ledger.Total.Deleted; total != before.Ledger.Total.Deleted && s.Rebases == before.Rebases {
						t.Fatalf("%d deletions after %d", total, before.Ledger.Total.Deleted)
					}
					before = s
				}
				w.is(test.want, 0)
				expect.Equal(t, "total as known", test.want, before.Ledger.Total.Deleted)
			})
		})
	}
}

// TestNewLedgerDoesNotWaitForTheStatus: if an edit enforces a policy for the first time, its deletions do not wait until the status is about
// the new spec.
func TestNewLedgerDoesNotWaitForTheStatus(t *testing.T) {
	inBubble(t, func(w *harness) {
		p := policyOf("p", nil)
		p.Generation = 3
		w.use(p)
		w.add("team-a", "job-", 2, 0)
		bubble.Pass(2 * time.Second)
		w.is(2, 0)
	}, func(w *harness) { w.server.policies["uid-p"].ObservedGeneration = 2 })
}

// failOnce fails the next request with a verb; done says whether it is carried out.
func failOnce(w *harness, of string, done bool) {
	failed := false
	w.setRefuse(func(verb, _ string) (error, bool) {
		if verb != of || failed {
			return nil, false
		}
		failed = true
		return errLost, done
	})
}

// TestDeletionByARuleWithoutALedgerIsCountedOnce: the ledger counts it if an earlier DELETE of the object had no answer.
func TestDeletionByARuleWithoutALedgerIsCountedOnce(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.set(func() { w.answer = func(*object) *retention.Outcome { return &retention.Outcome{Unsure: true} } })
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 1, 0)
		bubble.Pass(2 * time.Second)
		without := policyOf("p", nil)
		without.Ledger = false
		w.use(without)
		rule := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "old"}, PolicyUID: "uid-p", Kind: fixture.Jobs, Mode: v1alpha1.Enforce}
		finish := func(name string) bool {
			s := policy.Subject{Namespace: "team-a", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7"}
			return w.Finish(policy.Intent{Rule: rule, Subject: s}, policy.TargetOf(fixture.Jobs, s), retention.Outcome{Result: retention.Removed})
		}
		expect.Equal(t, "counted without an entry", false, finish("other"))
		expect.Equal(t, "counted with a doubtful entry", true, finish("job-0"))
		w.forget("job-0")
		bubble.Pass(40 * time.Second)
		w.is(0, 1)
		expect.Equal(t, "counted after it has ended", true, finish("job-0"))
	})
}

func TestLedgerDoesNotCountImages(t *testing.T) {
	inBubble(t, func(w *harness) {
		p := policyOf("p", nil)
		p.Rules = []*policy.Rule{{ID: policy.RuleID{Policy: "p", Rule: "images"}, Kind: v1alpha1.ImageKind}}
		w.use(p)
		bubble.Pass(5 * time.Second)
		w.is(7, 0)
		if rules := w.stored("uid-p").Rules; len(rules) != 0 {
			t.Errorf("the ledger has rules %v", rules)
		}
	}, func(w *harness) {
		s := w.server.policies["uid-p"]
		s.Deleted, s.Rules = 12, []v1alpha1.RuleStatus{{Name: "images", Deleted: 5}}
		s.NodeImages = &v1alpha1.NodeImagesStatus{Removed: v1alpha1.ImageCount{Images: 5}}
	})
}

func TestOnlyTheLeaderRaisesCounts(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.mu.Lock()
		w.deposed = errors.New("not the leader")
		w.mu.Unlock()
		w.server.policies["uid-p"].Deleted = 7
		w.use(policyOf("p", nil))
		bubble.Pass(5 * time.Second)
		w.is(0, 0)
		w.mu.Lock()
		w.deposed = nil
		w.mu.Unlock()
		bubble.Pass(time.Minute)
		w.is(7, 0)
	}, func(w *harness) { w.ledgerOf("p") })
}

// TestPolicyThatKeepsALedgerNoMoreHasItsSubjectsBack: its waiting and recorded subjects are evaluated again, and none of
// its entries stay open.
func TestPolicyThatKeepsALedgerNoMoreHasItsSubjectsBack(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(0)))
		w.add("team-a", "job-", 3, 0)
		bubble.Pass(time.Second)
		without := policyOf("p", nil)
		without.Ledger = false
		w.use(without)
		began := w.now()
		bubble.Pass(3 * time.Second)
		if n := w.count("get", began); n > 2 {
			t.Errorf("%d reads", n)
		}
		w.use(policyOf("p", nil))
		bubble.Pass(3 * time.Second)
		w.is(3, 0)
	})
}

func TestLedgerThatIsDeletedByHandStopsDeletionsUntilItIsRestored(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 1, 0)
		bubble.Pass(5 * time.Second)
		var copied *v1alpha1.RetentionLedger
		w.edit("uid-p", func(l *v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger { copied = l; return nil })
		w.add("team-a", "next-", 2, 0)
		bubble.Pass(5 * time.Second)
		if s, _ := w.State("uid-p"); !errors.Is(s.WriteError, ledgers.ErrMissing) || len(w.names()) != 1 {
			t.Fatalf("WriteError is %v; deleted %q", s.WriteError, w.names())
		}
		w.server.set(func() { w.put(copied) })
		bubble.Pass(5 * time.Second)
		w.is(3, 0)
	})
}

// TestRecordedDeletionsWaitForTheirLedger: without the ledger its deletions would not be counted.
func TestRecordedDeletionsWaitForTheirLedger(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 3, 10*time.Second)
		bubble.Pass(9500 * time.Millisecond)
		w.is(0, 0, "job-0", "job-1", "job-2")
		var copied *v1alpha1.RetentionLedger
		w.edit("uid-p", func(l *v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger { copied = l; return nil })
		w.add("team-a", "drop-", 1, 0) // a write is needed to notice that the ledger is missing
		bubble.Pass(5 * time.Second)
		if len(w.names()) > 0 {
			t.Fatalf("deleted %q", w.names())
		}
		w.server.set(func() { w.put(copied) })
		bubble.Pass(5 * time.Second)
		w.is(4, 0)
	})
}

func TestLedgerIsRecreatedWhenTheStatusDoesNotNameIt(t *testing.T) {
	for name, running := range map[string]bool{"while it runs": true, "before it begins": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(policyOf("p", nil))
				if running {
					w.add("team-a", "job-", 2, 0)
					bubble.Pass(5 * time.Second)
					w.edit("uid-p", func(*v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger { return nil })
				}
				w.add("team-a", "next-", 2, 0)
				bubble.Pass(5 * time.Second)
				if s, _ := w.State("uid-p"); !errors.Is(s.WriteError, ledgers.ErrMissing) {
					t.Fatalf("WriteError is %v", s.WriteError)
				}
				w.server.mu.Lock()
				w.policies["uid-p"].Ledger = nil
				w.policies["uid-p"].Deleted = 2
				w.server.mu.Unlock()
				bubble.Pass(10 * time.Second)
				w.is(4, 0)
			}, func(w *harness) {
				if !running {
					w.policies["uid-p"].Ledger = &v1alpha1.LedgerStatus{Name: "uid-p"}
				}
			})
		})
	}
}

// removePolicy first removes a policy from the snapshot, which must not delete its ledger, and then deletes the policy.
func (w *harness) removePolicy(t *testing.T, uid string) {
	t.Helper()
	w.use()
	bubble.Pass(5 * time.Second)
	if w.stored(uid) == nil {
		t.Fatal("the ledger of an existing policy was deleted")
	}
	w.server.set(func() { delete(w.policies, types.UID(uid)) })
	w.use(policyOf("q", nil))
	bubble.Pass(2 * time.Minute)
}

func TestPolicyThatIsGoneTakesItsLedgerWithIt(t *testing.T) {
	for name, nonsense := range map[string]bool{"a valid ledger": false, "an invalid ledger": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(policyOf("p", nil))
				w.add("team-a", "job-", 2, 0)
				bubble.Pass(5 * time.Second)
				if nonsense {
					w.edit("uid-p", spoil)
				}
				w.removePolicy(t, "uid-p")
				if w.stored("uid-p") != nil {
					t.Error("the ledger of a deleted policy exists")
				}
				if _, known := w.State("uid-p"); known {
					t.Error("the worker still runs")
				}
			})
		})
	}
}

// spoil makes a ledger invalid.
func spoil(l *v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger {
	l.Open = append(l.Open, v1alpha1.LedgerIntents{Rule: "r", APIVersion: "v1", Kind: "Pod", Objects: []string{"nonsense"}})
	return l
}

func TestNonsenseKeepsEverythingOfItsPolicyAndNoOther(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.server.mu.Lock()
		w.policies["uid-q"] = &v1alpha1.RetentionPolicyStatus{}
		w.server.mu.Unlock()
		w.use(policyOf("p", nil), policyOf("q", nil))
		w.edit("uid-q", spoil)
		w.add("team-a", "other-", 3, 0)
		w.add("team-a", "job-", 3, 0)
		bubble.Pass(5 * time.Second)
		w.is(3, 0)
		if n := len(w.names()); n != 3 {
			t.Errorf("deleted %q", w.names())
		}
		w.edit("uid-q", func(l *v1alpha1.RetentionLedger) *v1alpha1.RetentionLedger { l.Open = nil; return l })
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "deleted after the ledger was fixed", 3, w.stored("uid-q").Total.Deleted)
	})
}

func TestDryRunMakesNoLedger(t *testing.T) {
	inBubble(t, func(w *harness) {
		dry := policyOf("p", nil)
		dry.Mode = v1alpha1.DryRun
		w.use(dry)
		began := w.now()
		bubble.Pass(10 * time.Minute)
		if n := w.count("create", 0); n > 0 {
			t.Error("a ledger was created")
		}
		if n := w.count("get", began); n > 40 {
			t.Errorf("%d reads in ten minutes", n)
		}
		w.use(policyOf("p", nil))
		w.add("team-a", "job-", 2, 0)
		bubble.Pass(5 * time.Second)
		w.is(2, 0)
	})
}

// TestObjectThatCannotBeReadStopsNoOther: the entry of an object that cannot be read stays open, counts against limits, and
// needs few requests.
func TestObjectThatCannotBeReadStopsNoOther(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(5)))
		w.add("team-a", "job-", 3, 0)
		bubble.Pass(5 * time.Minute)
		w.is(3, 0, "gone")
		if w.observations > 20 {
			t.Errorf("%d reads in five minutes", w.observations)
		}
		w.set(func() { w.unreadable = false })
		bubble.Pass(2 * time.Minute)
		w.is(3, 1)
	}, func(w *harness) {
		w.unreadable = true
		w.ledgerOf("p", "gone uid-gone 1")
	})
}
