// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestWarningOfMaximumBelowTTL(t *testing.T) {
	for name, test := range map[string]struct {
		ttl, most string
		want      []string
	}{
		"shorter than the ttl": {"30d", "7d", []string{"spec.rules[0].overrideBounds.maxTTL: 7d is shorter than the ttl 30d of the rule, so a longer time has no effect (write a maxTTL that is longer than ttl)"}},
		"as long as the ttl":   {"7d", "7d", nil},
		"longer than the ttl":  {"7d", "30d", nil},
		"without a maximum":    {"7d", "", nil},
		"without a ttl":        {"", "7d", nil},
	} {
		t.Run(name, func(t *testing.T) {
			rule := v1alpha1.Rule{Name: "a", Target: v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"}, TTL: test.ttl, OverrideBounds: &v1alpha1.OverrideBounds{MaxTTL: test.most}}
			if test.ttl == "" {
				rule.Capacity = &v1alpha1.Capacity{Max: new(int32(5))}
			}
			p := (&policy.Document{Spec: policy.Spec{Rules: []v1alpha1.Rule{rule}}}).Load(policy.DefaultProtection())
			expect.Equal(t, "problems", nil, policy.Lines(p.Problems))
			expect.Equal(t, "warnings", test.want, policy.Lines(p.Warnings()))
		})
	}
}

func TestWarningsOfRulesThatDoNotAskForUse(t *testing.T) {
	warning := func(kind string) []string {
		return []string{"spec.rules[0].eligible: the rule selects every " + kind + ", and does not check whether it is in use " +
			"(write references.count == 0 && ..., or select labels in target.selector)"}
	}
	selecting := func(s metav1.LabelSelector) func(*policy.Rule) {
		return func(r *policy.Rule) { r.Spec.Target.Selector = &s }
	}
	tests := map[string]struct {
		target v1alpha1.Target
		change func(*policy.Rule)
		want   []string
	}{
		"about ConfigMaps":               {v1alpha1.Target{APIVersion: "v1", Kind: "ConfigMap"}, nil, warning("ConfigMap")},
		"about Secrets":                  {v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}, nil, warning("Secret")},
		"about Jobs":                     {v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"}, nil, nil},
		"about Secrets of another group": {v1alpha1.Target{APIVersion: "example.com/v1", Kind: "Secret"}, nil, nil},
		"it reads references":            {v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}, func(r *policy.Rule) { r.Relations = policy.AsksReferences }, nil},
		"it selects by a label":          {v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}, selecting(metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}), nil},
		"it selects by an expression":    {v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}, selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Exists"}}}), nil},
		"it selects all":                 {v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}, selecting(metav1.LabelSelector{}), warning("Secret")},
		"it is invalid":                  {v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}, func(r *policy.Rule) { r.Problems = []policy.Problem{{}} }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := &policy.Document{Spec: policy.Spec{Rules: []v1alpha1.Rule{{Name: "a", Target: test.target, Eligible: "true", StartTime: "object.metadata.creationTimestamp", TTL: "1d"}}}}
			p := d.Load(policy.DefaultProtection())
			if len(p.Problems) > 0 {
				t.Fatal(p.Problems)
			}
			if test.change != nil {
				test.change(p.Rules[0])
			}
			expect.Equal(t, "problems", test.want, policy.Lines(p.Warnings()))
		})
	}
}
