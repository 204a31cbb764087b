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

// Candidate is a subject as the ranking of one rule sees it: eligible and not being deleted, or with unknown facts.
type Candidate struct {
	Namespace, Group string
	Also             []string // further groups: sorted, each once, without Group
	Start            time.Time
	UID              types.UID
	// Unknown: it is not known whether the subject is eligible, when it started or what its group is. The rule itself keeps
	// it, and it takes no place. That is safe for the others: a place that it does not take is left to one of them, so
	// whatever it turns out to be, each of them that it could leave among the newest is among the newest without it.
	Unknown bool
}

// CandidateOf is a subject as the ranking of a rule sees it; ok is false when it is none. known is false while the facts have
// not been gathered.
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

// Groups are those that the member is in: it takes a place in each, and stays if it is among the newest of any.
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

// compare orders members, the newest first. Of two that started together the one with the lesser UID comes first.
func (m *Candidate) compare(o *Candidate) int {
	return cmp.Or(o.Start.Compare(m.Start), cmp.Compare(m.UID, o.UID))
}

// RankResult is what ranking makes of a member. Both can be true: which one wins is not decided here. Of one that is Unknown
// neither is.
type RankResult struct {
	Newest bool // among those that keepNewest keeps
	Excess bool // beyond the capacity
}

// Limit is how many may stay. The zero value lets all stay.
type Limit struct {
	Max     int // below 0 means 0; without meaning where not Bounded
	Bounded bool
}

// AtMost lets n stay.
func AtMost(n int) Limit { return Limit{Max: n, Bounded: true} }

// Places is how many of any number may stay.
func (l Limit) Places() int {
	if !l.Bounded {
		return math.MaxInt
	}
	return max(l.Max, 0)
}

// Allowance is what a rule leaves to one namespace. The zero value keeps nobody and bounds nothing.
type Allowance struct {
	Keep  int   // keepNewest: how many of each group; 0 and below mean none
	Limit Limit // capacity with share PerNamespace: how many of all groups together
}

// Ranking is keepNewest and capacity of one rule, as they are in force.
type Ranking struct {
	// Room is what the rule leaves to a namespace; nil leaves the zero Room to each.
	Room func(namespace string) Allowance
	// Fair is a capacity that all namespaces share. Where it is Bounded the limits of the rooms do not count.
	Fair Limit
}

// In is the room of a namespace.
func (r Ranking) In(namespace string) Allowance {
	if r.Room == nil {
		return Allowance{}
	}
	return r.Room(namespace)
}

// Rank gives the standing of each member, in the order of the members. It looks at all of them: package
// controllers/retention/index/rank gives the same answers as members come and go.
func (r Ranking) Rank(members []Candidate) []RankResult {
	standings := make([]RankResult, len(members))
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return members[i].compare(&members[j]) })
	r.markNewest(members, order, standings)
	r.markExcess(members, order, standings)
	return standings
}

func (r Ranking) markNewest(members []Candidate, order []int, standings []RankResult) {
	type group struct{ namespace, name string }
	before := map[group]int{}
	for _, i := range order {
		m := &members[i]
		if m.Unknown {
			continue
		}
		keep := r.In(m.Namespace).Keep
		for name := range m.Groups() {
			g := group{m.Namespace, name}
			standings[i].Newest = standings[i].Newest || before[g] < keep
			before[g]++
		}
	}
}

func (r Ranking) markExcess(members []Candidate, order []int, standings []RankResult) {
	places := r.places(members)
	for _, i := range order {
		if m := &members[i]; !m.Unknown {
			standings[i].Excess = places[m.Namespace] <= 0
			places[m.Namespace]--
		}
	}
}

// places is how many members of each namespace may stay.
func (r Ranking) places(members []Candidate) map[string]int {
	count := map[string]int{}
	for _, m := range members {
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

// deal deals places out in rounds, one to each namespace that has a member without one, in the order of their names:
// those with most go short first, and the places of the last round are for the first names.
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

// Ranked are the rules about a kind that rank its subjects in some namespace.
func (b *Snapshot) Ranked(kind schema.GroupKind) []RuleID {
	var ids []RuleID
	for _, rp := range b.kinds[kind] {
		if rp.rule.Ranks() || b.keepsMore(rp.rule) {
			ids = append(ids, rp.rule.ID)
		}
	}
	return ids
}

// keepsMore reports whether some namespace sets keepNewest of a rule.
func (b *Snapshot) keepsMore(r *Rule) bool {
	if r.Namespace != "" {
		return false
	}
	for _, overrides := range b.overrides {
		if slices.ContainsFunc(overrides, func(o *Override) bool { return o.Keep != nil && o.names(r.ID) }) {
			return true
		}
	}
	return false
}

// Ranking is how a rule about a kind ranks, with its settings in each namespace.
func (b *Snapshot) Ranking(kind schema.GroupKind, id RuleID) Ranking {
	ranking := Ranking{Room: func(namespace string) Allowance { return b.Effective(kind, namespace).Allowance(id) }}
	if r := b.Rule(id); r != nil && r.Capacity.Fair {
		ranking.Fair = AtMost(r.Capacity.Max)
	}
	return ranking
}

// Allowance is what a rule leaves to the namespace of the page; the zero Room if it does not apply there.
func (p *EffectiveRules) Allowance(id RuleID) Allowance {
	for _, r := range p.Rules {
		if r.ID == id {
			return Allowance{Keep: r.Keep, Limit: Limit{Max: r.Capacity.Max, Bounded: r.Capacity.Bounded}}
		}
	}
	return Allowance{}
}
