// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

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

// ofTeam is a RetentionPolicy with the rule. The API server prefers a version of the kind; empty if that is not known.
func ofTeam(namespace, preferred string, r *policy.Rule) *policy.Policy {
	if r.Namespace = namespace; preferred != "" {
		r.Preferred = schema.GroupVersionKind{Group: "g", Version: preferred, Kind: "Thing"}
	}
	p := policyOf(namespace+"/p", r)
	p.Namespace = namespace
	return p
}

// unwatched makes the permissions of a policy's rules unknown.
func unwatched(p *policy.Policy) *policy.Policy {
	for _, r := range p.Rules {
		r.Unpermitted, r.Unwatched = true, true
	}
	return p
}

// TestKindIsReadAtOneVersion: among others, a RetentionPolicy cannot make the rules of another one invalid.
func TestKindIsReadAtOneVersion(t *testing.T) {
	broken := func() *policy.Rule {
		r := at("v3", "r", v1alpha1.Enforce)
		r.Problems = []policy.Problem{{Path: "spec.rules[0].ttl"}}
		return r
	}
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
			[]*policy.Policy{policyOf("a", broken()), policyOf("b", at("v1", "r", v1alpha1.DryRun))}, "v1", []string{"a/r"}},
		"a cluster dry run wins over RetentionPolicies": {
			[]*policy.Policy{policyOf("z", at("v1", "r", v1alpha1.DryRun)), ofTeam("a", "v2", at("v2", "r", v1alpha1.Enforce))}, "v1", []string{"a/p/r"}},
		"also over those of later names": {
			[]*policy.Policy{policyOf("a", at("v1", "r", v1alpha1.DryRun)), ofTeam("z", "v2", at("v2", "r", v1alpha1.Enforce))}, "v1", []string{"z/p/r"}},
		"an invalid rule of the cluster leaves the choice to the API server": {
			[]*policy.Policy{policyOf("z", broken()), ofTeam("a", "v2", at("v2", "r", v1alpha1.Enforce))}, "v2", []string{"z/r"}},
		"of RetentionPolicies, the one with the preferred version is valid": {
			[]*policy.Policy{ofTeam("a", "v2", at("v1", "r", v1alpha1.Enforce)), ofTeam("b", "v2", at("v2", "r", v1alpha1.DryRun))}, "v2", []string{"a/p/r"}},
		"also if it is the first by name": {
			[]*policy.Policy{ofTeam("a", "v2", at("v2", "r", v1alpha1.Enforce)), ofTeam("b", "v2", at("v1", "r", v1alpha1.Enforce))}, "v2", []string{"b/p/r"}},
		"also if the others do not know it yet": {
			[]*policy.Policy{ofTeam("a", "", at("v1", "r", v1alpha1.Enforce)), ofTeam("b", "v2", at("v2", "r", v1alpha1.Enforce)), ofTeam("c", "", at("v3", "r", v1alpha1.Enforce))},
			"v2", []string{"a/p/r", "c/p/r"}},
		"none has the preferred version": {
			[]*policy.Policy{ofTeam("a", "v3", at("v1", "r", v1alpha1.Enforce)), ofTeam("b", "v3", at("v2", "r", v1alpha1.Enforce))}, "v3", []string{"a/p/r", "b/p/r"}},
		"while the preferred version is unknown, RetentionPolicies with the same version are valid": {
			[]*policy.Policy{ofTeam("a", "", at("v1", "r", v1alpha1.Enforce)), ofTeam("b", "", at("v1", "r", v1alpha1.Enforce))}, "v1", nil},
		"RetentionPolicies with several versions are not": {
			[]*policy.Policy{ofTeam("b", "", at("v2", "r", v1alpha1.Enforce)), ofTeam("a", "", at("v1", "r", v1alpha1.Enforce)), ofTeam("c", "", at("v1", "r", v1alpha1.Enforce))},
			"", []string{"a/p/r", "b/p/r", "c/p/r"}},
		"unless the cluster has a rule": {
			[]*policy.Policy{ofTeam("a", "", at("v1", "r", v1alpha1.Enforce)), ofTeam("b", "", at("v2", "r", v1alpha1.Enforce)), policyOf("z", at("v2", "r", v1alpha1.DryRun))},
			"v2", []string{"a/p/r"}},
		"a rule without permission makes no other one invalid": {
			[]*policy.Policy{unwatched(ofTeam("a", "", at("v1", "r", v1alpha1.Enforce))), ofTeam("b", "", at("v2", "r", v1alpha1.Enforce))}, "v2", nil},
		"nor is it invalid because of others without permission": {
			[]*policy.Policy{unwatched(ofTeam("a", "", at("v1", "r", v1alpha1.Enforce))), unwatched(ofTeam("b", "", at("v2", "r", v1alpha1.Enforce)))}, "", nil},
		"it is invalid if another version is preferred": {
			[]*policy.Policy{unwatched(ofTeam("a", "v2", at("v1", "r", v1alpha1.Enforce)))}, "v2", []string{"a/p/r"}},
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

