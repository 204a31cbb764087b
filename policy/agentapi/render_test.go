// SPDX-License-Identifier: Apache-2.0

package agentapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var (
	now    = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	images = v1alpha1.Target{APIVersion: "node.sunset-k8s.io/v1alpha1", Kind: "Image"}
	jobs   = v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"}
)

// about is a rule as written by a user.
func about(target v1alpha1.Target, name string) v1alpha1.Rule {
	return v1alpha1.Rule{Name: name, Target: target, Eligible: "true", StartTime: "object.status.lastUsed", TTL: "30d", Events: v1alpha1.EventsAggregate}
}

// policyOf is a loaded policy.
func policyOf(name string, mode v1alpha1.Mode, rules ...v1alpha1.Rule) *policy.Policy {
	d := &policy.Document{Metadata: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 4, CreationTimestamp: metav1.Time{Time: now}}}
	d.Spec.Mode, d.Spec.Rules = mode, rules
	d.Spec.Variables = []v1alpha1.Variable{{Name: "old", Expression: "true"}}
	return d.Load(policy.DefaultProtection())
}

func render(most int, policies ...*policy.Policy) agentapi.Rendered {
	return agentapi.Render(policy.NewSnapshot(policies, nil, policy.DefaultProtection()), most)
}

func TestRender(t *testing.T) {
	mixed := policyOf("mixed", v1alpha1.Enforce, about(jobs, "jobs"), about(images, "old"), about(images, "older"))
	mixed.Approvals = []string{"g"}
	got := render(agentapi.MaxBytes, policyOf("others", v1alpha1.Enforce, about(jobs, "jobs")), mixed)
	expect.Equal(t, "rendered", agentapi.Rendered{
		Policies: []v1alpha1.NodeImagePolicy{{
			Name: "mixed", UID: "uid-mixed", CreationTimestamp: metav1.Time{Time: now}, Generation: 4, Hash: mixed.Hash, Approvals: []string{"g"},
			Spec: v1alpha1.ClusterRetentionPolicySpec{
				Mode: v1alpha1.Enforce, Variables: mixed.Variables, Rules: []v1alpha1.Rule{about(images, "old"), about(images, "older")},
			},
		}},
		Known: []v1alpha1.NodeImageKnownPolicy{
			{Name: "mixed", UID: "uid-mixed", Generation: 4}, {Name: "others", UID: "uid-others", Generation: 4},
		},
	}, got)
}

func TestRenderWithoutRulesAboutImages(t *testing.T) {
	expect.Equal(t, "rendered", agentapi.Rendered{}, render(agentapi.MaxBytes, policyOf("others", v1alpha1.Enforce, about(jobs, "jobs"))))
	expect.Equal(t, "rendered", agentapi.Rendered{}, render(agentapi.MaxBytes))
}

func TestRenderListsUnapprovedRules(t *testing.T) {
	tests := map[string]struct {
		gate *policy.ApprovalGate
		want []string
	}{
		"none":               {nil, nil},
		"all":                {&policy.ApprovalGate{Hash: "h"}, []string{"old", "older"}},
		"one":                {&policy.ApprovalGate{Hash: "h", Rules: sets.New("older", "jobs")}, []string{"older"}},
		"only in namespaces": {&policy.ApprovalGate{Hash: "h", Namespaces: policy.ApprovalScope{"team-a": {}}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := policyOf("p", v1alpha1.Enforce, about(jobs, "jobs"), about(images, "old"), about(images, "older"))
			p.Gate = test.gate
			expect.Equal(t, "unapproved", test.want, render(agentapi.MaxBytes, p).Policies[0].Unapproved)
		})
	}
}

// TestRenderKeepsInvalidRulesInvalid: an invalid rule becomes an expression that does not compile.
func TestRenderKeepsInvalidRulesInvalid(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "build"}}
	tests := map[string]struct {
		path string
		want *metav1.LabelSelector
	}{
		"another field":        {"spec.rules[0].eligible", selector},
		"an unknown field":     {"spec.rules[0].eligibel", selector},
		"its selector":         {"spec.rules[0].nodeSelector", nil},
		"part of its selector": {"spec.rules[0].nodeSelector.matchLabel", nil},
		"the rule as a whole":  {"spec.rules[0]", nil},
		"the policy":           {"spec.excludeNamespace", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bad := about(images, "old")
			bad.NodeSelector = selector
			p := policyOf("p", v1alpha1.Enforce, bad, about(images, "older"))
			p.AddProblems(policy.Problem{Path: test.path, Message: "wrong"})
			told := render(agentapi.MaxBytes, p).Policies[0].Spec.Rules[0]
			expect.Equal(t, "selector", test.want, told.NodeSelector)
			if told.Name != "old" || !strings.HasPrefix(told.Eligible, "this rule is invalid") {
				t.Errorf("rendered as %+v", told)
			}
		})
	}
}

func TestRenderDisablesPoliciesThatDoNotFit(t *testing.T) {
	long := about(images, "old")
	long.Eligible = strings.Repeat("true || ", 1000) + "true"
	dry, late := policyOf("a", v1alpha1.DryRun, long), policyOf("c", v1alpha1.Enforce, long)
	in := policyOf("b", v1alpha1.Suspend, long)
	for name, test := range map[string]struct {
		most    int
		missing []types.UID
	}{
		"all fit":  {agentapi.MaxBytes, []types.UID{}},
		"two fit":  {20_000, []types.UID{"uid-a"}},
		"one fits": {12_000, []types.UID{"uid-a", "uid-c"}},
		"none":     {0, []types.UID{"uid-a", "uid-b", "uid-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := render(test.most, late, dry, in)
			expect.Equal(t, "missing", test.missing, sets.List(got.Missing))
			text, err := json.Marshal(got)
			if err != nil || test.most > 0 && len(text) > test.most {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			for _, p := range got.Policies {
				if got.Missing.Has(p.UID) != (p.Hash == agentapi.LeftOut) || got.Missing.Has(p.UID) != strings.HasPrefix(p.Spec.Rules[0].Eligible, "this rule is") {
					t.Errorf("%s: hash %s, eligible %.30s", p.Name, p.Hash, p.Spec.Rules[0].Eligible)
				}
			}
		})
	}
}
