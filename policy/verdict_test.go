// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestActionString(t *testing.T) {
	for action, want := range map[policy.Action]string{policy.Keep: "Keep", policy.Wait: "Wait", policy.Delete: "Delete"} {
		expect.Equal(t, "action", want, action.String())
	}
}

func TestRuleIDString(t *testing.T) {
	tests := map[string]struct {
		id   policy.RuleID
		want string
	}{
		"both":    {policy.RuleID{Policy: "p", Rule: "r"}, "p/r"},
		"neither": {policy.RuleID{}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "rule", test.want, test.id.String())
		})
	}
}

func TestRuleIDCompare(t *testing.T) {
	tests := map[string]struct {
		a, b policy.RuleID
		want int
	}{
		"equal":              {policy.RuleID{Policy: "p", Rule: "r"}, policy.RuleID{Policy: "p", Rule: "r"}, 0},
		"by policy first":    {policy.RuleID{Policy: "a", Rule: "z"}, policy.RuleID{Policy: "b", Rule: "a"}, -1},
		"then by rule":       {policy.RuleID{Policy: "p", Rule: "s"}, policy.RuleID{Policy: "p", Rule: "r"}, 1},
		"not by both as one": {policy.RuleID{Policy: "a", Rule: "z"}, policy.RuleID{Policy: "a-", Rule: "a"}, -1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "order", test.want, test.a.Compare(test.b))
		})
	}
}

func TestFlagsHas(t *testing.T) {
	both := policy.IsHeld | policy.IsUncounted
	if !both.Has(policy.IsHeld) || !both.Has(both) || policy.IsHeld.Has(both) || both.Has(policy.IsTerminating) {
		t.Error("Has does not mean all of the flags")
	}
}
