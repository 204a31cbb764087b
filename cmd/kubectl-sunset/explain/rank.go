// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"slices"

	"github.com/sunset-k8s/sunset/policy"
)

// Rank is the position of the object among the objects of its kind that the rule finds eligible.
type Rank struct {
	Group    string    `json:"group,omitempty"`    // the value of keepNewest.groupBy; empty without groupBy
	Place    int       `json:"place,omitempty"`    // in the group; 1 is the newest; 0 if unknown
	Of       int       `json:"of,omitempty"`       // number of objects in the group
	Keep     int       `json:"keep,omitempty"`     // number of the newest that are kept; 0 without keepNewest
	Unknown  int       `json:"unknown,omitempty"`  // objects of the namespace that cannot be evaluated: each is kept, and has no place
	Capacity *Capacity `json:"capacity,omitempty"` // nil without a capacity
	OnNode   bool      `json:"-"`                  // for images: the node replaces the namespace
}

// Capacity is the number of objects, and the number that a rule keeps.
type Capacity struct {
	Count         int  `json:"count"`
	Max           int  `json:"max"`
	AllNamespaces bool `json:"allNamespaces,omitempty"` // counted in all namespaces together
}

// RankOf returns the rank of self. members includes self.
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

// bestRank returns the best place of the member in any of its groups. That place counts.
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

// add counts a member of the same group.
func (r *Rank) add(self, m policy.Candidate) {
	r.Of++
	if cmp.Or(self.Start.Compare(m.Start), cmp.Compare(m.UID, self.UID)) <= 0 { // the order of package policy
		r.Place++
	}
}

// keeps reports whether the object would be among the newest n.
func (r *Rank) keeps(n int) bool {
	return r != nil && n > 0 && r.Place > 0 && r.Place <= n
}
