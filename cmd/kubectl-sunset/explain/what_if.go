// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"maps"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// whatIf holds everything that the decision depends on: the present state, or the state after some steps.
type whatIf struct {
	at          time.Time
	subject     policy.Subject
	evaluations []policy.Evaluation
	holds       map[string]bool // the places of annotations that hold the object
	outside     map[Block]bool  // what keeps the object outside of the rules
}

// outcome is the result of a decision, for comparison.
type outcome struct {
	action policy.Action
	due    time.Time // only for Wait: if the object is deleted now, its due time does not matter
}

// step is a possible change.
type step struct {
	what   string        // description; empty if no one should do it
	at     time.Time     // when it happens automatically; zero otherwise
	guess  bool          // the time of the deletion after it is unknown
	author bool          // it needs the author of a policy, or an administrator
	block  Block         // the block that it removes; zero for none
	from   func(*whatIf) // establishes the state before the step; nil if evaluations contain it
	do     func(*whatIf)
}

// asItIs returns the present state, before any of the steps.
func asItIs(in *Input, steps []step) *whatIf {
	w := &whatIf{at: in.At, subject: in.Subject, evaluations: slices.Clone(in.Evaluations), holds: map[string]bool{}, outside: map[Block]bool{}}
	for _, s := range steps {
		if s.from != nil {
			s.from(w)
		}
	}
	return w
}

// after returns the state after some steps.
func (w *whatIf) after(steps ...step) *whatIf {
	next := &whatIf{w.at, w.subject, slices.Clone(w.evaluations), maps.Clone(w.holds), maps.Clone(w.outside)}
	for _, s := range steps {
		s.do(next)
	}
	return next
}

func (w *whatIf) outcome() outcome {
	s := w.subject
	if s.Flags &^= policy.IsHeld; len(w.holds) > 0 {
		s.Flags |= policy.IsHeld
	}
	v, _ := policy.Decide(s, w.evaluations, w.at)
	switch {
	case v.Action == policy.Keep || len(w.outside) > 0:
		return outcome{}
	case v.Action == policy.Delete:
		return outcome{action: policy.Delete}
	}
	return outcome{v.Action, v.Due}
}

// change modifies the evaluation of one rule.
func (w *whatIf) change(id policy.RuleID, how func(*policy.Evaluation)) {
	for i := range w.evaluations {
		if r := &w.evaluations[i]; r.Rule.ID == id {
			rule := *r.Rule
			r.Rule = &rule
			how(r)
		}
	}
}

// mark starts the rule's time to live now, if the object has no mark yet.
func (w *whatIf) mark(r *policy.Evaluation) {
	if r.Facts.Estimated {
		r.Facts.Estimated, r.Facts.Start = false, w.at
	}
}

// find makes the object eligible for a rule, since its creation or, if the rule marks objects, since now.
func (w *whatIf) find(r *policy.Evaluation) {
	if r.Facts.Owner == nil && !r.Facts.Eligible {
		r.Facts.Owner = &policy.Owner{} // the engine determines the owner only for eligible objects
	}
	r.Facts.Selected, r.Facts.Eligible, r.Facts.Err, r.Rule.Problems = true, true, nil, nil
	if r.Facts.Start.IsZero() {
		if r.Facts.Start = w.subject.Created; r.Facts.Marked || r.Facts.Start.IsZero() {
			r.Facts.Start = w.at
		}
	}
}

// pass makes the object not eligible for a rule.
func (w *whatIf) pass(r *policy.Evaluation) {
	r.Facts.Selected, r.Facts.Eligible, r.Facts.Err, r.Rule.Problems = true, false, nil, nil
}

// ofRule is a change of one rule that removes a block.
func ofRule(id policy.RuleID, b Block, how func(*policy.Rule)) step {
	return step{what: b.Remedy, author: true, block: b, do: func(w *whatIf) { w.change(id, func(r *policy.Evaluation) { how(r.Rule) }) }}
}

// ofPolicy is a change of all rules of a policy that removes a block. Sunset then marks the objects that the rules find
// eligible.
func ofPolicy(name string, b Block, how func(*policy.Rule)) step {
	return step{what: b.Remedy, author: true, block: b, do: func(w *whatIf) {
		for _, r := range w.evaluations {
			if r.Rule.ID.Policy == name {
				w.change(r.Rule.ID, func(r *policy.Evaluation) { how(r.Rule); w.mark(r) })
			}
		}
	}}
}
