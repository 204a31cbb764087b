// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// policyOf is a policy with these rules for all namespaces.
func policyOf(name string, rules ...*policy.Rule) *policy.Policy {
	for _, r := range rules {
		r.ID.Policy = name
	}
	return &policy.Policy{Name: name, Namespaces: labels.Everything(), Rules: rules}
}

// about is an enforced rule about a kind.
func about(kind schema.GroupVersionKind, name string) *policy.Rule {
	r := enforced("", name)
	r.Kind = kind
	return r
}

func names(effective *policy.EffectiveRules) []string {
	ids := []string{}
	for _, r := range effective.Rules {
		ids = append(ids, r.ID.String())
	}
	return ids
}

var namespaces = map[string]policy.Namespace{
	"team-a":      {Labels: labels.Set{"tier": "ci"}},
	"team-b":      {Labels: labels.Set{"tier": "prod"}},
	"bare":        {},
	"kube-system": {Labels: labels.Set{"tier": "ci"}},
}

func TestEffective(t *testing.T) {
	ci, err := labels.Parse("tier=ci")
	expect.NoError(t, err)
	everywhere := policyOf("everywhere", about(jobs, "jobs"), about(pods, "pods"))
	selects := policyOf("selects", about(jobs, "jobs"))
	selects.Namespaces = ci
	excludes := policyOf("excludes", about(jobs, "jobs"))
	excludes.Excluded = sets.New("team-a", "unknown")
	snapshot := policy.NewSnapshot([]*policy.Policy{selects, everywhere, excludes}, namespaces, policy.DefaultProtection())

	tests := map[string]struct {
		kind      schema.GroupVersionKind
		namespace string
		want      []string
	}{
		"all policies that select the namespace, by name": {jobs, "team-a", []string{"everywhere/jobs", "selects/jobs"}},
		"labels that do not match":                        {jobs, "team-b", []string{"everywhere/jobs", "excludes/jobs"}},
		"a namespace without labels":                      {jobs, "bare", []string{"everywhere/jobs", "excludes/jobs"}},
		"another kind":                                    {pods, "team-a", []string{"everywhere/pods"}},
		"a kind without rules":                            {schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "team-a", []string{}},
		"a protected namespace":                           {jobs, "kube-system", []string{}},
		"a protected namespace that is unknown":           {jobs, "kube-public", []string{}},
		"an unknown namespace may be selected":            {jobs, "unborn", []string{"everywhere/jobs", "excludes/jobs", "selects/jobs"}},
		"an unknown namespace that is excluded":           {jobs, "unknown", []string{"everywhere/jobs", "selects/jobs"}},
		"cluster-scoped objects are always included": {jobs, "",
			[]string{"everywhere/jobs", "excludes/jobs", "selects/jobs"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			effective := snapshot.Effective(test.kind.GroupKind(), test.namespace)
			expect.Equal(t, "rules", test.want, names(effective))
			if snapshot.Effective(test.kind.GroupKind(), test.namespace) != effective {
				t.Error("the same arguments give another pointer")
			}
		})
	}
}

// TestEffectiveSharesRules: namespaces with the same rules share one slice, so that a thousand policies in thousands of namespaces
// need little memory.
func TestEffectiveSharesRules(t *testing.T) {
	selects := policyOf("selects", about(jobs, "jobs"))
	selects.Excluded = sets.New("bare")
	snapshot := policy.NewSnapshot([]*policy.Policy{selects, policyOf("everywhere", about(jobs, "jobs"))}, namespaces, policy.Protection{})
	rules := func(namespace string) []*policy.Rule { return snapshot.Effective(jobs.GroupKind(), namespace).Rules }
	if a, b := rules("team-a"), rules("team-b"); len(a) != 2 || &a[0] != &b[0] {
		t.Errorf("two namespaces with the same rules have two slices: %d and %d rules", len(a), len(b))
	}
	expect.Equal(t, "rules of another namespace", 1, len(rules("bare")))
	expect.Equal(t, "rules after it", 2, len(rules("unborn")))
}

func TestSnapshotKnows(t *testing.T) {
	snapshot := policy.NewSnapshot(nil, namespaces, policy.Protection{})
	for namespace, want := range map[string]bool{"team-a": true, "bare": true, "": true, "unborn": false} {
		expect.Equal(t, fmt.Sprintf("Knows(%q)", namespace), want, snapshot.Knows(namespace))
	}
	expect.Equal(t, "namespaces", len(namespaces), snapshot.Namespaces())
}

func TestSnapshotZeroKnowsNoPolicy(t *testing.T) {
	var snapshot policy.Snapshot
	if effective := snapshot.Effective(jobs.GroupKind(), "team-a"); len(effective.Rules) > 0 {
		t.Errorf("rules %v, want none", names(effective))
	}
	if len(snapshot.Policies()) > 0 || len(snapshot.Kinds()) > 0 || snapshot.Knows("team-a") || !snapshot.Version(jobs.GroupKind()).Empty() {
		t.Error("the zero snapshot knows something")
	}
}

