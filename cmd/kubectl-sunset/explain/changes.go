// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Change is a smallest set of steps that would change the decision: the object would be deleted, deleted at another time, or
// kept.
type Change struct {
	What  string       `json:"what"`
	At    preview.Time `json:"at,omitzero"`     // when the object would be deleted; zero if it would be kept, or if the time is unknown
	Self  bool         `json:"-"`               // it happens automatically at that time
	Stays bool         `json:"stays,omitempty"` // the object would be kept

	steps  []step
	effect time.Time // when the decision changes; zero if that is unknown
}

const (
	changesShown = 5      // maximum number of changes on a page
	mostTried    = 20_000 // maximum number of sets of one size; for more, search returns one set that may not be the smallest
)

// findChanges finds what would change the decision, by deciding again. It omits obstacles whose removal would change nothing.
func (p *Page) findChanges(in *Input) {
	obstacles := in.blocks(p.Owner)
	p.Blocks = append(p.Blocks, in.finalizers()...)
	if i := slices.IndexFunc(obstacles, func(s step) bool { return s.block.isFinal() }); i >= 0 {
		p.Blocks = append([]Block{obstacles[i].block}, p.Blocks...)
		return
	}
	w := asItIs(in, obstacles)
	found := search(w, p.steps(in, w, obstacles))
	for _, c := range found {
		if c.What != "" && len(p.Changes) < changesShown {
			p.Changes = append(p.Changes, c)
		}
	}
	matters := func(s step) bool {
		return slices.ContainsFunc(found, func(c Change) bool {
			return slices.ContainsFunc(c.steps, func(by step) bool { return by.block == s.block })
		})
	}
	blocks := []Block{}
	for _, s := range obstacles {
		if matters(s) {
			blocks = append(blocks, s.block)
		}
	}
	p.Blocks = append(blocks, p.Blocks...)
}

// steps returns all possible steps.
func (p *Page) steps(in *Input, w *whatIf, obstacles []step) []step {
	steps := slices.Clone(obstacles)
	for i := range p.Rules {
		steps = append(steps, p.Rules[i].steps...)
	}
	if len(p.Rules) == 0 && in.Facts != nil { // otherwise other rules are not of interest
		for _, o := range p.Others {
			steps = append(steps, in.selecting(o)...)
		}
	}
	if in.Verdict.Reason == policy.NoCommonWindow {
		steps = append(steps, openings(in.Evaluations)...)
	}
	if w.outcome().action != policy.Keep && p.Object.Kind != v1alpha1.ImageKind.Kind {
		steps = append(steps, step{what: "set annotation " + v1alpha1.HoldAnnotation + `: "true" on the object`,
			do: func(w *whatIf) { w.holds["now"] = true }})
	}
	return steps
}

// openings are steps by which the windows of all rules open at the same time.
func openings(evaluations []policy.Evaluation) (steps []step) {
	for _, r := range evaluations {
		if id := r.Rule.ID; len(r.Rule.Windows) > 0 {
			steps = append(steps, step{what: "change the windows of rule " + id.String() + " so that they overlap those of the other rules", guess: true, author: true,
				do: func(w *whatIf) { w.change(id, func(r *policy.Evaluation) { r.Rule.Windows = nil }) }})
		}
	}
	return steps
}

// search finds the smallest sets of steps that change the outcome, nearest first. If there are too many sets to try, it finds
// one set in which every step is necessary.
func search(w *whatIf, steps []step) []Change {
	before := w.outcome()
	changes := func(some ...step) bool { return w.after(some...).outcome() != before }
	var found []Change
	for size, sets := 1, len(steps); len(found) == 0 && size <= len(steps) && sets <= mostTried; size++ {
		choose(steps, size, func(some []step) {
			if changes(some...) {
				found = append(found, w.changeBy(slices.Clone(some)...))
			}
		})
		sets = sets * (len(steps) - size) / (size + 1)
	}
	if len(found) == 0 && changes(steps...) {
		found = append(found, w.changeBy(fewest(steps, changes)...))
	}
	slices.SortStableFunc(found, nearest)
	said := map[string]bool{"": false}
	return slices.DeleteFunc(found, func(c Change) bool {
		before := said[c.What]
		said[c.What] = c.What != ""
		return before
	})
}

