package explain

import (
	"cmp"
	"slices"

	"github.com/sunset-k8s/sunset/policy"
)

// Rank is the place of the object among those of its kind that the rule finds eligible.
type Rank struct {
	Group    string    `json:"group,omitempty"`    // what keepNewest.groupBy gave; empty without one
	Place    int       `json:"place,omitempty"`    // in the group; 1 is the newest; 0 when it is unknown
	Of       int       `json:"of,omitempty"`       // how many are in the group
	Keep     int       `json:"keep,omitempty"`     // how many of the newest stay; 0 without keepNewest
	Unknown  int       `json:"unknown,omitempty"`  // objects of the namespace that cannot be judged: each stays, and takes no place
	Capacity *Capacity `json:"capacity,omitempty"` // nil without one
	OnNode   bool      `json:"-"`                  // of images: a node stands in the place of the namespace
}

// Capacity is how many objects a rule lets stay, and how many there are.
type Capacity struct {
	Count         int  `json:"count"`
	Max           int  `json:"max"`
	AllNamespaces bool `json:"allNamespaces,omitempty"` // counted over all namespaces together
}

// RankOf is the rank of a member among all, itself included.
func RankOf(self policy.Candidate, members []policy.Candidate, ranking policy.Ranking) Rank {
	settings := ranking.In(self.Namespace)
	rank := bestRank(self, members)
	rank.Keep = settings.Keep
	inNamespace, everywhere := 0, 0
	for _, m := range members {
		isNear := m.Namespace == self.Namespace
		switch {
		case m.Unknown && isNear:
			rank.Unknown++
		case m.Unknown:
		default:
			everywhere++
			if isNear {
				inNamespace++
			}
		}
	}
	switch {
	case ranking.Fair.Bounded:
		rank.Capacity = &Capacity{everywhere, ranking.Fair.Places(), true}
	case settings.Limit.Bounded:
		rank.Capacity = &Capacity{inNamespace, settings.Limit.Places(), false}
	}
	return rank
}

// bestRank is the place in the group where the member is nearest to the newest: of several groups that one counts.
func bestRank(self policy.Candidate, members []policy.Candidate) Rank {
	best := Rank{Group: self.Group}
	if self.Unknown {
		return best
	}
	for group := range self.Groups() {
		rank := Rank{Group: group}
		for _, m := range members {
			if m.Namespace == self.Namespace && !m.Unknown && (m.Group == group || slices.Contains(m.Also, group)) {
				rank.add(self, m)
			}
		}
		if best.Place == 0 || rank.Place < best.Place {
			best = rank
		}
	}
	return best
}

// add counts one of the same group.
func (r *Rank) add(self, m policy.Candidate) {
	r.Of++
	if cmp.Or(self.Start.Compare(m.Start), cmp.Compare(m.UID, self.UID)) <= 0 { // as package policy orders them
		r.Place++
	}
}

// keeps reports whether the object would be among the newest, if so many stayed.
func (r *Rank) keeps(n int) bool {
	return r != nil && n > 0 && r.Place > 0 && r.Place <= n
}
