// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestCountOfAnotherFormEndsNoComparison: when the policy returns to the version that the previous leader counted, changes
// from the time without a leader must still be counted.
func TestCountOfAnotherFormEndsNoComparison(t *testing.T) {
	l := heldWith(t, spec("DryRun", "2h"))
	l.become(spec("Enforce", "2h"))
	other := l.named("p").ApprovalHash()
	l.approve("p", other)
	l.become(spec("Enforce", "1h"))
	l.counted("p")
	status := old(3).enforced(l, "p")
	status.Previews[0].ObservedTime = status.Enforced.ObservedTime
	l.report("p", status)
	l.hold("team-a", "")
	l = l.restart()
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	l.become(spec("DryRun", "2h"))
	l.counted("p")
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "waiting in the previous version", waits, l.waiting("team-a"))
}

// TestEarlierNumberApprovesNoLaterChange: a dry run could delete more after the number was shown.
func TestEarlierNumberApprovesNoLaterChange(t *testing.T) {
	for name, start := range map[string]func(l *harness) *harness{
		"of a version": func(l *harness) *harness { return l },
		"of the first count of a new leader": func(l *harness) *harness {
			l.counted("p")
			l.report("p", old(3).enforced(l, "p"))
			return l.restart()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.hold("team-a", "true")
			s.policy("p", spec("Enforce", "1h"))
			l := start(newHarness(t, s))
			shown := l.named("p").Gate.Hash
			l.later(time.Minute)
			l.become(spec("DryRun", "1h"))
			l.unhold()
			l.become(spec("Enforce", "1h"))
			l.approved(shown)
			if gate := l.named("p").Gate; gate.Recount != nil {
				l.counted("p") // this count is not of the objects that are new since the earlier one
			}
			if expect.Equal(t, "waiting", waits, l.waiting("team-a")); t.Failed() {
				return
			}
			l.approved(l.named("p").Gate.Hash)
			expect.Equal(t, "waiting once it is approved", free, l.waiting("team-a"))
		})
	}
}

// TestRestartForgetsNoApproval of a number that a leader has shown. The next leader compares its first count with that number.
func TestRestartForgetsNoApproval(t *testing.T) {
	for name, reach := range map[string]func(t *testing.T) *harness{
		"of a version": func(t *testing.T) *harness {
			l := heldWith(t, spec("DryRun", "2h"))
			l.become(spec("Enforce", "1h"))
			return l
		},
		"of a dry run that could delete more": func(t *testing.T) *harness {
			l := heldWith(t, spec("DryRun", "1h"))
			l.hold("team-a", "")
			l.become(spec("Enforce", "1h"))
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := reach(t)
			l.later(time.Minute)
			p := l.named("p")
			l.report("p", v1alpha1.RetentionPolicyStatus{
				ObservedGeneration: p.Generation, ObservedTime: &metav1.Time{Time: l.clock.Now()},
				PendingApproval: &v1alpha1.PendingApproval{Hash: p.Gate.Hash, Due: v1alpha1.ApprovalCounts{Now: 3, Week: 4}, Matched: 5},
			})
			l.approve("p", p.Gate.Hash)
			l.later(time.Minute)
			l = l.restart()
			gate := l.named("p").Gate
			if gate == nil || gate.Recount == nil {
				t.Fatalf("it compares with no count: %+v", gate)
			}
			expect.Equal(t, "approved number", []int64{3, 4}, []int64{gate.Recount.Due, gate.Recount.Week})
			l.counted("p")
			expect.Equal(t, "waiting once it is counted", free, l.waiting("team-a"))
		})
	}
}

// TestRestartRemembersThatADryRunCouldDeleteMore, although an earlier approval of the version counts and no count was possible
// since then.
func TestRestartRemembersThatADryRunCouldDeleteMore(t *testing.T) {
	l := heldWith(t, spec("Enforce", "1h"))
	l.approved(l.named("p").ApprovalHash())
	l.become(spec("DryRun", "1h"))
	l.unhold()
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	l.report("p", v1alpha1.RetentionPolicyStatus{ObservedGeneration: l.named("p").Generation})
	expect.Equal(t, "waiting after a restart", waits, l.restart().waiting("team-a"))
}

// TestFormThatReturnsAsksForAnotherHash than its approval has by then, so that you can approve it again.
func TestFormThatReturnsAsksForAnotherHash(t *testing.T) {
	l := heldWith(t, spec("DryRun", "1h"))
	l.hold("team-a", "")
	l.become(spec("Enforce", "1h"))
	shown := l.named("p").Gate.Hash
	l.become(elsewhere(spec("Enforce", "1h")))
	l.approve("p", shown)
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	if l.named("p").Gate.Hash == shown {
		t.Error("the annotation already has the hash")
	}
}
