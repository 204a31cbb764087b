package policy

import (
	"slices"
	"time"
)

// Recount is what the leader before counted of a policy, at a time when nothing of it waited, or as a dry run. What would have been due at that
// time, and is more than that, is due because the configuration has changed since: whoever changed what, and when. What became
// due later is not counted, so that time alone, however long no leader ran, makes nothing wait.
type Recount struct {
	Time      time.Time
	Due, Week int64         // as counted then: due, and due within 7 days
	Besides   ApprovalScope // namespaces that wait for approval by themselves
}

// RecountHash approves what a leader finds due that the leader before did not. It is the same for every leader until then.
func (p *Policy) RecountHash(at time.Time) string {
	return hashOf(p.ApprovalHash(), "recount", at.UTC().Format(time.RFC3339Nano))
}

// recount is what the leader before counted; nil if it does not matter.
func (g *ApprovalGate) recount() *Recount {
	if g == nil {
		return nil
	}
	return g.Recount
}

// of counts a subject of a policy that existed at the time of the earlier count, with a start time before that: whether it would
// have been due then, or within the horizon. Both are known in whole seconds; what came in the second of that count may have come
// after it. A quiet period that began with this leader makes nothing later. What is beyond
// a capacity now has no due time of its own, and counts as beyond it then; Newcomers counts what may have displaced it.
func (r *Recount) of(c *comparison, policy []Evaluation) Backlog {
	b := Backlog{Selected: 1}
	if r.Besides.Has(c.subject.Namespace) {
		return b
	}
	existed := func(o Evaluation) bool { return o.Facts.Selected && o.Facts.Start.Before(r.Time) }
	if !c.subject.Created.Before(r.Time) || !slices.ContainsFunc(c.own, existed) {
		if slices.ContainsFunc(c.own, func(o Evaluation) bool { return o.Rule.Ranks() }) {
			b.Newcomers = 1
		}
		return b
	}
	c.now = r.Time
	by, week := quietBy(policy, r.Time), r.Time.Add(horizon)
	if week.Before(by) {
		week = by
	}
	if c.goes(by) {
		b.Due = 1
	}
	if c.goes(week) {
		b.Week = 1
	}
	return b
}

// More is by how much a count of this leader exceeds the one before, at the time of that.
func (r *Recount) More(b Backlog) Backlog {
	more := Backlog{Selected: b.Selected, Due: max(0, b.Due-b.Newcomers-r.Due)}
	more.Week = max(more.Due, b.Week-b.Newcomers-r.Week)
	return more
}
