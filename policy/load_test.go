// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// fine is a document without problems; each test spoils a copy.
func fine() *policy.Document {
	return &policy.Document{
		Metadata: metav1.ObjectMeta{Name: "batch", UID: "u", Generation: 3},
		Spec:     policy.Spec{Rules: []v1alpha1.Rule{fineRule("jobs"), fineRule("more")}},
	}
}

func fineRule(name string) v1alpha1.Rule {
	return v1alpha1.Rule{
		Name: name, Target: v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"},
		Eligible: "true", StartTime: "object.metadata.creationTimestamp", TTL: "1d",
	}
}

func TestLoadGivesDefaults(t *testing.T) {
	p := fine().Load(policy.DefaultProtection())
	if len(p.Problems) > 0 {
		t.Fatalf("problems %v, want none", p.Problems)
	}
	want := &policy.Rule{
		ID: policy.RuleID{Policy: "batch", Rule: "more"}, PolicyUID: "u", Index: 1, Kind: jobs, Mode: v1alpha1.DryRun, TTL: 24 * time.Hour,
		Propagation: metav1.DeletePropagationBackground, Events: v1alpha1.EventsAggregate, Spec: fineRule("more"),
	}
	expect.Equal(t, "rule", want, p.Rules[1])
	if p.Name != "batch" || p.UID != "u" || p.Generation != 3 || p.Mode != v1alpha1.DryRun || !p.Namespaces.Empty() {
		t.Errorf("policy is %+v", p)
	}
}

func TestLoadTakesWhatIsWritten(t *testing.T) {
	d := fine()
	d.Spec.Mode = v1alpha1.Enforce
	r := &d.Spec.Rules[0]
	r.TTL, r.TTLExpression = "", "days(1)"
	r.Events = v1alpha1.EventsPerObject
	r.Delete = &v1alpha1.Delete{PropagationPolicy: metav1.DeletePropagationForeground, Target: v1alpha1.TargetOwner, AllowUnfinishedOwner: true}
	got := d.Load(policy.DefaultProtection()).Rules[0]
	want := &policy.Rule{
		ID: policy.RuleID{Policy: "batch", Rule: "jobs"}, PolicyUID: "u", Kind: jobs, Mode: v1alpha1.Enforce, HasTTLExpression: true,
		Propagation: metav1.DeletePropagationForeground, Owner: true, AllowUnfinished: true, Events: v1alpha1.EventsPerObject, Spec: *r,
	}
	expect.Equal(t, "rule", want, got, cmpopts.EquateEmpty())
}

