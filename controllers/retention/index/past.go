package index

import "github.com/sunset-k8s/sunset/policy"

// past evaluates the current row by the rules of earlier snapshots. Use it with the index locked.
type past struct {
	index       *Index
	row         *FactRow
	rules       map[pastKey]*partitionRules
	evaluations []policy.Evaluation // reused
}

type pastKey struct {
	partitionKey
	snapshot *policy.Snapshot
}

// was returns the row's subject and evaluations as if the snapshot were in force. Facts that rows no longer have are
// unknown. If the ranking of a rule has changed, the rule is assumed to have kept the subject: that counts the most
// subjects as newly due.
func (p *past) was(snapshot *policy.Snapshot) (policy.Subject, []policy.Evaluation) {
	x, row := p.index, p.row
	at := pastKey{row.partition.partitionKey, snapshot}
	before := p.rules[at]
	if before == nil {
		before = &partitionRules{EffectiveRules: snapshot.Effective(x.kind, at.namespace), known: snapshot.Knows(at.namespace)}
		for _, r := range before.Rules {
			before.columns = append(before.columns, x.column(at.layout, r.Key))
		}
		p.rules[at] = before
	}
	p.evaluations = p.evaluations[:0]
	for i, r := range before.Rules {
		evaluation := policy.Evaluation{Rule: r, Rank: policy.RankResult{Newest: r.Keep > 0}}
		if c := before.columns[i]; c >= 0 {
			evaluation.Facts, evaluation.Known = row.facts[c].unpack(), x.synced && before.known
		}
		if r.Ranks() {
			if ranks := row.partition.rules.ranksLike(r); ranks != nil {
				evaluation.Rank = ranks.set.Result(row.uid())
			}
		}
		p.evaluations = append(p.evaluations, evaluation)
	}
	return before.WithHold(row.Subject()), p.evaluations
}

// ranksLike returns the ranking of the current version of a rule if it ranks at least like this version; otherwise nil.
func (p *partitionRules) ranksLike(before *policy.Rule) *ranks {
	for i, r := range p.Rules {
		if p.ranks[i] != nil && r.ID == before.ID && r.RanksAtLeastLike(before) {
			return p.ranks[i]
		}
	}
	return nil
}
