// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Verdict returns the decision about a subject. If no enforced rule decides, it evaluates each dry run as if it were
// enforced. The subject is then kept for reason DryRun, with the due time of the dry run that would delete it first.
func Verdict(s policy.Subject, evaluations []policy.Evaluation, at time.Time) policy.Verdict {
	v, _ := policy.Decide(s, evaluations, at)
	if !v.Reason.SaysNothing() {
		return v
	}
	due, kept := forecasts(s, evaluations, at)
	switch {
	case due.Action != policy.Keep:
		due.Action, due.Reason = policy.Keep, policy.IsDryRun
		return due
	case v.Reason == policy.NotSelected:
		return kept
	default:
		return v
	}
}

// forecasts returns, of all dry runs, the decision that is due first, and the first reason to keep.
func forecasts(s policy.Subject, evaluations []policy.Evaluation, at time.Time) (due, kept policy.Verdict) {
	kept.Reason = policy.NotSelected
	for i, r := range evaluations {
		name := r.Rule.ID.Policy
		if r.Rule.Mode != v1alpha1.DryRun || i > 0 && evaluations[i-1].Rule.ID.Policy == name {
			continue
		}
		v := policy.Forecast(s, evaluations, name, at)
		if v.Action == policy.Keep {
			kept = firstKept(kept, v)
		} else {
			due = soonest(due, v)
		}
	}
	return due, kept
}

func soonest(a, b policy.Verdict) policy.Verdict {
	if a.Action == policy.Keep || b.Due.Before(a.Due) || b.Due.Equal(a.Due) && b.Rule.Compare(a.Rule) < 0 {
		return b
	}
	return a
}

// order is the order in which the first applicable reason is reported.
var order = policy.Reasons()

func firstKept(a, b policy.Verdict) policy.Verdict {
	ra, rb := slices.Index(order, a.Reason), slices.Index(order, b.Reason)
	if rb < ra || rb == ra && b.Rule.Compare(a.Rule) < 0 {
		return b
	}
	return a
}

// explain returns details of the reason, if there are any.
func explain(v policy.Verdict, c *candidate, at time.Time) string {
	if v.Reason == policy.Held && !c.subject.Flags.Has(policy.IsHeld) {
		return c.needed
	}
	if v.Reason == policy.Deferred {
		return policy.DeferralOf(c.evaluations, at)
	}
	for _, r := range c.evaluations {
		switch {
		case r.Rule.ID != v.Rule:
		case v.Reason == policy.EvaluationFailed && r.Facts.Err != nil, v.Reason == policy.ReferencesUnknown && r.Facts.InDoubt():
			return r.Facts.Err.Error()
		case v.Reason == policy.RuleInvalid && r.Rule.Invalid():
			return r.Rule.Problems[0].String()
		case v.Reason == policy.NoOwner:
			return "its ownerReferences contain no controller"
		}
	}
	return ""
}
