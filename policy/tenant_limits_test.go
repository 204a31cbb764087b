// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// many are RetentionPolicies of a namespace with 32 overrides each, which change the TTL of all rules of policy p.
func many(count int, change func(*policy.Override)) (all []*policy.Policy) {
	for i := range count {
		p := own("team-a", fmt.Sprintf("m%04d", i))
		for j := range 32 {
			o := &policy.Override{From: p.Name, Path: fmt.Sprintf("spec.overrides[%d]", j), Policy: "p", TTL: new(30 * time.Hour)}
			change(o)
			p.Overrides = append(p.Overrides, o)
		}
		all = append(all, p)
	}
	return all
}

// twoTeams are the namespaces of the snapshots.
var twoTeams = map[string]policy.Namespace{"team-a": {}, "team-b": {}}

// TestTooManyOverrides: of all RetentionPolicies of a namespace, 256 overrides apply. One more is invalid, so that its rules keep
// objects, and a decision does not become slower with each of them.
func TestTooManyOverrides(t *testing.T) {
	for name, test := range map[string]struct {
		policies int
		change   func(*policy.Override)
		applying int // to rule p/a
		problem  string
	}{
		"256":                          {8, func(*policy.Override) {}, 256, ""},
		"many more":                    {1000, func(*policy.Override) {}, 257, "spec.overrides[0]: RetentionPolicies of the namespace already have 256 overrides"},
		"those beyond are of one rule": {9, func(o *policy.Override) { o.Rule = "a" }, 257, "spec.overrides[0]: RetentionPolicies of the namespace already have 256 overrides"},
	} {
		t.Run(name, func(t *testing.T) {
			rule := enforced("p", "a")
			all := many(test.policies, test.change)
			snapshot := policy.NewSnapshot(append(all, policyOf("p", rule)), twoTeams, policy.DefaultProtection())
			r := snapshot.Effective(jobs.GroupKind(), "team-a").Rules[0]
			expect.Equal(t, "overrides", test.applying, len(r.Overrides))
			expect.Equal(t, "suspended", test.problem != "", r.Suspended)
			last := all[len(all)-1]
			said := strings.Join(policy.Lines(snapshot.Policy(last.Name).Problems), "; ")
			if !strings.HasPrefix(said, test.problem) || test.problem == "" && said != "" {
				t.Errorf("problems %q, want %q", said, test.problem)
			}
			expect.Equal(t, "the loaded policy is invalid", false, last.Overrides[31].Invalid)
			expect.Equal(t, "suspended elsewhere", false, snapshot.Effective(jobs.GroupKind(), "team-b").Rules[0].Suspended)
		})
	}
}

// TestTooManyOverridesOfUnknownRules: overrides beyond the limit that name no rule are not kept, so that they cost nothing.
func TestTooManyOverridesOfUnknownRules(t *testing.T) {
	n := 0
	all := many(20, func(o *policy.Override) { n++; o.Rule = fmt.Sprintf("x%d", n) })
	snapshot := policy.NewSnapshot(append(all, policyOf("p", enforced("p", "a"))), twoTeams, policy.DefaultProtection())
	expect.Equal(t, "overrides", 256, len(snapshot.Overrides("team-a")))
}

// TestTooManyFreezes: of all RetentionPolicies of a namespace, 256 freezes of all policies apply one by one. Those of more policies
// count as one long freeze, which is never shorter than they are.
func TestTooManyFreezes(t *testing.T) {
	freezes := func(count int) (all []*policy.Policy) {
		for i := range count {
			p := own("team-a", fmt.Sprintf("m%04d", i))
			for j := range 32 {
				from := now.Add(time.Duration(32*(count-i)+j) * 2 * hour)
				p.Freezes = append(p.Freezes, policy.Freeze{By: p.Name, From: from, To: from.Add(hour), All: true})
			}
			all = append(all, p)
		}
		return all
	}
	for name, test := range map[string]struct{ policies, applying int }{"256": {8, 256}, "many more": {1000, 257}} {
		t.Run(name, func(t *testing.T) {
			all := freezes(test.policies)
			rules := []*policy.Policy{policyOf("p", enforced("p", "a")), own("team-a", "rules", enforced("team-a/rules", "a"))}
			snapshot := policy.NewSnapshot(append(all, rules...), twoTeams, policy.DefaultProtection())
			for _, r := range snapshot.Effective(jobs.GroupKind(), "team-a").Rules {
				expect.Equal(t, "freezes of "+r.ID.String(), test.applying, len(r.Freezes))
				for _, p := range all {
					if f := p.Freezes[7]; r.Deferral(f.From) == nil || r.Deferral(f.To.Add(-time.Second)) == nil {
						t.Fatalf("rule %s deletes in freeze %s", r.ID, f)
					}
				}
			}
			said := policy.Lines(snapshot.Policy(all[len(all)-1].Name).Problems)
			expect.Equal(t, "invalid", test.policies > 8, len(said) == 1 && strings.HasPrefix(said[0], "spec.freezes: RetentionPolicies of the namespace have more than 256 freezes"))
			expect.Equal(t, "freezes elsewhere", 0, len(snapshot.Effective(jobs.GroupKind(), "team-b").Rules[0].Freezes))
		})
	}
}

// TestManyPoliciesAreCheap: the work of a snapshot does not grow with the square of the RetentionPolicies of a namespace, and messages
// about unknown policies, which are expensive, are written only for the overrides that count.
func TestManyPoliciesAreCheap(t *testing.T) {
	night := loadedWindows(window("0 22 * * *", "8h"))
	var rules []*policy.Rule
	for i := range 100 {
		rules = append(rules, enforced("p", fmt.Sprintf("r%d", i)))
	}
	for name, test := range map[string]struct {
		change func(*policy.Override)
		most   time.Duration // times the time for a sixteenth of the policies
	}{
		"windows":          {func(o *policy.Override) { o.Windows = night }, 64},
		"unknown policies": {func(o *policy.Override) { o.Policy = strings.Repeat("q", 250) }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			took := func(count int) time.Duration {
				all := append(many(count, test.change), policyOf("p", rules...), policyOf(strings.Repeat("r", 250)))
				return fastest(func() { policy.NewSnapshot(all, twoTeams, policy.DefaultProtection()) })
			}
			few, more := took(250), took(4000)
			for until := time.Now().Add(30 * time.Second); more > test.most*few && time.Now().Before(until); { // this machine may be busy
				few, more = took(250), took(4000)
			}
			t.Logf("250 policies in %s, 4000 in %s", few, more)
			if more > test.most*few {
				t.Errorf("4000 policies took %s, and 250 took %s", more, few)
			}
		})
	}
}
