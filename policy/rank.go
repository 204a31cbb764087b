// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Candidate is a subject in the ranking of one rule: eligible and not terminating, or with unknown facts.
type Candidate struct {
	Namespace, Group string
	Also             []string // other groups: sorted, each once, without Group
	Start            time.Time
	UID              types.UID
	// Unknown: it is unknown whether the subject is eligible, when it started, or which group it is in. The rule keeps it, and it
	// takes no place. That is safe for the other candidates: its place goes to one of them, so a candidate that is among the
	// newest with it is also among the newest without it.
	Unknown bool
}

// CandidateOf is a subject in the ranking of a rule; ok is false if the subject is not ranked. known is false until its facts are
// known.
func CandidateOf(s *Subject, f *Facts, known bool) (m Candidate, ok bool) {
	m = Candidate{Namespace: s.Namespace, UID: s.UID}
	switch {
	case s.Flags.Has(IsTerminating):
		return m, false
	case !known, f.Selected && f.Err != nil:
		m.Unknown = true
		return m, true
	case !f.Selected, !f.Eligible, f.Start.IsZero():
		return m, false
	}
	m.Group, m.Also, m.Start = f.Group, f.Also, f.Start
	if m.Start.Before(s.Created) {
		m.Start = s.Created
	}
	return m, true
}

// Groups are the groups of the candidate. It takes a place in each, and is kept if it is among the newest of any of them.
func (m *Candidate) Groups() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(m.Group) {
			return
		}
		for _, group := range m.Also {
			if !yield(group) {
				return
			}
		}
	}
}

// compare orders candidates, the newest first. Of two with the same start, the lower UID comes first.
func (m *Candidate) compare(o *Candidate) int {
	return cmp.Or(o.Start.Compare(m.Start), cmp.Compare(m.UID, o.UID))
}

// RankResult is the rank of a candidate. Both fields can be true: the caller decides which one applies. Both are false if the
// candidate is Unknown.
type RankResult struct {
	Newest bool // among those that keepNewest keeps
	Excess bool // above the capacity
}

// Limit is how many candidates are kept. The zero value has no limit.
type Limit struct {
	Max     int // below 0 means 0; unused if not Bounded
	Bounded bool
}

// AtMost is a limit of n.
func AtMost(n int) Limit { return Limit{Max: n, Bounded: true} }

// Places is the limit as a number: math.MaxInt if there is none.
func (l Limit) Places() int {
	if !l.Bounded {
		return math.MaxInt
	}
	return max(l.Max, 0)
}

// Allowance is what a rule keeps in one namespace. The zero value keeps none of the newest and has no limit.
type Allowance struct {
	Keep  int   // keepNewest: how many in each group; 0 and below mean none
	Limit Limit // capacity with share PerNamespace: how many in all groups together
}

// Ranking is the keepNewest and capacity of one rule, as they are in force.
type Ranking struct {
	// Allowance gives the allowance of a namespace; nil means the zero Allowance for each.
	Allowance func(namespace string) Allowance
	// Fair is a capacity that all namespaces share. If it is Bounded, the limits of the allowances are ignored.
	Fair Limit
}

// In is the allowance of a namespace.
func (r Ranking) In(namespace string) Allowance {
	if r.Allowance == nil {
		return Allowance{}
	}
	return r.Allowance(namespace)
}

// Rank gives the result of each candidate, in the order of the candidates. It ranks all of them at once; package
// controllers/retention/index/rank gives the same results incrementally.
func (r Ranking) Rank(candidates []Candidate) []RankResult {
	results := make([]RankResult, len(candidates))
	order := make([]int, len(candidates))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return candidates[i].compare(&candidates[j]) })
	r.markNewest(candidates, order, results)
	r.markExcess(candidates, order, results)
	return results
}

func (r Ranking) markNewest(candidates []Candidate, order []int, results []RankResult) {
	type group struct{ namespace, name string }
	before := map[group]int{}
	for _, i := range order {
		m := &candidates[i]
		if m.Unknown {
			continue
		}
		keep := r.In(m.Namespace).Keep
		for name := range m.Groups() {
			g := group{m.Namespace, name}
			results[i].Newest = results[i].Newest || before[g] < keep
			before[g]++
		}
	}
}

func (r Ranking) markExcess(candidates []Candidate, order []int, results []RankResult) {
	places := r.places(candidates)
	for _, i := range order {
		if m := &candidates[i]; !m.Unknown {
			results[i].Excess = places[m.Namespace] <= 0
			places[m.Namespace]--
		}
	}
}

// places is how many candidates each namespace keeps.
func (r Ranking) places(candidates []Candidate) map[string]int {
	count := map[string]int{}
	for _, m := range candidates {
		if !m.Unknown {
			count[m.Namespace]++
		}
	}
	if r.Fair.Bounded {
		return deal(r.Fair.Places(), count)
	}
	places := map[string]int{}
	for namespace := range count {
		places[namespace] = r.In(namespace).Limit.Places()
	}
	return places
}

// deal distributes places in rounds. Each round gives one place to each namespace that has a candidate without one, in the order
// of their names. Namespaces with many candidates run out of places first, and the last round favours the first names.
func deal(places int, count map[string]int) map[string]int {
	dealt := map[string]int{}
	waiting := slices.Sorted(maps.Keys(count))
	for places > 0 && len(waiting) > 0 {
		round := waiting[:min(places, len(waiting))]
		for _, namespace := range round {
			dealt[namespace]++
		}
		places -= len(round)
		waiting = slices.DeleteFunc(waiting, func(namespace string) bool { return dealt[namespace] == count[namespace] })
	}
	return dealt
}

// Ranked are the rules about a kind that rank its subjects in at least one namespace.
func (b *Snapshot) Ranked(kind schema.GroupKind) []RuleID {
	var ids []RuleID
	for _, rp := range b.kinds[kind] {
		if rp.rule.Ranks() || b.keepsMore(rp.rule) {
			ids = append(ids, rp.rule.ID)
		}
	}
	return ids
}

// keepsMore reports whether an override of any namespace sets keepNewest of a rule.
func (b *Snapshot) keepsMore(r *Rule) bool {
	if r.Namespace != "" {
		return false
	}
	for namespace := range b.tenants {
		if slices.ContainsFunc(b.Overrides(namespace), func(o *Override) bool { return o.Keep != nil && o.names(r.ID) }) {
			return true
		}
	}
	return false
}

// Ranking is the ranking of a rule about a kind, with its settings in each namespace.
func (b *Snapshot) Ranking(kind schema.GroupKind, id RuleID) Ranking {
	ranking := Ranking{Allowance: func(namespace string) Allowance { return b.Effective(kind, namespace).Allowance(id) }}
	if r := b.Rule(id); r != nil && r.Capacity.Fair {
		ranking.Fair = AtMost(r.Capacity.Max)
	}
	return ranking
}

// Allowance is what a rule keeps in the namespace; the zero Allowance if the rule does not apply there.
func (p *EffectiveRules) Allowance(id RuleID) Allowance {
	for _, r := range p.Rules {
		if r.ID == id {
			return Allowance{Keep: r.Keep, Limit: Limit{Max: r.Capacity.Max, Bounded: r.Capacity.Bounded}}
		}
	}
	return Allowance{}
}
