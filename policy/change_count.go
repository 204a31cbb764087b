// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// horizon is the period for which the effect of a configuration change is counted.
const horizon = Week

// PendingStats counts the subjects of rules that wait for approval.
type PendingStats struct {
	ChangeCount
	Namespaces map[string]*ChangeCount // namespaces with selected subjects, "" for cluster-scoped objects
}

// ChangeCount counts the subjects that a change deletes, and that would not have been deleted at the same time without it.
type ChangeCount struct {
	Selected int64
	Due      int64 // now or at the end of a quiet period
	Week     int64 // the worst case within 7 days, including Due

	// AllDue counts the due subjects with and without the change.
	AllDue v1alpha1.ApprovalCounts

	// Newcomers are subjects created since an earlier count, which may displace others under a rule that ranks; only for a
	// Recount.
	Newcomers int64
}

// Plus is the sum of both.
func (b ChangeCount) Plus(o ChangeCount) ChangeCount {
	return ChangeCount{
		Selected: b.Selected + o.Selected, Due: b.Due + o.Due, Week: b.Week + o.Week, Newcomers: b.Newcomers + o.Newcomers,
		AllDue: v1alpha1.ApprovalCounts{Now: b.AllDue.Now + o.AllDue.Now, Week: b.AllDue.Week + o.AllDue.Week},
	}
}

func (p *PendingStats) add(namespace string, one ChangeCount) {
	p.ChangeCount = p.Plus(one)
	if p.Namespaces == nil {
		p.Namespaces = map[string]*ChangeCount{}
	}
	known := p.Namespaces[namespace]
	if known == nil {
		known = &ChangeCount{}
		p.Namespaces[namespace] = known
	}
	*known = known.Plus(one)
}

// change counts a subject of rules that wait for approval. It counts if it would be deleted after approval, or by these rules
// alone, now or within the horizon, and would not have been deleted at the same time by the rules in force before.
func (t *Stats) change(s Subject, all, policy []Evaluation, was Was) ChangeCount {
	t.waiting = appendOwn(t.waiting[:0], policy, func(r *Rule) bool { return r.Unapproved })
	c := comparison{subject: s, all: all, own: t.waiting, name: policy[0].Rule.ID.Policy, now: t.now, bare: t.bare}
	if recount := c.own[0].Rule.Gate.recount(); recount != nil {
		return recount.of(&c, policy)
	}
	soon, later := quietBy(policy, t.now), t.now.Add(horizon)
	b := ChangeCount{Selected: 1}
	if !c.isDueBy(Latest(soon, later)) {
		return b
	}
	if before := c.own[0].Rule.Gate.before(s.Namespace); before != nil && was != nil {
		c.previewed = c.own[0].Rule.Gate.Previewed
		c.before, c.was = was(before)
		c.wasOwn = appendOwn(nil, c.was, func(r *Rule) bool { return r.ID.Policy == c.name && c.partBefore(r) != silent && !r.Unapproved })
	}
	if c.isDeletedBy(soon) && !c.wasDeletedBy(soon) {
		b.Due = 1
	}
	anytime := c
	anytime.anytime = true
	if c.isNew(soon) || c.isNew(later) || anytime.isNew(soon) || anytime.isNew(later) {
		b.Week = 1
	}
	return b
}

// comparison compares the deletion of a subject before and after the approval of the waiting rules of a policy.
type comparison struct {
	subject Subject
	all     []Evaluation
	own     []Evaluation // of the rules that wait
	name    string       // of their policy

	before      Subject      // as it would be if nothing had changed
	was, wasOwn []Evaluation // empty if unknown
	previewed   bool         // deletions that the policy counted as a dry run are not new

	bare    bareRules
	now     time.Time
	anytime bool // ignores windows and freezes: a change may delete many objects when a window opens in a month
}

// isNew reports whether the subject is deleted by a time, and would not have been deleted by then before.
func (c *comparison) isNew(by time.Time) bool {
	switch {
	case c.wasDeletedBy(by):
		return false
	case c.isDeletedBy(by):
		return true
	default:
		return c.deletesAlone(c.subject, c.own, by) && !c.deletesAlone(c.before, c.wasOwn, by)
	}
}

// isDueBy reports whether the subject is deleted by a time, or would be by the policy alone.
func (c *comparison) isDueBy(by time.Time) bool {
	return c.deletesAlone(c.subject, c.own, by) || c.isDeletedBy(by)
}

// isDeletedBy reports whether a rule of the policy deletes the subject by a time, after all approvals. Unknown facts of other policies
// keep nothing: otherwise a policy whose kind is still being listed would hide the deletion.
func (c *comparison) isDeletedBy(by time.Time) bool {
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
	return due && c.deletesBy(&known, c.subject, by)
}

// deletesBy reports whether votes delete a subject by a time.
func (c *comparison) deletesBy(all *votes, s Subject, by time.Time) bool {
	verdict := all.verdict(s, c.now)
	if c.anytime {
		verdict.Due = all.expires
	}
	return verdict.Action != Keep && !verdict.Due.After(by)
}

// wasDeletedBy reports whether any rule would have deleted the subject by a time before. Unknown facts count as keeping it.
func (c *comparison) wasDeletedBy(by time.Time) bool {
	combined := combine(c.before, c.was, c.now, c.partBefore)
	return c.deletesBy(&combined, c.before, by)
}

// partBefore is the part of a rule that was in force before, or its part after all approvals.
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

// deletesAlone reports whether a rule alone deletes a subject by a time: without other rules, holds, suspension, windows, freezes
// and overrides of namespaces.
func (c *comparison) deletesAlone(s Subject, evaluations []Evaluation, by time.Time) bool {
	s.Flags &^= IsHeld | IsUncounted
	isDue := func(r *Evaluation) bool {
		v := r.vote(&s, c.now, supposed)
		return v.isDue() && !v.expires.After(by)
	}
	for i := range evaluations {
		r := evaluations[i]
		if flagged(s.Flags.under(r.Rule)) != "" {
			continue
		}
		if isDue(&r) {
			return true
		}
		if r.Rule.Suspended || len(r.Rule.Overrides) > 0 {
			if r.Rule = c.bare.of(r.Rule); isDue(&r) {
				return true
			}
		}
	}
	return false
}

// bareRules are rules without the overrides of their namespaces. Each is made once, because a count asks for it for every subject.
type bareRules map[*Rule]*Rule

func (m bareRules) of(r *Rule) *Rule {
	bare := m[r]
	if bare == nil {
		made := *r
		made.Suspended, made.Overrides = false, nil
		bare = &made
		m[r] = bare
	}
	return bare
}

// appendOwn appends the evaluations of the rules for which are is true.
func appendOwn(own, evaluations []Evaluation, are func(*Rule) bool) []Evaluation {
	for i := range evaluations {
		if are(evaluations[i].Rule) {
			own = append(own, evaluations[i])
		}
	}
	return own
}
