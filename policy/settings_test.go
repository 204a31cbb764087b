// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// checkSame checks whether two rules have the same settings.
func checkSame(t *testing.T, a, b *policy.Rule, want bool) {
	t.Helper()
	first, second := &policy.EffectiveRules{Rules: []*policy.Rule{a}}, &policy.EffectiveRules{Rules: []*policy.Rule{b}}
	if first.SameSettings(second) != want || second.SameSettings(first) != want {
		t.Errorf("SameSettings is not %v", want)
	}
}

func TestSameSettings(t *testing.T) {
	tests := map[string]struct {
		change func(*policy.Rule)
		want   bool
	}{
		"nothing":              {func(*policy.Rule) {}, true},
		"the position in spec": {func(r *policy.Rule) { r.Index = 7 }, true},
		"the text as written":  {func(r *policy.Rule) { r.Spec.Name = "x" }, true},
		"the name":             {func(r *policy.Rule) { r.ID.Rule = "x" }, false},
		"the policy":           {func(r *policy.Rule) { r.ID.Policy = "x" }, false},
		"the expressions":      {func(r *policy.Rule) { r.Key = "x" }, false},
		"the mode":             {func(r *policy.Rule) { r.Mode = v1alpha1.Suspend }, false},
		"the TTL":              {func(r *policy.Rule) { r.TTL++ }, false},
		"a ttlExpression":      {func(r *policy.Rule) { r.HasTTLExpression = true }, false},
		"validity":             {func(r *policy.Rule) { r.Problems = []policy.Problem{{}} }, false},
		"propagation":          {func(r *policy.Rule) { r.Propagation = metav1.DeletePropagationOrphan }, false},
		"what to delete":       {func(r *policy.Rule) { r.Owner = true }, false},
		"unfinished owners":    {func(r *policy.Rule) { r.AllowUnfinished = true }, false},
		"managed objects":      {func(r *policy.Rule) { r.AllowManaged = true }, false},
		"the archive":          {func(r *policy.Rule) { r.Archive = &policy.Archive{To: "history"} }, false},
		"events":               {func(r *policy.Rule) { r.Events = v1alpha1.EventsPerObject }, false},
		"the version":          {func(r *policy.Rule) { r.Kind.Version = "v2" }, false},

		"the mark":                  {func(r *policy.Rule) { r.Mark = "x" }, false},
		"the ServiceAccount":        {func(r *policy.Rule) { r.ServiceAccount = "x" }, false},
		"approval":                  {func(r *policy.Rule) { r.Unapproved = true }, false},
		"exact counts":              {func(r *policy.Rule) { r.Ledger = true }, false},
		"suspension":                {func(r *policy.Rule) { r.Suspended = true }, false},
		"keepNewest":                {func(r *policy.Rule) { r.Keep++ }, false},
		"a capacity of 0":           {func(r *policy.Rule) { r.Capacity.Bounded = true }, false},
		"another capacity":          {func(r *policy.Rule) { r.Capacity.Max++ }, false},
		"a fair capacity":           {func(r *policy.Rule) { r.Capacity.Fair = true }, false},
		"the minimum ttl":           {func(r *policy.Rule) { r.Bounds.Min = new(hour) }, false},
		"the maximum ttl":           {func(r *policy.Rule) { r.Bounds.Max = new(hour) }, false},
		"annotations refused":       {func(r *policy.Rule) { r.Bounds.Annotation = v1alpha1.TTLAnnotationIgnore }, false},
		"suspending forbidden":      {func(r *policy.Rule) { r.Bounds.NoSuspend = true }, false},
		"the minimum of keepNewest": {func(r *policy.Rule) { r.Bounds.Keep = new(0) }, false},
		"an override":               {overriding(hours(1)), false},
		"the trial":                 {func(r *policy.Rule) { r.IfEnforced = enforced("p", "r") }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := enforced("p", "r")
			test.change(changed)
			checkSame(t, enforced("p", "r"), changed, test.want)
		})
	}
}

func TestSameSettingsWantsAsManyRules(t *testing.T) {
	r := enforced("p", "r")
	one, two := &policy.EffectiveRules{Rules: []*policy.Rule{r}}, &policy.EffectiveRules{Rules: []*policy.Rule{r, enforced("p", "s")}}
	if one.SameSettings(two) || two.SameSettings(one) {
		t.Error("a different number of rules is the same")
	}
}

// overriding adds overrides to a rule.
func overriding(overrides ...*policy.Override) func(*policy.Rule) {
	return func(r *policy.Rule) { r.Overrides = overrides }
}

func TestSameSettingsOfOverrides(t *testing.T) {
	tests := map[string]struct {
		change func(*policy.Override)
		want   bool
	}{
		"nothing":                 {func(*policy.Override) {}, true},
		"the field path":          {func(o *policy.Override) { o.Path = "spec.overrides[7]" }, true},
		"the ttl":                 {func(o *policy.Override) { o.TTL = new(2 * hour) }, false},
		"no ttl":                  {func(o *policy.Override) { o.TTL = nil }, false},
		"the policy that sets it": {func(o *policy.Override) { o.From = "team-a/other" }, false},
		"its mode":                {func(o *policy.Override) { o.InForce = false }, false},
		"validity":                {func(o *policy.Override) { o.Invalid = true }, false},
		"suspension":              {func(o *policy.Override) { o.Suspend = true }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			given, other := enforced("p", "r"), enforced("p", "r")
			overriding(hours(1))(given)
			changed := hours(1)
			test.change(changed)
			overriding(changed)(other)
			checkSame(t, given, other, test.want)
		})
	}
}

// TestOverrideThatKeepsForAnotherReasonIsAnother: the intent of an invalid override is unknown, so it differs from a valid one
// that keeps objects too.
func TestOverrideThatKeepsForAnotherReasonIsAnother(t *testing.T) {
	with := func(o policy.Override) *policy.Rule {
		r := enforced("p", "r")
		overriding(&o)(r)
		return r
	}
	suspends, invalid := with(policy.Override{Policy: "p", Suspend: true}), with(policy.Override{Policy: "p", Invalid: true})
	both := with(policy.Override{Policy: "p", Suspend: true, Invalid: true})
	checkSame(t, suspends, invalid, false)
	checkSame(t, suspends, both, false)
	checkSame(t, both, invalid, false)
}

// TestHoldIsASetting: settings of a namespace with and without a hold differ, even if the rules are the same.
func TestHoldIsASetting(t *testing.T) {
	r := []*policy.Rule{enforced("p", "r")}
	if (&policy.EffectiveRules{Rules: r, Held: true}).SameSettings(&policy.EffectiveRules{Rules: r}) {
		t.Error("a removed hold is the same")
	}
	for value, held := range map[string]bool{"": true, "true": true, "false": false} {
		if got := policy.NamespaceOf(nil, map[string]string{v1alpha1.HoldAnnotation: value}).Held; got != held {
			t.Errorf("held with value %q: %v", value, got)
		}
	}
	if policy.NamespaceOf(nil, nil).Held {
		t.Error("a namespace without the annotation is held")
	}
}
