// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestProblemString(t *testing.T) {
	tests := map[string]struct {
		problem policy.Problem
		want    string
	}{
		"path and message":         {policy.Problem{Path: "spec", Message: "missing"}, "spec: missing"},
		"with a hint":              {policy.Problem{Path: "spec", Message: "missing", Hint: "write one"}, "spec: missing (write one)"},
		"within an expression":     {policy.Problem{Path: "spec", Message: "no", Line: 2, Column: 7}, "spec:2:7: no"},
		"outside of an expression": {policy.Problem{Path: "spec", Message: "no", Column: 7}, "spec: no"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "problem", test.want, test.problem.String())
		})
	}
}

func TestLines(t *testing.T) {
	expect.Equal(t, "of no problem", nil, policy.Lines(nil))
	expect.Equal(t, "of two", []string{"spec: missing", "spec.mode: unknown (Enforce)"},
		policy.Lines([]policy.Problem{{Path: "spec", Message: "missing"}, {Path: "spec.mode", Message: "unknown", Hint: "Enforce"}}))
}

func TestShortlist(t *testing.T) {
	all := []string{"a", "b", "c", "d"}
	expect.Equal(t, "as many as allowed", all, policy.Shortlist(all, 4, ""))
	expect.Equal(t, "one more", []string{"a", "b", "c", "and 1 more"}, policy.Shortlist(all, 3, ""))
	expect.Equal(t, "with a suffix", []string{"a", "and 3 more rules"}, policy.Shortlist(all, 1, " rules"))
	expect.Equal(t, "the list afterwards", []string{"a", "b", "c", "d"}, all)
}

func TestProblemSnippet(t *testing.T) {
	tests := map[string]struct {
		problem policy.Problem
		want    string
	}{
		"the first column":           {policy.Problem{Expression: "abc", Line: 1, Column: 1}, "  abc\n  ^"},
		"a later line":               {policy.Problem{Expression: "a &&\nbcd", Line: 2, Column: 3}, "  bcd\n    ^"},
		"tabs stay aligned":          {policy.Problem{Expression: "\tabc", Line: 1, Column: 3}, "  \tabc\n  \t ^"},
		"columns are characters":     {policy.Problem{Expression: "'é'x", Line: 1, Column: 4}, "  'é'x\n     ^"},
		"after the end":              {policy.Problem{Expression: "ab", Line: 1, Column: 9}, "  ab\n    ^"},
		"no expression":              {policy.Problem{Path: "spec"}, ""},
		"a line that does not exist": {policy.Problem{Expression: "a", Line: 2, Column: 1}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "problem", test.want, test.problem.Snippet())
		})
	}
}
