// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Recount is the count of a policy by the previous leader, without namespaces that waited, or as a dry run. If more subjects
// would have been due at that time, the configuration has changed since then. Subjects that became due later do not count, so
// that time alone never makes a policy wait, however long no leader ran.
type Recount struct {
	Time      time.Time
	Due, Week int64         // counted at Time: due, and due within 7 days
	Uncounted []string      // rules that could not be counted at Time
	Besides   ApprovalScope // namespaces that wait for their own approval
}

// RecountHash identifies the count that follows an earlier one. It is the same for every leader.
func (p *Policy) RecountHash(at time.Time) string {
	return hashOf(p.ApprovalHash(), "recount", at.UTC().Format(time.RFC3339Nano))
}

// MoreHash approves the subjects that a new leader finds due within 7 days in addition to the count of an earlier time. Because
// it includes their number, the approval is not for more subjects that a later leader finds.
func (p *Policy) MoreHash(at time.Time, week int64) string {
	return hashOf(p.RecountHash(at), "more", strconv.FormatInt(week, 10))
}

// recount is the count of the previous leader; nil if it does not matter.
func (g *ApprovalGate) recount() *Recount {
	if g == nil {
		return nil
	}
	return g.Recount
}

// of counts a subject that existed at the time of the earlier count, with an earlier start time: whether it would have been due
// then, or within the horizon. These times are whole seconds, so a subject created in the second of the count does not count as
// existing. A quiet period that began with this leader delays nothing. A subject above a capacity now has no due time of its own,
// and counts as above it then; Newcomers counts the subjects that may have displaced it.
func (r *Recount) of(c *comparison, policy []Evaluation) ChangeCount {
	b := ChangeCount{Selected: 1}
	if r.Besides.Has(c.subject.Namespace) {
		return b
	}
	existed := func(o Evaluation) bool { return o.Facts.Selected && o.Facts.Start.Before(r.Time) }
	if !c.subject.Created.Before(r.Time) || !slices.ContainsFunc(c.own, existed) {
		if slices.ContainsFunc(c.own, func(o Evaluation) bool { return o.Facts.Selected && o.Rule.Ranks() }) {
			b.Newcomers = 1
		}
		return b
	}
	c.now = r.Time
	by, week := quietBy(policy, r.Time), r.Time.Add(horizon)
	if week.Before(by) {
		week = by
	}
	if c.isDeletedBy(by) {
		b.Due = 1
	}
	if c.isDeletedBy(week) {
		b.Week = 1
	}
	return b
}

// More is by how much the count of this leader exceeds the earlier count, at the time of the earlier count. If this leader cannot
// count a rule that was counted then, it is unknown how many of the earlier subjects were due by the other rules: everything counts.
func (r *Recount) More(b ChangeCount, uncounted []string) ChangeCount {
	due, week := r.Due, r.Week
	if !sets.New(r.Uncounted...).HasAll(uncounted...) {
		due, week = 0, 0
	}
	more := ChangeCount{Selected: b.Selected, Due: max(0, b.Due-b.Newcomers-due)}
	more.Week = max(more.Due, b.Week-b.Newcomers-week)
	return more
}