// choose calls use with each set of size steps, in order. The sets share memory.
func choose(steps []step, size int, use func([]step)) {
	some := make([]step, 0, size)
	var more func(from int)
	more = func(from int) {
		if len(some) == size {
			use(some)
			return
		}
		for i := from; i <= len(steps)-(size-len(some)); i++ {
			some = append(some, steps[i])
			more(i + 1)
			some = some[:len(some)-1]
		}
	}
	more(0)
}

// fewest removes steps that are not needed, until every step is necessary.
func fewest(steps []step, changes func(...step) bool) []step {
	for i := range steps {
		if rest := slices.Delete(slices.Clone(steps), i, i+1); changes(rest...) {
			return fewest(rest, changes)
		}
	}
	return steps
}

// nearest orders changes by the number of steps, where an automatic change has none. Then it orders them by the time at which
// they take effect, with an unknown time last. Changes that need the author of a policy or an administrator come last.
func nearest(a, b Change) int {
	return cmp.Or(
		cmp.Compare(a.toDo(), b.toDo()),
		number(a.effect.IsZero())-number(b.effect.IsZero()),
		a.effect.Compare(b.effect),
		number(a.needsAuthor())-number(b.needsAuthor()),
	)
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// toDo returns the number of steps that a person must take.
func (c *Change) toDo() int {
	if c.Self {
		return 0
	}
	return len(c.steps)
}

func (c *Change) needsAuthor() bool {
	return slices.ContainsFunc(c.steps, func(s step) bool { return s.author })
}

// changeBy returns a Change with an empty What if a person cannot, or should not, take one of the steps.
func (w *whatIf) changeBy(steps ...step) Change {
	c := Change{steps: steps, Self: len(steps) == 1 && !steps[0].at.IsZero()}
	next := w.after(steps...)
	switch then := next.outcome(); {
	case slices.ContainsFunc(steps, func(s step) bool { return s.guess }):
	case then.action == policy.Keep:
		c.Stays, c.effect = true, next.at
	case then.action == policy.Delete:
		c.At.Time, c.effect = next.at, next.at
	default:
		c.At.Time, c.effect = then.due, then.due
	}
	var what []string
	for _, s := range steps {
		if s.what == "" {
			return c
		}
		what = append(what, s.what)
	}
	c.What = strings.Join(what, ", and ")
	return c
}

// stepsOf returns steps that would change the evaluation of a rule. It removes the reasons to keep the object one after the
// other.
func (in *Input) stepsOf(evaluation policy.Evaluation, r *Rule) []step {
	w := (&whatIf{at: in.At, subject: in.Subject, evaluations: []policy.Evaluation{evaluation}}).after(step{do: func(w *whatIf) { w.change(r.RuleID, permit) }})
	steps := tryOut(evaluation.Rule, r)
	said := verdictAlone(in.Subject, w.evaluations[0], in.At)
	if said.Action == policy.Wait {
		return append(steps, in.stepsBy(said, r)...)
	}
	for reason := policy.Reason(""); said.Action == policy.Keep && said.Reason != reason; said = verdictAlone(in.Subject, w.evaluations[0], in.At) {
		reason = said.Reason
		next := in.stepsBy(said, r)
		if len(next) == 0 {
			break
		}
		steps, w = append(steps, next...), w.after(next[len(next)-1])
	}
	return steps
}

// permit removes all reasons to keep an object that are not in the rule's facts.
func permit(r *policy.Evaluation) {
	enforced(r.Rule)
	r.Rule.Unapproved, r.Rule.Suspended, r.Rule.Unpermitted, r.Rule.AllowManaged = false, false, false, true
}

// tryOut enforces the dry-run RetentionPolicies that change the rule. It returns nil if there are none.
func tryOut(rule *policy.Rule, r *Rule) []step {
	enforced := rule.IfEnforced
	if r.IfEnforced == nil { // they change nothing
		return nil
	}
	suspends := enforced.Suspended && !rule.Suspended
	return []step{{
		what:   "set mode: Enforce in RetentionPolicy " + strings.Join(r.IfEnforced.From, " and "),
		author: true,
		do: func(w *whatIf) {
			w.change(r.RuleID, func(as *policy.Evaluation) {
				as.Rule.Keep, as.Rule.Overrides, as.Rule.Suspended = enforced.Keep, enforced.Overrides, as.Rule.Suspended || suspends
				as.Rank.Newest = r.Rank.keeps(enforced.Keep)
			})
		},
	}}
}

// stepsBy returns steps that remove a rule's reason. After the last step, this reason no longer keeps the object.
func (in *Input) stepsBy(said policy.Verdict, r *Rule) []step {
	id := r.RuleID.String()
	evaluation := func(what string, how ...func(*whatIf, *policy.Evaluation)) (steps []step) {
		for _, one := range how {
			steps = append(steps, step{what: what, guess: true, do: func(w *whatIf) { w.change(r.RuleID, func(r *policy.Evaluation) { one(w, r) }) }})
		}
		return steps
	}
	either := func(what string) []step { return evaluation(what, (*whatIf).pass, (*whatIf).find) }
	facts := func(what string, how func(*policy.Evaluation)) []step {
		return []step{{what: what, do: func(w *whatIf) { w.change(r.RuleID, how) }}}
	}
	switch said.Reason {
	case policy.Waiting, policy.Deferred:
		return []step{{what: "it expires by rule " + id, at: said.Due, do: func(w *whatIf) { w.at = said.Due }}}
	case policy.EvaluationFailed:
		if in.hasUnreadTTL(r.RuleID) {
			return []step{in.readableTTL()}
		}
		return either("fix rule " + id + ", or the fields of the object that it reads; an expression fails")
	case policy.ReferencesUnknown:
		return either("Sunset can read all objects about which rule " + id + " asks")
	case policy.RuleInvalid:
		return byAuthor(either("fix rule " + id + " (run: kubectl sunset validate)"))
	case policy.NotEligible:
		return evaluation("eligible of rule "+id+" becomes true"+r.nowFalse(), (*whatIf).find)
	case policy.NoStartTime:
		return evaluation("startTime of rule "+id+" returns a time", (*whatIf).find)
	case policy.Unpullable:
		return byAuthor(facts("set images.allowUnpullable: true in rule "+id, func(r *policy.Evaluation) { r.Rule.Images.AllowUnpullable = true }))
	case policy.NoOwner:
		return evaluation("the object gets a controller in its ownerReferences, which rule "+id+" can delete", func(_ *whatIf, r *policy.Evaluation) { r.Facts.Owner = &policy.Owner{} })
	case policy.NeverDue:
		return evaluation("ttlExpression of rule "+id+" returns a time to live", func(_ *whatIf, r *policy.Evaluation) { r.Facts.TTL = 0 })
	case policy.KeptNewest:
		return facts(r.Rank.newer()+" eligible by rule "+id, func(r *policy.Evaluation) { r.Rank.Newest = false })
	case policy.WithinCapacity:
		what := r.fullFilesystem
		if what == "" {
			what = "more objects become eligible than the capacity of rule " + id
		}
		return facts(what, func(r *policy.Evaluation) { r.Rank.Excess = true })
	}
	return nil
}

// byAuthor marks steps that need the author of a policy, or an administrator.
func byAuthor(steps []step) []step {
	for i := range steps {
		steps[i].author = true
	}
	return steps
}

// hasUnreadTTL reports whether a rule fails because it cannot parse the object's annotation with a time to live.
func (in *Input) hasUnreadTTL(id policy.RuleID) bool {
	return slices.ContainsFunc(in.Explanations[id], func(e engine.Explanation) bool { return e.Field == ownTTL && e.Err != nil })
}

const ownTTL = "annotation " + v1alpha1.TTLAnnotation

// readableTTL removes the failure from all rules that read the annotation.
func (in *Input) readableTTL() step {
	return step{what: "fix or remove " + ownTTL + " of the object", guess: true, do: func(w *whatIf) {
		for _, r := range w.evaluations {
			if in.hasUnreadTTL(r.Rule.ID) {
				w.change(r.Rule.ID, w.find)
			}
		}
	}}
}

// nowFalse names the conditions that are false now.
func (r *Rule) nowFalse() string {
	var parts []string
	for _, e := range r.Expressions {
		for _, part := range e.Parts {
			if e.Field == "eligible" && part.Depth == 0 && part.Value == "false" {
				parts = append(parts, part.Text)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; now false: " + strings.Join(parts, ", ")
}

// newer says how many newer objects must become eligible until the object is not among the newest.
func (r *Rank) newer() string {
	if r == nil || r.Keep-r.Place < 0 {
		return "newer objects of its group become"
	}
	if n := r.Keep - r.Place + 1; n > 1 {
		return fmt.Sprintf("%d newer objects of its group become", n)
	}
	return "1 newer object of its group becomes"
}