func TestVersionThatLosesIsTold(t *testing.T) {
	given := policyOf("b", at("v1", "fine", v1alpha1.Enforce), at("v2", "other", v1alpha1.Enforce))
	snapshot := policy.NewSnapshot([]*policy.Policy{given, ofTeam("team", "v2", at("v2", "r", v1alpha1.Enforce))}, nil, policy.Protection{})
	want := []string{"spec.rules[1].target.apiVersion: Sunset reads each kind in one version only, and Thing in g/v1, because rule b/fine targets it (use apiVersion g/v1)"}
	expect.Equal(t, "problems", want, policy.Lines(snapshot.Policies()[0].Problems))
	if len(given.Problems) > 0 || given.Rules[1].Invalid() {
		t.Error("the policy given was changed")
	}
	snapshot = policy.NewSnapshot([]*policy.Policy{ofTeam("team", "v2", at("v1", "r", v1alpha1.Enforce))}, nil, policy.Protection{})
	want = []string{"spec.rules[0].target.apiVersion: Sunset reads each kind in one version only, and Thing in g/v2, because the API server prefers it (use apiVersion g/v2)"}
	expect.Equal(t, "problems of a RetentionPolicy", want, policy.Lines(snapshot.Policies()[0].Problems))
	snapshot = policy.NewSnapshot([]*policy.Policy{ofTeam("a", "", at("v1", "r", v1alpha1.Enforce)), ofTeam("b", "", at("v2", "r", v1alpha1.Enforce))}, nil, policy.Protection{})
	want = []string{`spec.rules[0].target.apiVersion: Sunset reads each kind in one version only, and does not know which version of Thing the API server prefers; ` +
		`RetentionPolicies name several versions (to see the preferred version, run kubectl api-resources --api-group="g"; ` +
		`a ClusterRetentionPolicy with a rule about the kind chooses the version)`}
	for _, p := range snapshot.Policies() {
		expect.Equal(t, "problems while the preferred version is unknown", want, policy.Lines(p.Problems))
	}
	wrong := at("v2", "r", v1alpha1.Enforce)
	wrong.Problems = []policy.Problem{{Path: "spec.rules[0].ttl", Message: "missing"}}
	snapshot = policy.NewSnapshot([]*policy.Policy{ofTeam("a", "", at("v1", "r", v1alpha1.Enforce)), ofTeam("b", "", wrong)}, nil, policy.Protection{})
	want = []string{"spec.rules[0].target.apiVersion: Sunset reads each kind in one version only, and Thing in g/v1, because all valid rules about it target this version (use apiVersion g/v1)"}
	expect.Equal(t, "problems of an invalid rule", want, policy.Lines(snapshot.Policies()[1].Problems))
}
