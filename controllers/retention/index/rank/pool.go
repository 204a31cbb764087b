// SPDX-License-Identifier: Apache-2.0

package rank

import "github.com/google/btree"

// pool counts how many members of each namespace stay, and finds the namespace that must give up a place or may get one.
type pool struct {
	stay   int                  // the number of members that stay, of all namespaces
	givers *btree.BTreeG[entry] // namespaces with a member that stays
	takers *btree.BTreeG[entry] // namespaces with a member that does not stay
}

// weight is the number of known members that stay, and the number that do not.
type weight struct{ stay, excess int }

// entry is a namespace in the pool.
type entry struct {
	stay  int
	space *namespace
}

func newPool() pool {
	return pool{givers: btree.NewG(degree, lighter), takers: btree.NewG(degree, lighter)}
}

// lighter orders namespaces by the number of members that stay, then by name.
func lighter(a, b entry) bool {
	if a.stay != b.stay {
		return a.stay < b.stay
	}
	return a.space.name < b.space.name
}

// weigh updates the pool after members of a namespace were added, removed or moved.
func (l *pool) weigh(p *namespace) {
	is := weight{stay: p.stay.first.len(), excess: p.stay.rest.len()}
	if is == p.weight {
		return
	}
	l.forget(p)
	p.weight = is
	l.note(p)
}

func (l *pool) forget(p *namespace) {
	l.stay -= p.weight.stay
	l.givers.Delete(entry{p.weight.stay, p})
	l.takers.Delete(entry{p.weight.stay, p})
}

func (l *pool) note(p *namespace) {
	l.stay += p.weight.stay
	if p.weight.stay > 0 {
		l.givers.ReplaceOrInsert(entry{p.weight.stay, p})
	}
	if p.weight.excess > 0 {
		l.takers.ReplaceOrInsert(entry{p.weight.stay, p})
	}
}

// level moves one member after the other until n stay, or all: the namespace with the most gives up the first place, and
// the one with the fewest gets the next. Starting from an earlier result of level, or from all members staying, it reaches
// the result of policy.Ranking.Rank.
func (l *pool) level(n int, changes *changes) {
	for l.stay > n {
		most, _ := l.givers.Max()
		most.space.stay.demote(changes)
		l.weigh(most.space)
	}
	for l.stay < n && l.takers.Len() > 0 {
		least, _ := l.takers.Min()
		least.space.stay.promote(changes)
		l.weigh(least.space)
	}
}
