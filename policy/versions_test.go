package policy_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// at is a rule about kind Thing in a version.
func at(version, name string, m v1alpha1.Mode) *policy.Rule {
	r := about(schema.GroupVersionKind{Group: "g", Version: version, Kind: "Thing"}, name)
	r.Mode = m
	return r
}

// ofTeam is a RetentionPolicy with the rule, created this many minutes after the first one.
func ofTeam(namespace string, minutes int, r *policy.Rule) *policy.Policy {
	r.Namespace, r.PolicyCreated = namespace, now.Add(time.Duration(minutes)*time.Minute)
	p := policyOf(namespace+"/p", r)
	p.Namespace = namespace
	return p
}

func withoutPermission(p *policy.Policy) *policy.Policy {
	p.Rules[0].Unpermitted = true
	return p
}

// TestAKindIsReadAtOneVersion: among others, a tenant cannot make older rules of another tenant invalid.
func TestAKindIsReadAtOneVersion(t *testing.T) {
	broken := at("v3", "r", v1alpha1.Enforce)
	broken.Problems = []policy.Problem{{Path: "spec.rules[0].ttl"}}
	tests := map[string]struct {
		policies []*policy.Policy
		version  string
		invalid  []string // rules with another version, or invalid for another reason
	}{
		"all use the same version": {
			[]*policy.Policy{policyOf("a", at("v1", "r", v1alpha1.Enforce)), policyOf("b", at("v1", "r", v1alpha1.DryRun))}, "v1", nil},
		"the first policy by name wins": {
			[]*policy.Policy{policyOf("b", at("v2", "r", v1alpha1.Enforce)), policyOf("a", at("v1", "r", v1alpha1.Enforce))}, "v1", []string{"b/r"}},
		"the first rule by name wins": {
			[]*policy.Policy{policyOf("a", at("v1", "s", v1alpha1.Enforce), at("v2", "r", v1alpha1.Enforce))}, "v2", []string{"a/s"}},
		"a rule in force wins over a dry run": {
			[]*policy.Policy{policyOf("a", at("v1", "r", v1alpha1.DryRun)), policyOf("b", at("v2", "r", v1alpha1.Enforce))}, "v2", []string{"a/r"}},
		"a suspended rule wins over a dry run": {
			[]*policy.Policy{policyOf("a", at("v1", "r", "")), policyOf("b", at("v2", "r", v1alpha1.Suspend))}, "v2", []string{"a/r"}},
		"an invalid rule does not count": {
			[]*policy.Policy{policyOf("a", broken), policyOf("b", at("v1", "r", v1alpha1.DryRun))}, "v1", []string{"a/r"}},
		"a cluster dry run wins over rules of older RetentionPolicies": {
			[]*policy.Policy{policyOf("z", at("v1", "r", v1alpha1.DryRun)), ofTeam("a", 0, at("v2", "r", v1alpha1.Enforce))}, "v1", []string{"a/p/r"}},
		"the oldest RetentionPolicy wins": {
			[]*policy.Policy{ofTeam("a", 1, at("v1", "r", v1alpha1.Enforce)), ofTeam("b", 0, at("v2", "r", v1alpha1.Enforce))}, "v2", []string{"a/p/r"}},
		"the oldest RetentionPolicy wins, also if it is first by name": {
			[]*policy.Policy{ofTeam("a", 0, at("v1", "r", v1alpha1.Enforce)), ofTeam("b", 1, at("v2", "r", v1alpha1.Enforce))}, "v1", []string{"b/p/r"}},
		"the oldest wins, even as a dry run": {
			[]*policy.Policy{ofTeam("a", 1, at("v1", "r", v1alpha1.Enforce)), ofTeam("b", 0, at("v2", "r", v1alpha1.DryRun))}, "v2", []string{"a/p/r"}},
		"the oldest does not win without permission": {
			[]*policy.Policy{ofTeam("a", 1, at("v1", "r", v1alpha1.Enforce)), withoutPermission(ofTeam("b", 0, at("v2", "r", v1alpha1.Enforce)))}, "v1", []string{"b/p/r"}},
		"of two with the same age, the first by namespace wins": {
			[]*policy.Policy{ofTeam("b", 0, at("v2", "r", v1alpha1.Enforce)), ofTeam("a", 0, at("v1", "r", v1alpha1.Enforce))}, "v1", []string{"b/p/r"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			snapshot := policy.NewSnapshot(test.policies, nil, policy.Protection{})
			kind := schema.GroupKind{Group: "g", Kind: "Thing"}
			expect.Equal(t, "version", test.version, snapshot.Version(kind).Version)
			var invalid []string
			for _, r := range snapshot.Rules(kind) {
				if r.Invalid() {
					invalid = append(invalid, r.ID.String())
				}
			}
			expect.Equal(t, "invalid rules", test.invalid, invalid)
		})
	}
}

func TestAVersionThatLosesIsTold(t *testing.T) {
	given := policyOf("b", at("v1", "fine", v1alpha1.Enforce), at("v2", "other", v1alpha1.Enforce))
	snapshot := policy.NewSnapshot([]*policy.Policy{given}, nil, policy.Protection{})
	want := []string{"spec.rules[1].target.apiVersion: rule b/fine targets Thing in version g/v1, and Sunset reads each kind in one version only" +
		" (use the same apiVersion in every rule about the kind)"}
	expect.Equal(t, "problems", want, problems(snapshot.Policies()[0].Problems))
	if len(given.Problems) > 0 || given.Rules[1].Invalid() {
		t.Error("the policy given was changed")
	}
}
