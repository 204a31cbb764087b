package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Change is something that would change the verdict: the object would be deleted, or at another time, or would stay.
type Change struct {
	What string
	At   time.Time // when the object goes then; zero when it stays, or nobody can know
	Self bool      // it happens by itself, at that time

	steps []step
}

// changesShown is how many changes a page has at most.
const changesShown = 5

// settle finds what would change the verdict, by deciding again, and leaves out obstacles whose end would change nothing.
func (p *Page) settle(in *Input) {
	obstacles := in.obstacles(p.Owner)
	p.Blocks = in.finalizers()
	if i := slices.IndexFunc(obstacles, func(s step) bool { return s.block.isFinal() }); i >= 0 {
		p.Blocks = append([]Block{obstacles[i].block}, p.Blocks...)
		return
	}
	steps := slices.Clone(obstacles)
	for i := range p.Rules {
		steps = append(steps, in.stepsOf(&p.Rules[i])...)
	}
	w := worldOf(in, obstacles)
	if w.outcome().action != policy.Keep && p.Object.Kind != v1alpha1.ImageKind.Kind {
		steps = append(steps, step{what: "annotation " + v1alpha1.HoldAnnotation + `: "true" on the object would keep it`,
			do: func(w *world) { w.holds["now"] = true }})
	}
	found := search(w, steps)
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
	var blocks []Block
	for _, s := range obstacles {
		if matters(s) {
			blocks = append(blocks, s.block)
		}
	}
	p.Blocks = append(blocks, p.Blocks...)
}

// search finds the smallest sets of steps that change what becomes of the object: single ones, or else pairs, or else one set that no
// step can be left out of.
func search(w *world, steps []step) []Change {
	before := w.outcome()
	changes := func(some ...step) bool { return w.after(some...).outcome() != before }
	var found []Change
	try := func(some ...step) {
		if changes(some...) {
			found = append(found, w.changeBy(some...))
		}
	}
	for _, s := range steps {
		try(s)
	}
	for i := 0; len(found) == 0 && i < len(steps); i++ {
		for _, s := range steps[i+1:] {
			try(steps[i], s)
		}
	}
	if len(found) == 0 && changes(steps...) {
		try(fewest(steps, changes)...)
	}
	slices.SortStableFunc(found, nearest)
	return slices.CompactFunc(found, func(a, b Change) bool { return a.What == b.What && a.What != "" })
}

// fewest leaves out what is not needed, until nothing can be left out.
func fewest(steps []step, changes func(...step) bool) []step {
	for i := range steps {
		if rest := slices.Delete(slices.Clone(steps), i, i+1); changes(rest...) {
			return fewest(rest, changes)
		}
	}
	return steps
}

// nearest has first what happens by itself, the soonest first.
func nearest(a, b Change) int {
	switch {
	case a.Self && b.Self:
		return a.At.Compare(b.At)
	case a.Self:
		return -1
	case b.Self:
		return 1
	default:
		return 0
	}
}

// changeBy says nothing where a step is nothing that anybody can do.
func (w *world) changeBy(steps ...step) Change {
	c := Change{steps: steps, Self: len(steps) == 1 && !steps[0].at.IsZero()}
	if then := w.after(steps...).outcome(); c.Self {
		c.At = steps[0].at
	} else if then.action != policy.Keep && !slices.ContainsFunc(steps, func(s step) bool { return s.guess }) {
		c.At = then.due
		if c.At.Before(w.at) {
			c.At = w.at
		}
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

// stepsOf are what would change what a rule says.
func (in *Input) stepsOf(r *Rule) []step {
	steps := in.ownSteps(r)
	if t := r.Trial; t != nil && t.Says.Action != policy.Keep {
		steps = append(steps, step{
			what: "set mode: Enforce in RetentionPolicy " + strings.Join(t.From, " and "),
			do:   func(w *world) { w.change(r.ID, r.tried) },
		})
	}
	return steps
}

// tried makes of a rule what the RetentionPolicies would make of it that are dry runs.
func (r *Rule) tried(as *policy.Ruling) {
	if trial := as.Rule.Trial; trial != nil {
		rule := *trial
		rule.Mode = as.Rule.Mode
		as.Rule, as.Standing.Newest = &rule, r.Rank.keeps(rule.Keep)
	}
}

func (in *Input) ownSteps(r *Rule) []step {
	id := r.ID.String()
	ruling := func(what string, how ...func(*world, *policy.Ruling)) (steps []step) {
		for _, one := range how {
			steps = append(steps, step{what: what, guess: true, do: func(w *world) { w.change(r.ID, func(r *policy.Ruling) { one(w, r) }) }})
		}
		return steps
	}
	either := func(what string) []step { return ruling(what, (*world).pass, (*world).find) }
	facts := func(what string, how func(*policy.Ruling)) []step {
		return []step{{what: what, do: func(w *world) { w.change(r.ID, how) }}}
	}
	switch r.Says.Reason {
	case policy.Waiting:
		return []step{{what: id + " finds it due", at: r.Says.Due, do: func(w *world) { w.at = r.Says.Due }}}
	case policy.EvaluationFailed:
		return either(id + " can be evaluated: correct it, or what it reads of the object")
	case policy.ReferencesUnknown:
		return either("what refers to it becomes known to " + id)
	case policy.RuleInvalid:
		return either(id + " is corrected: kubectl sunset validate says what is wrong")
	case policy.NotEligible:
		return ruling("eligible of "+id+" gives true"+r.nowFalse(), (*world).find)
	case policy.NoStartTime:
		return ruling("startTime of "+id+" gives a time", (*world).find)
	case policy.Unpullable:
		return facts("images.allowUnpullable of "+id+" lets go what no registry may have", func(r *policy.Ruling) { r.Rule.Images.AllowUnpullable = true })
	case policy.NoOwner:
		return ruling("a controller among the object's ownerReferences, which "+id+" would let go", func(_ *world, r *policy.Ruling) { r.Facts.Owner = &policy.Owner{} })
	case policy.NeverDue:
		return ruling("ttlExpression of "+id+" gives a time to live", func(_ *world, r *policy.Ruling) { r.Facts.TTL = 0 })
	case policy.KeptNewest:
		return facts(r.Rank.newer()+" of its group, eligible by "+id, func(r *policy.Ruling) { r.Standing.Newest = false })
	case policy.WithinCapacity:
		what := r.full
		if what == "" {
			what = "more eligible objects than the capacity of " + id
		}
		return facts(what, func(r *policy.Ruling) { r.Standing.Excess = true })
	}
	return nil
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

// newer is how many newer objects it takes to push one out.
func (r *Rank) newer() string {
	if r == nil || r.Keep-r.Place < 0 {
		return "newer objects"
	}
	if n := r.Keep - r.Place + 1; n > 1 {
		return fmt.Sprintf("%d newer objects", n)
	}
	return "1 newer object"
}
