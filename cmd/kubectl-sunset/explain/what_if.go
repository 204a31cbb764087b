package explain

import (
	"maps"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// whatIf is what the verdict depends on, as it is or as it would be after some changes.
type whatIf struct {
	at          time.Time
	subject     policy.Subject
	evaluations []policy.Evaluation
	holds       map[string]bool // where annotations hold the object
	outside     map[Block]bool  // what keeps the object though the rules do not
}

// outcome is what becomes of an object.
type outcome struct {
	action policy.Action
	due    time.Time // for Wait: since when it is due does not matter to an object that goes now
}

// step is something that may change.
type step struct {
	what   string        // in words; empty where nobody should do it
	at     time.Time     // when it happens by itself; zero when it may never
	guess  bool          // nobody can know when the object would go then
	author bool          // it takes the author of a policy, or an administrator
	block  Block         // what it ends; zero for nothing
	from   func(*whatIf) // makes it one where the step is still to be done; nil where it is
	do     func(*whatIf)
}

// asItIs is what is so now, in which each step is still to be done.
func asItIs(in *Input, steps []step) *whatIf {
	w := &whatIf{at: in.At, subject: in.Subject, evaluations: slices.Clone(in.Evaluations), holds: map[string]bool{}, outside: map[Block]bool{}}
	for _, s := range steps {
		if s.from != nil {
			s.from(w)
		}
	}
	return w
}

// after is what is so once some steps are done.
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

// change changes what one rule says.
func (w *whatIf) change(id policy.RuleID, how func(*policy.Evaluation)) {
	for i := range w.evaluations {
		if r := &w.evaluations[i]; r.Rule.ID == id {
			rule := *r.Rule
			r.Rule = &rule
			how(r)
		}
	}
}

// mark has the time to live of a rule start now, if it has not.
func (w *whatIf) mark(r *policy.Evaluation) {
	if r.Facts.Estimated {
		r.Facts.Estimated, r.Facts.Start = false, w.at
	}
}

// find makes a rule find the object eligible, since it was created or, if the rule marks, since now.
func (w *whatIf) find(r *policy.Evaluation) {
	if r.Facts.Owner == nil && !r.Facts.Eligible {
		r.Facts.Owner = &policy.Owner{} // which the engine looks for only then
	}
	r.Facts.Selected, r.Facts.Eligible, r.Facts.Err, r.Rule.Problems = true, true, nil, nil
	if r.Facts.Start.IsZero() {
		if r.Facts.Start = w.subject.Created; r.Facts.Marked || r.Facts.Start.IsZero() {
			r.Facts.Start = w.at
		}
	}
}

// pass makes a rule find the object not eligible.
func (w *whatIf) pass(r *policy.Evaluation) {
	r.Facts.Selected, r.Facts.Eligible, r.Facts.Err, r.Rule.Problems = true, false, nil, nil
}

// ofRule is a change of one rule that ends a block.
func ofRule(id policy.RuleID, b Block, how func(*policy.Rule)) step {
	return step{what: b.Remedy, author: true, block: b, do: func(w *whatIf) { w.change(id, func(r *policy.Evaluation) { how(r.Rule) }) }}
}

// ofPolicy is a change of all rules of a policy that ends a block. Sunset marks what they find eligible then.
func ofPolicy(name string, b Block, how func(*policy.Rule)) step {
	return step{what: b.Remedy, author: true, block: b, do: func(w *whatIf) {
		for _, r := range w.evaluations {
			if r.Rule.ID.Policy == name {
				w.change(r.Rule.ID, func(r *policy.Evaluation) { how(r.Rule); w.mark(r) })
			}
		}
	}}
}
