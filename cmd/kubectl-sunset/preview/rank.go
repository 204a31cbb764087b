// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// candidate is a subject whose decision depends on other subjects. It is decided after all are known.
type candidate struct {
	kind        schema.GroupVersionKind
	subject     policy.Subject
	evaluations []policy.Evaluation
	image       *Image // nil for any other object
	needed      string // why it is held without an annotation; empty if it is not
	hidden      bool   // it affects the decisions about others, but is not shown
}

// Ranks reports whether the decision about an object of a kind depends on other objects: of its namespace, or of all.
func (j *Judge) Ranks(kind schema.GroupKind) (ranks, everywhere bool) {
	ids := j.rules.snapshot.Ranked(kind)
	return len(ids) > 0, slices.ContainsFunc(ids, func(id policy.RuleID) bool { return j.rules.ranking(kind, id).Fair.Bounded })
}

// ranked decides about the candidates of all workers.
func (j *Judge) ranked(byWorker []*results) *results {
	var all []candidate
	for _, s := range byWorker {
		all = append(all, s.candidates...)
	}
	j.rank(all)
	verdicts := j.newResults()
	for i := range all {
		if !all[i].hidden {
			verdicts.add(&all[i])
		}
	}
	return verdicts
}

// rank sets the standing of every candidate in the ranking of each rule.
func (j *Judge) rank(candidates []candidate) {
	kinds := map[schema.GroupKind][]*candidate{}
	for i := range candidates {
		kind := policy.StoredAs(candidates[i].kind)
		kinds[kind] = append(kinds[kind], &candidates[i])
	}
	for kind, of := range kinds {
		for _, id := range j.rules.snapshot.Ranked(kind) {
			rankBy(j.rules.ranking(kind, id), id, of)
		}
	}
}

// rankBy sets the standing of the candidates in the ranking of one rule.
func rankBy(ranking policy.Ranking, id policy.RuleID, candidates []*candidate) {
	members, of := membersOf(id, candidates)
	for i, standing := range ranking.Rank(members) {
		of[i].Rank = standing
	}
}

// membersOf returns the candidates in the ranking of a rule, each with the rule's evaluation.
func membersOf(id policy.RuleID, candidates []*candidate) (members []policy.Candidate, of []*policy.Evaluation) {
	for _, c := range candidates {
		for i := range c.evaluations {
			r := &c.evaluations[i]
			if r.Rule.ID != id {
				continue
			}
			if m, ok := policy.CandidateOf(&c.subject, &r.Facts, r.Known); ok {
				if m.UID == "" { // an object in a file: the order must not depend on chance
					m.UID = types.UID(m.Namespace + "/" + c.subject.Name)
				}
				members, of = append(members, m), append(of, r)
			}
		}
	}
	return members, of
}
