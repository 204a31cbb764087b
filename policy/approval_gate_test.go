// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestApprovalGateCovers(t *testing.T) {
	tests := map[string]struct {
		gate *policy.ApprovalGate
		want bool // of rule jobs in team-a
	}{
		"no gate":                             {nil, false},
		"everything":                          {&policy.ApprovalGate{}, true},
		"the namespace":                       {&policy.ApprovalGate{Namespaces: newlyIn("team-a", "team-b")}, true},
		"another namespace":                   {&policy.ApprovalGate{Namespaces: newlyIn("team-b")}, false},
		"no namespace":                        {&policy.ApprovalGate{Namespaces: policy.ApprovalScope{}}, false},
		"the rule":                            {&policy.ApprovalGate{Rules: sets.New("jobs")}, true},
		"another rule":                        {&policy.ApprovalGate{Rules: sets.New("pods")}, false},
		"another rule of the namespace":       {&policy.ApprovalGate{Namespaces: newlyIn("team-a"), Rules: sets.New("pods")}, false},
		"the rule in another namespace":       {&policy.ApprovalGate{Namespaces: newlyIn("team-b"), Rules: sets.New("jobs")}, false},
		"a rule without a count":              {&policy.ApprovalGate{Namespaces: newlyIn("team-b"), Uncounted: sets.New("jobs")}, true},
		"another rule without a count":        {&policy.ApprovalGate{Namespaces: newlyIn("team-b"), Uncounted: sets.New("pods")}, false},
		"exactly this rule in this namespace": {&policy.ApprovalGate{Namespaces: newlyIn("team-a"), Rules: sets.New("jobs")}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "covers", test.want, test.gate.Covers("team-a", "jobs"))
			p := policyOf("p", about(jobs, "jobs"))
			p.Gate = test.gate
			snapshot := policy.NewSnapshot([]*policy.Policy{p}, namespaces, policy.DefaultProtection())
			expect.Equal(t, "waits", test.want, snapshot.Effective(jobs.GroupKind(), "team-a").Rules[0].Unapproved)
			if p.Rules[0].Unapproved {
				t.Error("the argument has changed")
			}
		})
	}
}

// newlyIn is the scope of these namespaces.
func newlyIn(namespaces ...string) policy.ApprovalScope {
	return policy.ApprovalScope(nil).Wider(sets.New(namespaces...), now)
}

func TestScopeHashDependsOnPolicyTimeAndNamespaces(t *testing.T) {
	hash := func(p policy.Policy, at time.Time, namespaces ...string) string { return p.ScopeHash(namespaces, at) }
	h := policy.Policy{UID: "u", Hash: "h"}
	known := map[string]string{}
	for name, h := range map[string]string{
		"two namespaces": hash(h, now, "a", "b"), "one of them": hash(h, now, "a"), "the other": hash(h, now, "b"),
		"one with both names": hash(h, now, "a b"), "another version": hash(policy.Policy{UID: "u", Hash: "i"}, now, "a", "b"),
		"another object": hash(policy.Policy{UID: "v", Hash: "h"}, now, "a", "b"), "the version itself": h.ApprovalHash(),
		"the same at another time": hash(h, now.Add(time.Microsecond), "a", "b"),
	} {
		if other, taken := known[h]; taken {
			t.Errorf("%s has the same hash as %s", name, other)
		}
		known[h] = name
	}
	if hash(h, now, "a", "b") != hash(h, now, "b", "a") {
		t.Error("the hash depends on the order of namespaces")
	}
}

func TestApprovalExceeded(t *testing.T) {
	standard := policy.Approval{MaxPercent: 25, MaxObjects: 100}
	tests := map[string]struct {
		approval      policy.Approval
		due, selected int64
		want          bool
	}{
		"nothing of nothing":                     {standard, 0, 0, false},
		"nine of nine":                           {standard, 9, 9, false},
		"ten of ten":                             {standard, 10, 10, true},
		"a quarter":                              {standard, 10, 40, false},
		"more than a quarter":                    {standard, 10, 39, true},
		"a hundred of many":                      {standard, 100, 1_000_000, false},
		"more than a hundred of many":            {standard, 101, 1_000_000, true},
		"one, if every deletion needs approval":  {policy.Approval{}, 1, 1_000, true},
		"none, if every deletion needs approval": {policy.Approval{}, 0, 1_000, false},
		"one, for all changes":                   {policy.Approval{MaxPercent: 100, MaxObjects: 100, AllChanges: true}, 1, 1_000, true},
		"none, for all changes":                  {policy.Approval{MaxPercent: 100, MaxObjects: 100, AllChanges: true}, 0, 1_000, false},
		"all, without a threshold":               {policy.Approval{MaxPercent: 100, MaxObjects: 1 << 31}, 100_000, 100_000, false},
		"less than ten, with a count only":       {policy.Approval{MaxPercent: 0, MaxObjects: 50}, 9, 1_000, false},
		"ten, with a count only":                 {policy.Approval{MaxPercent: 0, MaxObjects: 50}, 10, 1_000, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "exceeded", test.want, test.approval.Exceeded(test.due, test.selected))
		})
	}
}

