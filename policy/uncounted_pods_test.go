// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestUncountedPods(t *testing.T) {
	const uncounted, left = policy.IsUncounted, policy.IsUncounted | policy.IsTerminating
	after := func(d time.Duration) []policy.Evaluation { return evaluations(says("a", ttl(hour+d))) } // from now
	due, overdue, terminating := policy.UncountedPods{Due: 1}, policy.UncountedPods{Overdue: 1}, policy.UncountedPods{Terminating: 1}
	tests := map[string]struct {
		flags       policy.Flags
		evaluations []policy.Evaluation
		want        policy.UncountedPods
		changes     time.Duration // from now; 0 for never
	}{
		"due now":                         {uncounted, after(0), due, time.Minute},
		"due for almost a minute":         {uncounted, after(1 - time.Minute), due, 1},
		"due for a minute":                {uncounted, after(-time.Minute), overdue, 0},
		"not due yet":                     {uncounted, after(5), policy.UncountedPods{}, 5},
		"running":                         {uncounted, evaluations(says("a", notEligible)), policy.UncountedPods{}, 0},
		"kept by a rule":                  {uncounted, evaluations(says("a"), says("b", failed)), policy.UncountedPods{}, 0},
		"held":                            {uncounted | policy.IsHeld, after(0), due, time.Minute},
		"counted":                         {0, after(0), policy.UncountedPods{}, 0},
		"counted, and deleted":            {policy.IsTerminating, after(0), policy.UncountedPods{}, 0},
		"deleted while it ran":            {left, evaluations(says("a", notEligible)), terminating, 0},
		"deleted when it was due":         {left, after(0), terminating, 0},
		"only a dry run selects it":       {uncounted, evaluations(says("a", dryRun)), policy.UncountedPods{}, 0},
		"deleted, and no rule selects it": {left, evaluations(says("a", notSelected)), policy.UncountedPods{}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := statsOf(policy.Subject{Flags: test.flags}, test.evaluations...)
			expect.Equal(t, "lingering", test.want, all.UncountedPods)
			changes := time.Time{}
			if test.changes != 0 {
				changes = now.Add(test.changes)
			}
			if test.flags.Has(uncounted) && !all.Changes().Equal(changes) {
				t.Errorf("changes at %v, want %v", all.Changes(), changes)
			}
		})
	}
}
