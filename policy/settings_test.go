// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// overriding adds overrides to a rule.
func overriding(overrides ...*policy.Override) func(*policy.Rule) {
	return func(r *policy.Rule) { r.Overrides = overrides }
}

// TestZeroAndAbsentAreDifferentSettings: a pointer to a zero value, and one more rule, are other settings. Tests of every field are
// in fields_test.go.
func TestZeroAndAbsentAreDifferentSettings(t *testing.T) {
	zero := enforced("p", "r")
	zero.Bounds.Keep = new(0)
	expect.Equal(t, "settings differ", true, differInSettings(t, enforced("p", "r"), zero))

	with, without, absent := enforced("p", "r"), enforced("p", "r"), hours(1)
	absent.TTL = nil
	overriding(hours(1))(with)
	overriding(absent)(without)
	expect.Equal(t, "settings differ", true, differInSettings(t, with, without))

	r := enforced("p", "r")
	one, two := &policy.EffectiveRules{Rules: []*policy.Rule{r}}, &policy.EffectiveRules{Rules: []*policy.Rule{r, enforced("p", "s")}}
	if one.SameSettings(two) || two.SameSettings(one) {
		t.Error("a different number of rules is the same")
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
	expect.Equal(t, "settings differ", true, differInSettings(t, suspends, invalid))
	expect.Equal(t, "settings differ", true, differInSettings(t, suspends, both))
	expect.Equal(t, "settings differ", true, differInSettings(t, both, invalid))
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
