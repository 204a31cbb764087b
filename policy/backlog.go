package policy

import (
	"slices"
	"time"
)

// horizon is how far ahead a change of configuration is looked at.
const horizon = Week

func (p *PendingStats) add(namespace string, one Backlog) {
	p.Backlog = p.Plus(one)
	if p.Namespaces == nil {
		p.Namespaces = map[string]*Backlog{}
	}
	if known := p.Namespaces[namespace]; known != nil {
		*known = known.Plus(one)
	} else {
		p.Namespaces[namespace] = &one
	}
}

// backlog counts a subject that rules of a policy select which wait for approval: whether it goes once they are approved, or would go
// by their own word, now and within the horizon, and would not have gone at the same moment by what was in force before.
func (t *Stats) backlog(s Subject, all, policy []Evaluation, was Was) Backlog {
	c := comparison{subject: s, all: all, own: own(policy, func(r *Rule) bool { return r.Unapproved }), name: policy[0].Rule.ID.Policy, now: t.now}
	if recount := c.own[0].Rule.Gate.recount(); recount != nil {
		return recount.of(&c, policy)
	}
	soon, later := quietBy(policy, t.now), t.now.Add(horizon)
	b := Backlog{Selected: 1}
	if !c.comes(soon) && !c.comes(later) {
		return b
	}
	if before := c.own[0].Rule.Gate.before(); before != nil && was != nil {
		c.previewed = c.own[0].Rule.Gate.Previewed
		c.before, c.was = was(before)
		c.wasOwn = own(c.was, func(r *Rule) bool { return r.ID.Policy == c.name && c.partBefore(r) != silent && !r.Unapproved })
	}
	if c.goes(soon) && !c.went(soon) {
		b.Due = 1
	}
	if c.isNew(soon) || c.isNew(later) {
		b.Week = 1
	}
	return b
}

// comparison is what is said of a subject about which rules of a policy wait for approval.
type comparison struct {
	subject Subject
	all     []Evaluation
	own     []Evaluation // of the rules that wait
	name    string       // of their policy

	before      Subject      // as it would be if nothing had changed
	was, wasOwn []Evaluation // none if unknown
	previewed   bool         // what the policy would have deleted as a dry run is not new

	now time.Time
}

// isNew reports whether the subject goes by a time, and would not have gone by then before.
func (c *comparison) isNew(by time.Time) bool {
	switch {
	case c.went(by):
		return false
	case c.goes(by):
		return true
	default:
		return lets(c.subject, c.own, c.now, by) && !lets(c.before, c.wasOwn, c.now, by)
	}
}

// comes reports whether the subject goes by a time, or would by the word of the policy alone.
func (c *comparison) comes(by time.Time) bool { return lets(c.subject, c.own, c.now, by) || c.goes(by) }

// goes reports whether the subject goes by a time, by a rule of the policy, once everything is approved. What is not known of the
// rules of others keeps nothing: else another policy that is still being listed would open the gate.
func (c *comparison) goes(by time.Time) bool {
	known, due := votes{}, false
	for i := range c.all {
		r := &c.all[i]
		as, isOwn := ifApproved(r.Rule), r.Rule.ID.Policy == c.name
		if as == silent {
			continue
		}
		v := r.vote(&c.subject, c.now, as)
		if isOwn || !v.isDoubt() {
			known.add(v)
		}
		due = due || isOwn && v.isDue()
	}
	verdict := known.verdict(c.subject, c.now)
	return due && verdict.Action != Keep && !verdict.Due.After(by)
}

// went reports whether the subject would have gone by a time before, by any rule. What is not known kept it.
func (c *comparison) went(by time.Time) bool {
	voices := combine(c.before, c.was, c.now, c.partBefore)
	verdict := voices.verdict(c.before, c.now)
	return verdict.Action != Keep && !verdict.Due.After(by)
}

// partBefore is the part that a rule of what was in force before had, or would have had if all had been approved.
func (c *comparison) partBefore(r *Rule) part {
	switch {
	case r.ID.Policy != c.name:
		return ifApproved(r)
	case c.previewed && r.dryRun():
		return supposed
	default:
		return inForce(r)
	}
}

// lets reports whether a rule, by its own word, lets a subject go by a time: whatever other rules say, and without holds, suspension
// and what namespaces override.
func lets(s Subject, evaluations []Evaluation, now, by time.Time) bool {
	s.Flags &^= IsHeld | IsUncounted
	for _, r := range evaluations {
		if flagged(s.Flags.under(r.Rule)) != "" {
			continue
		}
		bare := *r.Rule
		bare.Suspended, bare.Overrides = false, nil
		for _, rule := range []*Rule{r.Rule, &bare} {
			r.Rule = rule
			if v := r.vote(&s, now, supposed); v.isDue() && !v.due.After(by) {
				return true
			}
		}
	}
	return false
}

// own are the evaluations of some rules.
func own(evaluations []Evaluation, are func(*Rule) bool) []Evaluation {
	return slices.DeleteFunc(slices.Clone(evaluations), func(r Evaluation) bool { return !are(r.Rule) })
}