func TestSnapshotKindsAndRules(t *testing.T) {
	unreadable := enforced("", "unreadable")
	unreadable.Kind = schema.GroupVersionKind{}
	snapshot := policy.NewSnapshot([]*policy.Policy{
		policyOf("b", about(jobs, "z"), about(jobs, "a"), unreadable), policyOf("a", about(jobs, "m"), about(pods, "m")),
	}, nil, policy.Protection{})
	kinds := snapshot.Kinds()
	slices.SortFunc(kinds, func(x, y schema.GroupKind) int { return len(y.Group) - len(x.Group) })
	expect.Equal(t, "kinds", []schema.GroupKind{jobs.GroupKind(), pods.GroupKind()}, kinds)
	got := names(&policy.EffectiveRules{Rules: snapshot.Rules(jobs.GroupKind())})
	expect.Equal(t, "rules", []string{"a/m", "b/a", "b/z"}, got)
	if p := snapshot.Policies(); len(p) != 2 || p[0].Name != "a" || p[1].Name != "b" {
		t.Errorf("policies %v", p)
	}
}

func TestOrderOfPoliciesNeverMatters(t *testing.T) {
	var policies []*policy.Policy
	for i := range 6 {
		version := schema.GroupVersionKind{Group: "g", Version: fmt.Sprint("v", 1+i%2), Kind: "Thing"}
		policies = append(policies, policyOf(fmt.Sprint("p", i), about(version, "r1"), about(version, "r2")))
	}
	random := rand.New(rand.NewSource(7))
	kind := schema.GroupKind{Group: "g", Kind: "Thing"}
	first := policy.NewSnapshot(policies, namespaces, policy.Protection{})
	for range 100 {
		random.Shuffle(len(policies), func(i, j int) { policies[i], policies[j] = policies[j], policies[i] })
		snapshot := policy.NewSnapshot(policies, namespaces, policy.Protection{})
		if !snapshot.Effective(kind, "team-a").SameSettings(first.Effective(kind, "team-a")) || snapshot.Version(kind) != first.Version(kind) {
			t.Fatal("the order changes the rules")
		}
	}
}

func TestNewSnapshotDoesNotSortItsArgument(t *testing.T) {
	policies := []*policy.Policy{policyOf("b"), policyOf("a")}
	policy.NewSnapshot(policies, nil, policy.Protection{})
	if policies[0].Name != "b" {
		t.Error("the caller's slice is sorted")
	}
}

// TestSnapshotRanked: a rule without keepNewest ranks if a namespace sets keepNewest.
func TestSnapshotRanked(t *testing.T) {
	for name, test := range map[string]struct {
		override policy.Override
		want     int
	}{
		"keepNewest of this rule":    {policy.Override{Policy: "p", Rule: "r", Keep: new(2), InForce: true}, 1},
		"keepNewest of every rule":   {policy.Override{Policy: "p", Keep: new(2), InForce: true}, 1},
		"keepNewest of another rule": {policy.Override{Policy: "p", Rule: "s", Keep: new(2), InForce: true}, 0},
		"a time to live":             {policy.Override{Policy: "p", TTL: new(hour), InForce: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			mine := own("team-a", "mine")
			mine.Overrides = []*policy.Override{&test.override}
			snapshot := policy.NewSnapshot([]*policy.Policy{policyOf("p", about(jobs, "r")), mine}, namespaces, policy.Protection{})
			if got := snapshot.Ranked(jobs.GroupKind()); len(got) != test.want {
				t.Errorf("ranked are %v, want %d", got, test.want)
			}
		})
	}
}

// TestRulesOfRandomSelectors: in each namespace, exactly the rules apply whose policy selects its labels.
func TestRulesOfRandomSelectors(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 100 {
		var policies []*policy.Policy
		for i := range 1 + random.Intn(8) {
			p := policyOf(fmt.Sprint("p", i), about(jobs, "a"))
			p.Namespaces = randomSelector(random)
			policies = append(policies, p)
		}
		namespaces := map[string]policy.Namespace{}
		for i := range 5 {
			namespace := policy.Namespace{Labels: labels.Set{}}
			for range random.Intn(4) {
				namespace.Labels[fmt.Sprint("k", random.Intn(3))] = fmt.Sprint(random.Intn(3))
			}
			namespaces[fmt.Sprint("team-", i)] = namespace
		}
		snapshot := policy.NewSnapshot(policies, namespaces, policy.Protection{})
		for name, namespace := range namespaces {
			want := []string{}
			for _, p := range policies {
				if p.Namespaces.Matches(namespace.Labels) {
					want = append(want, p.Name)
				}
			}
			got := []string{}
			for _, r := range snapshot.Effective(jobs.GroupKind(), name).Rules {
				got = append(got, r.ID.Policy)
			}
			expect.Equal(t, fmt.Sprintf("policies in a namespace with labels %v", namespace.Labels), want, got)
		}
		expect.Equal(t, "rules in an unknown namespace", len(policies), len(snapshot.Effective(jobs.GroupKind(), "unknown").Rules))
	}
}

// randomSelector returns a selector of up to three requirements.
func randomSelector(random *rand.Rand) labels.Selector {
	selector := labels.NewSelector()
	for range random.Intn(4) {
		operators := []selection.Operator{selection.In, selection.Equals, selection.NotIn, selection.Exists, selection.DoesNotExist}
		operator, values := operators[random.Intn(len(operators))], []string(nil)
		switch operator {
		case selection.In, selection.NotIn:
			values = []string{fmt.Sprint(random.Intn(3)), fmt.Sprint(random.Intn(3))}
		case selection.Equals:
			values = []string{fmt.Sprint(random.Intn(3))}
		}
		requirement, err := labels.NewRequirement(fmt.Sprint("k", random.Intn(3)), operator, values)
		if err != nil {
			panic(err)
		}
		selector = selector.Add(*requirement)
	}
	return selector
}
