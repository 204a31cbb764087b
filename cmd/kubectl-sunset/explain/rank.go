package explain

import (
	"cmp"

	"github.com/sunset-k8s/sunset/policy"
)

// Rank is the place of the object among those of its kind that the rule finds eligible.
type Rank struct {
	Group     string // what keepNewest.groupBy gave; empty without one
	Place, Of int    // in the group; 1 is the newest; 0 when nobody can say
	Keep      int    // how many of the newest stay; 0 without keepNewest
	Unknown   int    // objects of the namespace that cannot be judged: while there are any, all that keepNewest is about stay
	Room      *Room  // nil without a capacity
}

// Room is a capacity and what takes it.
type Room struct {
	Count, Max int
	Everywhere bool // counted over all namespaces together
}

// RankOf is the rank of a member among all, itself included.
func RankOf(self policy.Member, members []policy.Member, ranking policy.Ranking) Rank {
	settings := ranking.In(self.Namespace)
	rank := Rank{Group: self.Group, Keep: settings.Keep}
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
				rank.add(self, m)
			}
		}
	}
	switch {
	case ranking.Fair.Bounded:
		rank.Room = &Room{everywhere, ranking.Fair.Places(), true}
	case settings.Limit.Bounded:
		rank.Room = &Room{inNamespace, settings.Limit.Places(), false}
	}
	return rank
}

// add counts one of the same namespace.
func (r *Rank) add(self, m policy.Member) {
	if self.Unknown || m.Group != self.Group {
		return
	}
	r.Of++
	if cmp.Or(self.Start.Compare(m.Start), cmp.Compare(m.UID, self.UID)) <= 0 { // as package policy orders them
		r.Place++
	}
}

// keeps reports whether the object would be among the newest, if so many stayed.
func (r *Rank) keeps(n int) bool {
	return r != nil && n > 0 && (r.Unknown > 0 || r.Place <= n)
}