func TestApprovalScopeNewNamespaces(t *testing.T) {
	ci, err := labels.Parse("tier=ci")
	expect.NoError(t, err)
	of := func(tiers map[string]string) map[string]policy.Namespace {
		all := map[string]policy.Namespace{}
		for name, tier := range tiers {
			all[name] = policy.Namespace{Labels: labels.Set{"tier": tier}}
		}
		return all
	}
	before := map[string]string{"team-a": "ci", "team-b": "prod"}
	set := func(o policy.Override) *policy.Override { o.From = "team-a/own"; return &o }
	longer := policy.Override{Policy: "p", Rule: "jobs", TTL: new(policy.Week), InForce: true}
	changed := func(change func(o *policy.Override)) *policy.Override {
		o := longer
		change(&o)
		return set(o)
	}
	tests := map[string]struct {
		after        map[string]string
		was, becomes *policy.Override // of team-a
		of           string           // the policy; "p" unless it says another
		want         []string
	}{
		"no change":                                               {before, nil, nil, "p", nil},
		"a namespace is selected now":                             {map[string]string{"team-a": "ci", "team-b": "ci"}, nil, nil, "p", []string{"team-b"}},
		"a namespace is no longer selected":                       {map[string]string{"team-a": "prod", "team-b": "prod"}, nil, nil, "p", nil},
		"a namespace is new":                                      {map[string]string{"team-a": "ci", "team-b": "prod", "team-c": "ci"}, nil, nil, "p", nil},
		"an override is added":                                    {before, nil, set(longer), "p", []string{"team-a"}},
		"an override is removed":                                  {before, set(longer), nil, "p", []string{"team-a"}},
		"an unchanged override":                                   {before, set(longer), set(longer), "p", nil},
		"an override at another position":                         {before, set(longer), changed(func(o *policy.Override) { o.Path = "spec.overrides[7]" }), "p", nil},
		"another TTL":                                             {before, set(longer), changed(func(o *policy.Override) { o.TTL = new(hour) }), "p", []string{"team-a"}},
		"no TTL":                                                  {before, set(longer), changed(func(o *policy.Override) { o.TTL = nil }), "p", []string{"team-a"}},
		"another number of the newest":                            {before, set(longer), changed(func(o *policy.Override) { o.Keep = new(3) }), "p", []string{"team-a"}},
		"another rule":                                            {before, set(longer), changed(func(o *policy.Override) { o.Rule = "pods" }), "p", []string{"team-a"}},
		"every rule":                                              {before, set(longer), changed(func(o *policy.Override) { o.Rule = "" }), "p", []string{"team-a"}},
		"no longer suspended":                                     {before, set(policy.Override{Policy: "p", Suspend: true}), nil, "p", []string{"team-a"}},
		"an override is enforced":                                 {before, changed(func(o *policy.Override) { o.InForce = false }), set(longer), "p", []string{"team-a"}},
		"an override of another policy":                           {before, nil, changed(func(o *policy.Override) { o.Policy = "q" }), "p", nil},
		"an override that may mean any policy":                    {before, set(policy.Override{Invalid: true}), nil, "p", []string{"team-a"}},
		"a namespace's own policy":                                {before, set(policy.Override{Invalid: true}), set(longer), "team-a/own", []string{"team-a"}},
		"another policy that an override suspended":               {before, set(policy.Override{Policy: "p", Suspend: true}), nil, "team-a/own", []string{"team-a"}},
		"an override where the policy does not apply":             {map[string]string{"team-a": "prod", "team-b": "prod"}, nil, set(longer), "p", nil},
		"a namespace is no longer selected and loses an override": {map[string]string{"team-a": "prod"}, set(longer), nil, "p", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			snapshot := func(tiers map[string]string, override *policy.Override) (*policy.Snapshot, *policy.Policy) {
				p, own := policyOf("p", about(jobs, "jobs")), policyOf("team-a/own", about(jobs, "jobs"))
				p.Namespaces, own.Namespace = ci, "team-a"
				if override != nil {
					own.Overrides = []*policy.Override{override}
				}
				b := policy.NewSnapshot([]*policy.Policy{p, own}, of(tiers), policy.DefaultProtection())
				return b, map[string]*policy.Policy{"p": p, "team-a/own": own}[test.of]
			}
			first, _ := snapshot(before, test.was)
			second, p := snapshot(test.after, test.becomes)
			expect.Equal(t, "list", test.want, sets.List(second.Since(first).Scope(p)), cmpopts.EquateEmpty())
		})
	}
}