// TestLoadFindsProblems spoils the first of two rules, or the whole policy.
func TestLoadFindsProblems(t *testing.T) {
	tests := map[string]struct {
		spoil func(*policy.Spec, *v1alpha1.Rule)
		path  string
	}{
		"an unknown mode": {
			func(s *policy.Spec, _ *v1alpha1.Rule) { s.Mode = "enforce" }, "spec.mode"},
		"a namespace selector that cannot be read": {
			func(s *policy.Spec, _ *v1alpha1.Rule) { s.NamespaceSelector = badSelector },
			"spec.namespaceSelector.matchExpressions[0].operator"},
		"limits with a window that cannot be read": {
			func(s *policy.Spec, _ *v1alpha1.Rule) { s.Limits = &v1alpha1.Limits{MaxDeletions: 5, Window: "hourly"} }, "spec.limits.window"},
		"limits without a window": {
			func(s *policy.Spec, _ *v1alpha1.Rule) { s.Limits = &v1alpha1.Limits{MaxDeletions: 5} }, "spec.limits.window"},
		"limits of less than a second": {
			func(s *policy.Spec, _ *v1alpha1.Rule) { s.Limits = &v1alpha1.Limits{MaxDeletions: 5, Window: "999ms"} }, "spec.limits.window"},
		"limits of more than a year": {
			func(s *policy.Spec, _ *v1alpha1.Rule) { s.Limits = &v1alpha1.Limits{MaxDeletions: 5, Window: "366d"} }, "spec.limits.window"},
		"negative limits": {
			func(s *policy.Spec, _ *v1alpha1.Rule) { s.Limits = &v1alpha1.Limits{MaxDeletions: -1, Window: "1h"} }, "spec.limits.maxDeletions"},
		"no rule": {
			func(s *policy.Spec, _ *v1alpha1.Rule) { s.Rules = nil }, "spec.rules"},
		"no name":                      {spoil(func(r *v1alpha1.Rule) { r.Name = "" }), "spec.rules[0].name"},
		"no apiVersion":                {spoil(func(r *v1alpha1.Rule) { r.Target.APIVersion = "" }), "spec.rules[0].target.apiVersion"},
		"an apiVersion of three parts": {spoil(func(r *v1alpha1.Rule) { r.Target.APIVersion = "a/b/c" }), "spec.rules[0].target.apiVersion"},
		"a group without a version":    {spoil(func(r *v1alpha1.Rule) { r.Target.APIVersion = "batch/" }), "spec.rules[0].target.apiVersion"},
		"no kind":                      {spoil(func(r *v1alpha1.Rule) { r.Target.Kind = "" }), "spec.rules[0].target.kind"},
		"a blank kind":                 {spoil(func(r *v1alpha1.Rule) { r.Target.Kind = "  " }), "spec.rules[0].target.kind"},
		"a protected kind":             {spoil(func(r *v1alpha1.Rule) { r.Target = v1alpha1.Target{APIVersion: "v1", Kind: "Node"} }), "spec.rules[0].target.kind"},
		"no ttl":                       {spoil(func(r *v1alpha1.Rule) { r.TTL = "" }), "spec.rules[0].ttl"},
		"a ttl without a unit":         {spoil(func(r *v1alpha1.Rule) { r.TTL = "30" }), "spec.rules[0].ttl"},
		"a negative ttl":               {spoil(func(r *v1alpha1.Rule) { r.TTL = "-1h" }), "spec.rules[0].ttl"},
		"ttl and ttlExpression":        {spoil(func(r *v1alpha1.Rule) { r.TTLExpression = "days(1)" }), "spec.rules[0].ttlExpression"},
		"unknown events":               {spoil(func(r *v1alpha1.Rule) { r.Events = "All" }), "spec.rules[0].events"},
		"an unknown value of delete.target": {spoil(func(r *v1alpha1.Rule) { r.Delete = &v1alpha1.Delete{Target: "Parent"} }),
			"spec.rules[0].delete.target"},
		"allowUnfinishedOwner without target: Owner": {spoil(func(r *v1alpha1.Rule) { r.Delete = &v1alpha1.Delete{AllowUnfinishedOwner: true} }),
			"spec.rules[0].delete.allowUnfinishedOwner"},
		"an owner with Orphan": {spoil(func(r *v1alpha1.Rule) {
			r.Delete = &v1alpha1.Delete{Target: v1alpha1.TargetOwner, PropagationPolicy: metav1.DeletePropagationOrphan}
		}), "spec.rules[0].delete.propagationPolicy"},
		"an unknown propagation policy": {spoil(func(r *v1alpha1.Rule) { r.Delete = &v1alpha1.Delete{PropagationPolicy: "None"} }),
			"spec.rules[0].delete.propagationPolicy"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := fine()
			test.spoil(&d.Spec, &d.Spec.Rules[0])
			checkProblem(t, d.Load(policy.DefaultProtection()), test.path)
		})
	}
}

func TestLoadSuggestsValues(t *testing.T) {
	for written, want := range map[v1alpha1.EventMode]string{
		"perObjekt": `spec.rules[0].events: "perObjekt" is not a valid value (did you mean PerObject?)`,
		"All":       `spec.rules[0].events: "All" is not a valid value (Aggregate or PerObject)`,
	} {
		d := fine()
		d.Spec.Rules[0].Events = written
		expect.Equal(t, "problem", want, d.Load(policy.DefaultProtection()).Problems[0].String())
	}
	d := fine()
	d.Spec.Mode = "On"
	expect.Equal(t, "problem", `spec.mode: "On" is not a valid value (DryRun, Enforce or Suspend)`, d.Load(policy.DefaultProtection()).Problems[0].String())
}

func TestPolicyNeedsLedgerForLimitsOrOutcome(t *testing.T) {
	tests := map[string]struct {
		change func(*policy.Spec)
		limits *policy.Limits
		ledger bool
	}{
		"neither outcome nor limits": {func(*policy.Spec) {}, nil, false},
		"limits":                     {func(s *policy.Spec) { s.Limits = &v1alpha1.Limits{MaxDeletions: 5, Window: "1d"} }, &policy.Limits{Max: 5, Window: 24 * time.Hour}, true},
		"limits without deletions":   {func(s *policy.Spec) { s.Limits = &v1alpha1.Limits{Window: "1s"} }, &policy.Limits{Window: time.Second}, true},
		"an outcome of one rule":     {func(s *policy.Spec) { s.Rules[1].Outcome = "'x'" }, nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := fine()
			test.change(&d.Spec)
			p := d.Load(policy.DefaultProtection())
			if len(p.Problems) > 0 {
				t.Fatal(p.Problems)
			}
			if diff := cmp.Diff(test.limits, p.Limits); diff != "" || p.Ledger != test.ledger {
				t.Errorf("has a ledger: %v; limits: -want +got\n%s", p.Ledger, diff)
			}
			for _, r := range p.Rules {
				expect.Equal(t, fmt.Sprintf("rule %s", r.ID), test.ledger, r.Ledger)
			}
		})
	}
}

var badSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}

func spoil(rule func(*v1alpha1.Rule)) func(*policy.Spec, *v1alpha1.Rule) {
	return func(_ *policy.Spec, r *v1alpha1.Rule) { rule(r) }
}

func TestLoadMakesTheSecondOfTwoNamesakesInvalid(t *testing.T) {
	d := fine()
	d.Spec.Rules[1].Name = "jobs"
	p := d.Load(policy.DefaultProtection())
	if p.Rules[0].Invalid() || !p.Rules[1].Invalid() {
		t.Errorf("problems %v", p.Problems)
	}
}

func TestLoadKeepsRatherThanGuesses(t *testing.T) {
	t.Run("an unknown mode suspends", func(t *testing.T) {
		d := fine()
		d.Spec.Mode = "enforce"
		if p := d.Load(policy.DefaultProtection()); p.Mode != v1alpha1.Suspend || p.Rules[0].Mode != v1alpha1.Suspend {
			t.Errorf("mode is %s", p.Mode)
		}
	})
	t.Run("a mode of another type suspends", func(t *testing.T) {
		p := parse(t, `{"spec": {"mode": ["Enforce"], "rules": [{"name": "a"}]}}`).Load(policy.DefaultProtection())
		expect.Equal(t, "mode", v1alpha1.Suspend, p.Mode)
	})
	t.Run("a namespace selector that cannot be read selects all", func(t *testing.T) {
		d := fine()
		d.Spec.NamespaceSelector = badSelector
		if p := d.Load(policy.DefaultProtection()); !p.Namespaces.Empty() {
			t.Errorf("namespaces are %s", p.Namespaces)
		}
	})
	t.Run("an empty policy is invalid", func(t *testing.T) {
		if p := (&policy.Document{}).Load(policy.Protection{}); len(p.Problems) != 1 {
			t.Errorf("problems %v, want one", p.Problems)
		}
	})
}

func TestLoadTellsEachFieldOnce(t *testing.T) {
	p := parse(t, `{"spec": {"mode": 3, "rules": [{
		"name": "a", "target": {"apiVersion": "batch/v1", "kind": "Job"},
		"eligible": "true", "startTime": "object.metadata.creationTimestamp", "ttl": 3}]}}`).Load(policy.Protection{})
	want := []string{
		"spec.mode: number given, string expected",
		`spec.rules[0].ttl: number given, string expected (a duration is a number and a unit, such as "7d")`,
	}
	expect.Equal(t, "problems", want, policy.Lines(p.Problems))
}

func TestLoadAllowsAProtectedKindThatIsLifted(t *testing.T) {
	d := fine()
	d.Spec.Rules[0].Target = v1alpha1.Target{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	lifted := policy.Protection{AllowKinds: []schema.GroupKind{{Kind: "PersistentVolumeClaim"}}}
	if p := d.Load(lifted); len(p.Problems) > 0 {
		t.Errorf("problems %v, want none", p.Problems)
	}
}

func TestProblemsConcernTheirRule(t *testing.T) {
	tests := map[string]struct {
		path string
		want []bool // which of the two rules is invalid
	}{
		"the policy":                 {"spec.namespaceSelector", []bool{true, true}},
		"a variable":                 {"spec.variables[0].expression", []bool{true, true}},
		"an empty path":              {"", []bool{true, true}},
		"the first rule":             {"spec.rules[0].eligible", []bool{true, false}},
		"the second rule":            {"spec.rules[1]", []bool{false, true}},
		"a rule that does not exist": {"spec.rules[12].ttl", []bool{false, false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := fine().Load(policy.Protection{})
			p.AddProblems(policy.Problem{Path: test.path})
			if got := []bool{p.Rules[0].Invalid(), p.Rules[1].Invalid()}; !cmp.Equal(got, test.want) {
				t.Errorf("invalid %v, want %v", got, test.want)
			}
		})
	}
}
