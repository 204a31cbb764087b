// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// partitionRules has the rules that apply in one namespace, and the column with the facts of each; -1 for none.
type partitionRules struct {
	*policy.EffectiveRules
	known    bool          // the labels of the namespace are known
	ahead    time.Duration // how long before its due time a subject is recorded first; 0 if no rule records its deletions
	columns  []int32
	byColumn []int32  // the rules, in the order of their columns
	always   []int32  // the rules that are evaluated for each row: their facts are unknown, or permissions are missing
	ranks    []*ranks // of each rule; nil for a rule without a ranking, or if no rule has one
}

func (x *Index) rulesOf(snapshot *policy.Snapshot, at partitionKey) partitionRules {
	p := partitionRules{EffectiveRules: snapshot.Effective(x.kind, at.namespace), known: snapshot.Knows(at.namespace)}
	p.columns, p.byColumn = make([]int32, len(p.Rules)), make([]int32, len(p.Rules))
	for i, r := range p.Rules {
		p.columns[i], p.byColumn[i] = int32(x.column(at.layout, r.Key)), int32(i)
		if r.NeedsLedgerEntry() {
			p.ahead = max(p.ahead, aheadOf(r))
		}
		if p.columns[i] < 0 || r.Unpermitted {
			p.always = append(p.always, int32(i))
		}
	}
	if slices.Equal(p.columns, x.lastColumns) { // as in most namespaces
		p.columns, p.byColumn = x.lastColumns, x.lastByColumn
		return p
	}
	slices.SortStableFunc(p.byColumn, func(a, b int32) int { return cmp.Compare(p.columns[a], p.columns[b]) })
	x.lastColumns, x.lastByColumn = p.columns, p.byColumn
	return p
}

func aheadOf(r *policy.Rule) time.Duration {
	if r.Archive != nil {
		return AheadArchived
	}
	return Ahead
}

// same reports whether both give the same verdicts about the same rows.
func (p *partitionRules) same(o *partitionRules) bool {
	return p.known == o.known && p.ahead == o.ahead && slices.Equal(p.columns, o.columns) && p.SameSettings(o.EffectiveRules)
}

// keepAtLeastLike reports whether no row is due, needs a mark, or must be recorded earlier than by previous rules.
func (p *partitionRules) keepAtLeastLike(was *partitionRules) bool {
	return p.known == was.known && p.Held == was.Held && slices.Equal(p.columns, was.columns) &&
		slices.EqualFunc(p.Rules, was.Rules, (*policy.Rule).KeepsAtLeastLike)
}

// readers returns the rules whose facts are in a column.
func (p *partitionRules) readers(column int) []int32 {
	begin, _ := slices.BinarySearchFunc(p.byColumn, column, func(rule int32, column int) int { return cmp.Compare(int(p.columns[rule]), column) })
	end := begin
	for end < len(p.byColumn) && int(p.columns[p.byColumn[end]]) == column {
		end++
	}
	return p.byColumn[begin:end]
}

// about appends the rules that may affect a row, in their order: those with facts about it and, because doubt keeps, those whose
// facts are not known. The other rules do not select the subject.
func (p *partitionRules) about(row *FactRow, synced bool, rules []int32) []int32 {
	if !synced || !p.known {
		for i := range p.Rules {
			rules = append(rules, int32(i))
		}
		return rules
	}
	rules = append(rules, p.always...)
	for f := range row.facts {
		for _, i := range p.readers(f.column()) {
			if !p.Rules[i].Unpermitted {
				rules = append(rules, i)
			}
		}
	}
	slices.Sort(rules)
	return rules
}

// evaluation returns the evaluation of a row by a rule, without its rank.
func (p *partitionRules) evaluation(row *FactRow, rule int32, synced bool) policy.Evaluation {
	evaluation := policy.Evaluation{Rule: p.Rules[rule]}
	if c := p.columns[rule]; c >= 0 {
		evaluation.Facts, evaluation.Known = row.fact(int(c)).unpack(), synced && p.known
	}
	return evaluation
}