// TestSharedCapacityIsAChangeEverywhere: the objects of a namespace that is selected now take places from those of others.
func TestSharedCapacityIsAChangeEverywhere(t *testing.T) {
	for fair, want := range map[bool][]string{true: {"", "team-a", "team-b"}, false: {"team-b"}} {
		r := about(jobs, "jobs")
		r.Capacity = policy.Capacity{Max: 1000, Bounded: true, Fair: fair}
		p := policyOf("p", r)
		p.Namespaces = labels.SelectorFromSet(labels.Set{"tier": "ci"})
		snapshot := func(ofTeamB string) *policy.Snapshot {
			namespaces := map[string]policy.Namespace{"team-a": {Labels: labels.Set{"tier": "ci"}}, "team-b": {Labels: labels.Set{"tier": ofTeamB}}}
			return policy.NewSnapshot([]*policy.Policy{p}, namespaces, policy.DefaultProtection())
		}
		expect.Equal(t, "scope", want, sets.List(snapshot("ci").Since(snapshot("prod")).Scope(p)))
	}
}

// TestInvalidRuleDilutesNothing: objects that an invalid rule selects do not count for the percentage.
func TestInvalidRuleDilutesNothing(t *testing.T) {
	good, bad := about(jobs, "good"), about(jobs, "bad")
	bad.Problems = []policy.Problem{{Path: "spec.rules[1].ttl", Message: "missing"}}
	p := policyOf("p", good, bad)
	p.Gate = &policy.ApprovalGate{}
	snapshot := policy.NewSnapshot([]*policy.Policy{p}, namespaces, policy.DefaultProtection())
	rules := snapshot.Effective(jobs.GroupKind(), "team-a").Rules
	stats := policy.NewStats(now)
	for i := range 30 {
		due := policy.Facts{Selected: i < 10, Eligible: true, Start: now.Add(-2 * time.Hour)}
		stats.Add(policy.Subject{Namespace: "team-a"}, []policy.Evaluation{
			{Rule: rules[0], Facts: policy.Facts{Selected: i >= 10}, Known: true},
			{Rule: rules[1], Facts: due, Known: true},
		})
	}
	if rules[0].ID.Rule != "bad" || rules[1].Mode != v1alpha1.Enforce {
		t.Fatal("the rules do not match the test")
	}
	expect.Equal(t, "count", policy.ChangeCount{Selected: 10, Due: 10, Week: 10}, stats.Policies["p"].Pending.ChangeCount, withoutAll)
}

// TestScopesTellChangesApart: an approval or a count does not cover later changes of a namespace.
func TestScopesTellChangesApart(t *testing.T) {
	first := policy.ApprovalScope(nil).Wider(sets.New("a", "b"), now)
	second := first.Wider(sets.New("a", "c"), now) // at the same moment
	later := second.Since()
	if !later.After(first.Since()) || !second["a"].Equal(later) || !second["b"].Equal(now) || !second["c"].Equal(later) || !first["a"].Equal(now) {
		t.Fatalf("%v, then %v", first, second)
	}
	expect.Equal(t, "the rest after the first is approved", policy.ApprovalScope{"a": later, "c": later}, second.Without(first))
	if left := first.Without(first); left != nil {
		t.Errorf("%v is left after approval", left)
	}
	for name, test := range map[string]struct {
		upTo time.Time
		want []string
	}{
		"both":      {later, []string{"a", "b"}},
		"one":       {now, []string{"b"}},
		"before it": {now.Add(-1), nil},
	} {
		expect.Equal(t, name, test.want, second.Among([]string{"a", "b", "x"}, test.upTo).Names())
	}
	for _, scope := range []policy.ApprovalScope{{"a": now, "b": later}, {"b": now, "a": later}} {
		if !scope.Since().Equal(later) {
			t.Errorf("the latest change of %v is %v", scope, scope.Since())
		}
	}
}
