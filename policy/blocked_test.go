// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestBlocked: due subjects of a policy that rules of other policies keep.
func TestBlocked(t *testing.T) {
	noon, night, freeze := loadedWindows(window("0 11 * * *", "3h")), loadedWindows(window("0 22 * * *", "8h")), policy.Freeze{By: "q", From: now.Add(-hour), To: now.Add(hour)}
	tests := map[string]struct {
		subject     policy.Subject
		evaluations []policy.Evaluation
		blocker     string // of policy p, as POLICY/RULE REASON; empty for none
	}{
		"alone":                          {evaluations: evaluations(says("a"))},
		"another fails":                  {evaluations: evaluations(says("a"), says("z", of("q"), failed)), blocker: "q/z EvaluationFailed"},
		"another is suspended":           {evaluations: evaluations(says("a"), says("z", of("q"), suspended)), blocker: "q/z Suspended"},
		"another keeps the newest":       {evaluations: evaluations(says("a"), says("z", of("q"), newest)), blocker: "q/z KeptNewest"},
		"another dry run fails":          {evaluations: evaluations(says("a"), says("z", of("q"), failed, dryRun))},
		"two others keep":                {evaluations: evaluations(says("a"), says("z", of("r"), suspended), says("z", of("q"), failed)), blocker: "q/z EvaluationFailed"},
		"another finds it due later":     {evaluations: evaluations(says("a"), says("z", of("q"), ttl(2*hour)))},
		"it is due later":                {evaluations: evaluations(says("a", ttl(2*hour)), says("z", of("q"), failed))},
		"a rule of its own fails":        {evaluations: evaluations(says("a"), says("b", failed))},
		"its own rules and another fail": {evaluations: evaluations(says("a", failed), says("z", of("q"), failed))},
		"a dry run":                      {evaluations: evaluations(says("a", dryRun), says("z", of("q"), failed))},
		"its windows are open, and those of another never then":   {evaluations: evaluations(says("a", open(noon)), says("z", of("q"), open(night))), blocker: "q/z NoCommonWindow"},
		"its windows are closed, and those of another never then": {evaluations: evaluations(says("a", open(night)), says("z", of("q"), open(noon))), blocker: "q/z NoCommonWindow"},
		"windows of another never open":                           {evaluations: evaluations(says("a"), says("z", of("q"), open(night, noon))), blocker: "q/z NoCommonWindow"},
		"its own windows never open":                              {evaluations: evaluations(says("a", open(night, noon)), says("z", of("q")))},
		"windows of another open later":                           {evaluations: evaluations(says("a", open(noon)), says("z", of("q"), frozen(freeze)))},
		"it is held":                                              {subject: policy.Subject{Flags: policy.IsHeld}, evaluations: evaluations(says("a"), says("z", of("q"), failed))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.subject.Namespace, test.subject.Name = "shop", "x"
			all := statsOf(test.subject, test.evaluations...)
			got, blocked := "", all.Policies["p"].Blocked
			for _, by := range blocked.Most(5) {
				got += by.Rule.String() + " " + string(by.Reason)
				if n := all.Policies[by.Rule.Policy].Blocks["p"]; n != 1 || blocked.By[by] != 1 || blocked.Subjects != 1 || blocked.Sample.Name != "x" {
					t.Errorf("%d in Blocks, %+v", n, blocked)
				}
			}
			expect.Equal(t, "blocked by", test.blocker, got)
		})
	}
}

func TestBlockersAreSortedByCount(t *testing.T) {
	all := policy.NewStats(now)
	for i, by := range []string{"q", "r", "r", "s", "s"} {
		all.Add(policy.Subject{Name: string(rune('z' - i))}, evaluations(says("a"), says("z", of(by), failed)))
	}
	p := all.Policies["p"]
	var names []string
	for _, by := range p.Blocked.Most(2) {
		names = append(names, by.Rule.Policy)
	}
	expect.Equal(t, "blockers", []string{"r", "s"}, names)
	expect.Equal(t, "all", int64(5), p.Blocked.Subjects)
	expect.Equal(t, "the sample", "v", p.Blocked.Sample.Name)
	expect.Equal(t, "policies that r blocks", []string{"p"}, all.Policies["r"].Blocking(5))
}

// TestBlockersThatFailComeFirst: five rules that keep the newest of many objects do not hide a rule that fails.
func TestBlockersThatFailComeFirst(t *testing.T) {
	all := policy.NewStats(now)
	for _, by := range []string{"a", "b", "c", "d", "e"} {
		for range 9 {
			all.Add(policy.Subject{Name: by}, evaluations(says("x"), says("z", of("q"+by), newest)))
		}
	}
	all.Add(policy.Subject{Name: "f"}, evaluations(says("x"), says("z", of("qf"), failed)))
	blocked := all.Policies["p"].Blocked
	var first []string
	for _, by := range blocked.Most(2) {
		first = append(first, by.Rule.Policy+" "+string(by.Reason))
	}
	expect.Equal(t, "blockers", []string{"qf EvaluationFailed", "qa KeptNewest"}, first)
}

// TestOverriddenCountsSuspendedSubjects: subjects that would be deleted if a namespace had not suspended a rule.
func TestOverriddenCountsSuspendedSubjects(t *testing.T) {
	tests := map[string]struct {
		evaluations []policy.Evaluation
		want        int64
	}{
		"no override":                            {evaluations(says("a")), 0},
		"its only rule":                          {evaluations(says("a", suspendedHere)), 1},
		"one of two that are due":                {evaluations(says("a", suspendedHere), says("b")), 1},
		"it is due later":                        {evaluations(says("a", suspendedHere, ttl(2*hour))), 0},
		"another rule of the policy keeps":       {evaluations(says("a", suspendedHere), says("b", failed)), 0},
		"the policy is suspended itself":         {evaluations(says("a", suspendedHere, suspended)), 0},
		"a dry run":                              {evaluations(says("a", suspendedHere, dryRun)), 0},
		"it waits for approval too":              {evaluations(says("a", suspendedHere, unapproved)), 0},
		"a rule of another policy fails":         {evaluations(says("a", suspendedHere), says("z", of("q"), failed)), 1},
		"a rule of another policy is overridden": {evaluations(says("a"), says("z", of("q"), suspendedHere, ttl(2*hour))), 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := statsOf(policy.Subject{Namespace: "shop", Name: "x"}, test.evaluations...)
			expect.Equal(t, "in the namespace", test.want, all.Policies["p"].Overridden["shop"])
		})
	}
}
