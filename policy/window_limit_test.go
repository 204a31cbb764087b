// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestOverridesWithTooManyWindows: windows of at most eight overrides apply to a rule in a namespace. One more is invalid, so that the
// rule keeps objects. Overrides of other rules and in other namespaces do not count.
func TestOverridesWithTooManyWindows(t *testing.T) {
	night := loadedWindows(window("0 22 * * *", "8h"))
	narrowing := func(name, rule string, count int) *policy.Policy {
		p := own("team-a", name)
		for i := range count {
			p.Overrides = append(p.Overrides, &policy.Override{From: p.Name, Path: fmt.Sprintf("spec.overrides[%d]", i), Policy: "p", Rule: rule, Windows: night})
		}
		return p
	}
	unsuspendable := func(r *policy.Rule) { r.Bounds.NoSuspend = true }
	for name, test := range map[string]struct {
		policies []*policy.Policy
		change   func(*policy.Rule)
		windows  int
		problem  string // of the last policy
	}{
		"eight":                           {policies: []*policy.Policy{narrowing("m", "a", 8)}, windows: 8},
		"nine":                            {policies: []*policy.Policy{narrowing("m", "a", 9)}, windows: 8, problem: "spec.overrides[8].windows: rule p/a already has windows of 8 overrides in this namespace"},
		"two policies":                    {policies: []*policy.Policy{narrowing("l", "a", 8), narrowing("m", "", 1)}, windows: 8, problem: "spec.overrides[0].windows: rule p/a already"},
		"eight, and eight of other rules": {policies: []*policy.Policy{narrowing("l", "a", 8), narrowing("m", "other", 8)}, windows: 8},
		"a rule that ignores them":        {policies: []*policy.Policy{narrowing("m", "a", 64)}, change: unsuspendable},
	} {
		t.Run(name, func(t *testing.T) {
			rule := enforced("p", "a")
			rule.Kind = jobs
			if test.change != nil {
				test.change(rule)
			}
			all := append([]*policy.Policy{policyOf("p", rule)}, test.policies...)
			snapshot := policy.NewSnapshot(all, map[string]policy.Namespace{"team-a": {}, "team-b": {}}, policy.DefaultProtection())
			r := snapshot.Effective(jobs.GroupKind(), "team-a").Rules[0]
			expect.Equal(t, "windows", test.windows, len(r.Windows))
			expect.Equal(t, "suspended", test.problem != "", r.Suspended)
			last := test.policies[len(test.policies)-1]
			said := strings.Join(policy.Lines(snapshot.Policy(last.Name).Problems), "; ")
			if !strings.HasPrefix(said, test.problem) || test.problem == "" && strings.Contains(said, "windows") {
				t.Errorf("problems %q, want %q", said, test.problem)
			}
			expect.Equal(t, "the loaded policy has no problem", 0, len(last.Problems))
			expect.Equal(t, "suspended elsewhere", false, snapshot.Effective(jobs.GroupKind(), "team-b").Rules[0].Suspended)
		})
	}
}

// TestWhatWindowsRemember: periods that windows remember do not change later decisions.
func TestWhatWindowsRemember(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for round := range 4 {
		seed := r.Int63()
		load := func() (all []*policy.Windows) {
			same := rand.New(rand.NewSource(seed))
			for range 1 + round%4 {
				all = append(all, randomWindows(same))
			}
			return all
		}
		known := load()
		for range 10 {
			due, when := near(t, r), near(t, r)
			decide := func(windows []*policy.Windows) policy.Verdict {
				return decided(evaluations(says("a", open(windows...), startsAt(due))), when)
			}
			if got, want := decide(known), decide(load()); got != want {
				t.Fatalf("windows %v, due %s, at %s: %+v, want %+v", known, due.Format(time.RFC3339), when, got, want)
			}
		}
	}
}
