// SPDX-License-Identifier: Apache-2.0

package ledgers_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestDeletionIsSentAsRecorded: no DELETE is sent of another version, by another rule, on other terms, of another target,
// or by a process that does not lead.
func TestDeletionIsSentAsRecorded(t *testing.T) {
	as := func(change func(i *policy.Intent)) func(*harness, *policy.Intent, *policy.Target) {
		return func(_ *harness, i *policy.Intent, _ *policy.Target) {
			rule := *i.Rule
			i.Rule = &rule
			change(i)
		}
	}
	at := func(change func(t *policy.Target)) func(*harness, *policy.Intent, *policy.Target) {
		return func(_ *harness, _ *policy.Intent, t *policy.Target) { change(t) }
	}
	for name, test := range map[string]struct {
		change         func(*harness, *policy.Intent, *policy.Target)
		written, sends bool
	}{
		"nothing has changed":               {func(*harness, *policy.Intent, *policy.Target) {}, true, true},
		"another version":                   {as(func(i *policy.Intent) { i.Subject.ResourceVersion = "2" }), false, false},
		"another rule":                      {as(func(i *policy.Intent) { i.Rule.ID.Rule = "other" }), false, false},
		"another outcome":                   {as(func(i *policy.Intent) { i.Outcome = "Edited" }), false, false},
		"the rule allows unfinished owners": {as(func(i *policy.Intent) { i.Rule.AllowUnfinished = true }), false, false},
		"another policy":                    {as(func(i *policy.Intent) { i.Rule.PolicyUID = "uid-q" }), false, false},
		"another target":                    {at(func(t *policy.Target) { t.UID = "uid-other" }), true, false},
		"the target of another object": {func(w *harness, _ *policy.Intent, t *policy.Target) {
			other, _ := w.objects["uid-job-1"].Intent()
			*t, _ = w.Lookup(other)
		}, true, false},
		"a newer version of the target": {at(func(t *policy.Target) { t.ResourceVersion = "2" }), true, false},
		"another process leads":         {func(w *harness, _ *policy.Intent, _ *policy.Target) { w.deposed = errors.New("not the leader") }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(policyOf("p", nil))
				w.add("team-a", "job-", 2, 10*time.Second)
				bubble.Pass(9700 * time.Millisecond)
				i, _ := w.objects["uid-job-0"].Intent()
				target, stands := w.Lookup(i)
				if !stands {
					t.Fatal("the deletion is not recorded")
				}
				test.change(w, &i, &target)
				if _, written := w.Lookup(i); written != test.written {
					t.Errorf("recorded: %v", written)
				}
				if w.MarkSent(i, target) != test.sends {
					t.Errorf("sent: not %v", test.sends)
				}
				w.forget("job-0")
				w.forget("job-1")
			})
		})
	}
}

// TestNoLedgerRecordsADeletionOfAnotherPolicy: while a subject waits to be recorded, a rule of another policy may come to decide.
func TestNoLedgerRecordsADeletionOfAnotherPolicy(t *testing.T) {
	inBubble(t, func(w *harness) {
		q := policyOf("q", nil)
		w.use(policyOf("p", &policy.Limits{Window: time.Hour}), q)
		w.hung = map[string]bool{"team-a": true}
		w.add("team-a", "job-", 1, 0)
		bubble.Pass(2 * time.Second)
		w.is(0, 0) // limits permit nothing
		w.change("job-0", func(o *object) { o.byQ = true })
		w.use(policyOf("p", nil), q)
		bubble.Pass(10 * time.Second)
		w.is(0, 0)
		if l := w.stored("uid-q"); l == nil || len(l.Open) != 1 {
			t.Error("the ledger of the other policy has no entry")
		}
		w.forget("job-0")
	}, func(w *harness) { w.server.policies["uid-q"] = &v1alpha1.RetentionPolicyStatus{} })
}

// TestOwnerIsWrittenDownForTheVersionThatNamesIt: a newer version of the subject may have another owner, or none.
func TestOwnerIsWrittenDownForTheVersionThatNamesIt(t *testing.T) {
	for name, changes := range map[string]bool{"the same version": false, "a newer version": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				w.use(policyOf("p", nil))
				o := &object{harness: w, namespace: "team-a", name: "job-0", version: 1, due: time.Now().Add(time.Second)}
				w.objects[o.uid()] = o
				i, _ := o.Intent()
				w.Reserve(i, policy.Target{Kind: fixture.Jobs, Namespace: "team-a", Name: "owner", UID: "uid-owner", ResourceVersion: "7"}, o)
				if changes {
					o.version++
				}
				bubble.Pass(500 * time.Millisecond)
				if changes {
					w.is(0, 0, "job-0")
				} else {
					w.is(0, 0, "owner")
				}
				w.forget("job-0")
			})
		})
	}
}

// TestLoweredLimitsApplyToRecordedEntries: if limits allow three, three of five recorded objects are deleted.
func TestLoweredLimitsApplyToRecordedEntries(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(5)))
		w.add("team-a", "job-", 5, 10*time.Second)
		bubble.Pass(9700 * time.Millisecond)
		w.use(policyOf("p", limited(3)))
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "deleted", 3, len(w.names()))
	})
}

// TestEntriesThatAreNotSentInTimeFreeTheirRoom: an entry that is not sent in time stops counting against limits.
func TestEntriesThatAreNotSentInTimeFreeTheirRoom(t *testing.T) {
	inBubble(t, func(w *harness) {
		w.use(policyOf("p", limited(2)))
		w.hung = map[string]bool{"team-a": true}
		w.add("team-a", "hung-", 2, 0)
		bubble.Pass(5 * time.Second)
		w.is(0, 0, "hung-0", "hung-1")
		w.add("team-b", "job-", 2, 0)
		bubble.Pass(10 * time.Second)
		w.is(0, 0, "hung-0", "hung-1")
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted in the other namespace", 2, len(w.names()))
	})
}

// TestRefusedDeletionsFreeTheirRoom: a DELETE in flight uses up limits. After it is refused, the limits are free at once,
// not only after a whole window.
func TestRefusedDeletionsFreeTheirRoom(t *testing.T) {
	for name, result := range map[string]retention.Result{"refused": retention.Refused, "changed": retention.Changed, "never sent": retention.Failed} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *harness) {
				limits := limited(1)
				limits.Window = time.Hour
				w.use(policyOf("p", limits))
				w.answer = func(o *object) *retention.Outcome {
					if o.name != "bad-0" {
						return nil
					}
					return &retention.Outcome{Result: result, Err: errors.New("no"), Unsent: result == retention.Failed}
				}
				w.takes = 3 * time.Second
				w.add("team-a", "bad-", 1, 0)
				bubble.Pass(time.Second)
				w.add("team-b", "job-", 1, 0)
				bubble.Pass(30 * time.Second)
				expect.Equal(t, "other objects deleted", 1, len(w.names()))
			})
		})
	}
}
