// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"iter"
	"slices"
	"time"
)

// PolicyForecast is what becomes of a subject that a policy would delete, or that it cannot decide about.
type PolicyForecast struct {
	// Rule of the policy: the one by which the subject is due last, or the one that keeps it.
	Rule *Rule
	// Verdict is the verdict as if the policy were in force in addition to the rules in force. If the subject is kept although
	// Rule finds it due, Due and Start are those of the policy alone. Due is zero if the rule does not set it, and if the subject
	// is due because of the capacity: that time is not known.
	Verdict
	Bytes int64 // size of the subject by the rules of the policy; 0 if it is unknown
}

// Forecasts yields a forecast for each policy by which a subject is or becomes due, or which keeps the subject because it cannot
// decide (EvaluationFailed, ReferencesUnknown) or for a reason of Lasting. A policy whose ServiceAccount lacks permissions gets no
// forecast, and no subject that is already being deleted. The evaluations are those of one Page, in its order.
func Forecasts(s Subject, evaluations []Evaluation, now time.Time) iter.Seq[PolicyForecast] {
	return func(yield func(PolicyForecast) bool) {
		if s.Flags.Has(IsTerminating) {
			return
		}
		base := combine(s, evaluations, now, inForce)
		for own := range byPolicy(evaluations) {
			f := forecastOf(s, evaluations, own, base, now)
			f.Bytes = (*Prices)(nil).OfLargest(own).Bytes
			if f.Rule != nil && !yield(f) {
				return
			}
		}
	}
}

// forecastOf gives the forecast of the policy with these evaluations among all. Its Rule is nil if there is none.
func forecastOf(s Subject, all, own []Evaluation, base votes, now time.Time) (f PolicyForecast) {
	if slices.ContainsFunc(own, func(r Evaluation) bool { return r.Rule.Unpermitted }) {
		return f
	}
	alone := combine(s, own, now, func(*Rule) part { return supposed })
	switch {
	case alone.keep.rule != nil && (alone.keep.failed() || slices.Contains(lasting, alone.keep.reason)):
		return PolicyForecast{Rule: alone.keep.rule, Verdict: Verdict{Reason: alone.keep.reason, Rule: alone.keep.rule.ID}}
	case alone.keep.rule != nil || alone.due.rule == nil:
		return f
	}
	f = PolicyForecast{Rule: alone.due.rule, Verdict: supposing(s, all, own, base, now)}
	due := f.Verdict
	if f.Action == Keep {
		due = alone.whenDue(now)
		f.Start, f.Due = due.Start, due.Due
	} else if slices.ContainsFunc(own, func(r Evaluation) bool { return r.Rule.Unapproved && r.Facts.Selected }) {
		f.Action, f.Reason, f.Verdict.Rule = Keep, IsUnapproved, f.Rule.ID
	}
	if due.Reason == OverCapacity {
		f.Due = time.Time{}
	}
	return f
}

// failed reports whether the rule keeps because it cannot decide.
func (v vote) failed() bool { return v.reason == EvaluationFailed || v.reason == ReferencesUnknown }

// Failed reports whether Rule keeps the subject because it cannot decide.
func (f *PolicyForecast) Failed() bool {
	return f.Verdict.Rule == f.Rule.ID && vote{reason: f.Reason}.failed()
}
