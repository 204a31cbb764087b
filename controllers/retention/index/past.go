// SPDX-License-Identifier: Apache-2.0

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
// unknown. If the ranking of a rule has changed, or all namespaces share it, the rule is assumed to have kept the subject: that counts
// the most subjects as newly due.
func (p *past) was(snapshot *policy.Snapshot) (policy.Subject, []policy.Evaluation) {
	x, row := p.index, p.row
	at := pastKey{row.partition.partitionKey, snapshot}
	before := p.rules[at]
	if before == nil {
		rules := x.rulesOf(snapshot, at.partitionKey)
		before, p.rules[at] = &rules, &rules
	}
	x.about, p.evaluations = before.about(row, x.synced, x.about[:0]), p.evaluations[:0]
	for _, i := range x.about {
		evaluation := before.evaluation(row, i, x.synced)
		r := evaluation.Rule
		evaluation.Rank.Newest = r.Keep > 0
		if r.Ranks() {
			if ranks := row.partition.rules.ranksLike(r); ranks != nil {
				evaluation.Rank = ranks.set.Result(row.uid())
			}
		}
		p.evaluations = append(p.evaluations, evaluation)
	}
	return before.WithHold(row.Subject()), p.evaluations
}

// ranksLike returns the ranking of the current version of a rule if it ranks at least like this version; otherwise nil. If all
// namespaces share the ranking, others may have joined it since then.
func (p *partitionRules) ranksLike(before *policy.Rule) *ranks {
	if before.Capacity.Fair {
		return nil
	}
	for i, ranks := range p.ranks {
		if r := p.Rules[i]; ranks != nil && r.ID == before.ID && r.RanksAtLeastLike(before) {
			return p.ranks[i]
		}
	}
	return nil
}
