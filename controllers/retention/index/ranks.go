package index

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index/rank"
	"github.com/sunset-k8s/sunset/policy"
)

// ranks is the ranking of one rule: what the rule says about one subject depends on the others.
type ranks struct{ set *rank.Set }

// linkRanks makes the rules that apply in a space find their rankings.
func (x *Index) linkRanks(s *space) {
	for i, r := range s.page.Rules {
		s.page.ranks[i] = x.ranks[r.ID]
	}
}

// rankAll ranks every row from nothing, after a new listing.
func (x *Index) rankAll() {
	x.ranks = map[policy.RuleID]*ranks{}
	x.followRankings()
	for _, row := range x.rows {
		x.rank(row, func([]types.UID) {})
	}
}

// followRankings makes the rankings those of the snapshot, and gives the UIDs whose standing has changed. Rows of spaces
// whose rules differ have yet to be ranked.
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
	for s := range x.eachSpace {
		x.linkRanks(s)
	}
	return changed
}

// enlist ranks a row that is new or has changed, and judges again those whose standing that changes.
func (x *Index) enlist(row *FactRow, now time.Time) {
	x.rank(row, func(changed []types.UID) { x.rejudge(changed, row, now) })
}

// delist takes a row that is gone from every ranking.
func (x *Index) delist(row *FactRow, now time.Time) {
	for _, ranks := range row.space.page.ranks {
		if ranks != nil {
			x.rejudge(ranks.set.Remove(row.uid()), row, now)
		}
	}
}

func (x *Index) rank(row *FactRow, changed func([]types.UID)) {
	for i, ranks := range row.space.page.ranks {
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

// rankElsewhere ranks a row whose rules have changed: also out of the rankings that it was in before.
func (x *Index) rankElsewhere(row *FactRow, before []*ranks, changed func([]types.UID)) {
	for _, ranks := range before {
		if ranks != nil && !slices.Contains(row.space.page.ranks, ranks) {
			changed(ranks.set.Remove(row.uid()))
		}
	}
	x.rank(row, changed)
}

// member is the row as the ranking of a rule of its page sees it; ok is false when it takes no part.
func (r *FactRow) member(rule int) (m policy.Candidate, ok bool) {
	if r.gone || r.leaving {
		return m, false
	}
	subject, facts := r.Subject(), policy.Facts{}
	column := r.space.page.columns[rule]
	if column >= 0 {
		facts = r.facts[column].unpack()
	}
	return policy.CandidateOf(&subject, &facts, column >= 0)
}

// rejudge judges rows again whose standing has changed, but for one that its caller judges.
func (x *Index) rejudge(changed []types.UID, but *FactRow, now time.Time) {
	for _, uid := range changed {
		row := x.rows[uid]
		if row == nil || row == but || uid == but.uid() {
			continue
		}
		x.unschedule(row)
		x.judgeForLater(row, now)
		x.reschedule(row)
		x.version++
	}
}
