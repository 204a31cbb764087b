// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index/rank"
	"github.com/sunset-k8s/sunset/policy"
)

// ranks is the ranking of one rule: the verdict of the rule about one subject depends on the others.
type ranks struct{ set *rank.Set }

// linkRanks sets the rankings of the rules that apply in a partition.
func (x *Index) linkRanks(s *partition) {
	s.rules.ranks = nil
	if len(x.ranks) == 0 {
		return
	}
	s.rules.ranks = make([]*ranks, len(s.rules.Rules))
	for i, r := range s.rules.Rules {
		s.rules.ranks[i] = x.ranks[r.ID]
	}
}

// rankAll ranks every row from the beginning, after a new listing.
func (x *Index) rankAll() {
	x.ranks = map[policy.RuleID]*ranks{}
	x.followRankings()
	for row := range x.rows.all {
		x.rank(row, func([]types.UID) {})
	}
}

// followRankings updates the rankings for the snapshot, and returns the UIDs whose rank result has changed. Rows of partitions
// with changed rules must be ranked after that.
func (x *Index) followRankings() (changed []types.UID) {
	ranked := map[policy.RuleID]bool{}
	for _, id := range x.snapshot.Ranked(x.kind) {
		ranked[id] = true
		if known := x.ranks[id]; known != nil {
			changed = append(changed, known.set.Use(x.snapshot.Ranking(x.kind, id))...)
		} else {
			x.ranks[id] = &ranks{set: rank.New(x.snapshot.Ranking(x.kind, id))}
		}
	}
	for id := range x.ranks {
		if !ranked[id] {
			delete(x.ranks, id)
		}
	}
	for s := range x.eachPartition {
		x.linkRanks(s)
	}
	return changed
}

// enlist ranks a row that is new or has changed, and evaluates again the rows whose rank result changes because of it.
func (x *Index) enlist(row *FactRow, now time.Time) {
	x.rank(row, func(changed []types.UID) { x.reevaluate(changed, row, now) })
}

// delist removes a deleted row from every ranking.
func (x *Index) delist(row *FactRow, now time.Time) {
	for _, ranks := range row.partition.rules.ranks {
		if ranks != nil {
			x.reevaluate(ranks.set.Remove(row.uid()), row, now)
		}
	}
}

func (x *Index) rank(row *FactRow, changed func([]types.UID)) {
	for i, ranks := range row.partition.rules.ranks {
		if ranks == nil {
			continue
		}
		if member, ok := row.member(i); ok {
			changed(ranks.set.Put(member))
		} else {
			changed(ranks.set.Remove(row.uid()))
		}
	}
}

// rankElsewhere ranks a row whose rules have changed, and removes it from the rankings of rules that no longer apply.
func (x *Index) rankElsewhere(row *FactRow, before []*ranks, changed func([]types.UID)) {
	for _, ranks := range before {
		if ranks != nil && !slices.Contains(row.partition.rules.ranks, ranks) {
			changed(ranks.set.Remove(row.uid()))
		}
	}
	x.rank(row, changed)
}

// member returns the row as a candidate for the ranking of a rule of its partition; ok is false if the rule does not rank it.
func (r *FactRow) member(rule int) (m policy.Candidate, ok bool) {
	if r.is(isGone) || r.is(isLeaving) {
		return m, false
	}
	subject, facts := r.Subject(), policy.Facts{}
	column := r.partition.rules.columns[rule]
	if column >= 0 {
		facts = r.fact(int(column)).unpack()
	}
	return policy.CandidateOf(&subject, &facts, column >= 0)
}

// reevaluate evaluates the rows again whose rank result has changed, except the one that its caller evaluates.
func (x *Index) reevaluate(changed []types.UID, but *FactRow, now time.Time) {
	for _, uid := range changed {
		row := x.rows.get(uid)
		if row == nil || row == but || uid == but.uid() {
			continue
		}
		x.replan(row, now)
		x.change(row.partition.namespace)
	}
}
