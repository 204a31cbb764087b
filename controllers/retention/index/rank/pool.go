package rank

import "github.com/google/btree"

// pool knows how many members of each namespace stay, and finds the namespace that has to give or may get a place.
type pool struct {
	sum    weight
	givers *btree.BTreeG[entry] // of which somebody stays
	takers *btree.BTreeG[entry] // of which somebody does not
}

// weight is how many known members stay, and how many do not.
type weight struct{ stay, excess int }

// entry is a namespace in the pool.
type entry struct {
	stay  int
	space *space
}

func newPool() pool {
	return pool{givers: btree.NewG(degree, lighter), takers: btree.NewG(degree, lighter)}
}

// lighter puts the namespace with least first; of two with as many, the first by name.
func lighter(a, b entry) bool {
	if a.stay != b.stay {
		return a.stay < b.stay
	}
	return a.space.name < b.space.name
}

// weigh notes that members of a namespace have come, gone or moved.
func (l *pool) weigh(p *space) {
	is := weight{stay: p.stay.first.len(), excess: p.stay.rest.len()}
	if is == p.weight {
		return
	}
	l.forget(p)
	p.weight = is
	l.note(p)
}

func (l *pool) forget(p *space) {
	l.sum.stay -= p.weight.stay
	l.sum.excess -= p.weight.excess
	l.givers.Delete(entry{p.weight.stay, p})
	l.takers.Delete(entry{p.weight.stay, p})
}

func (l *pool) note(p *space) {
	l.sum.stay += p.weight.stay
	l.sum.excess += p.weight.excess
	if p.weight.stay > 0 {
		l.givers.ReplaceOrInsert(entry{p.weight.stay, p})
	}
	if p.weight.excess > 0 {
		l.takers.ReplaceOrInsert(entry{p.weight.stay, p})
	}
}

// level moves one member after the other until n stay, or all: the namespace with most gives the first, the one with
// least gets the next. From where this ended, or from where all stay, it leads to where policy.Ranking.Rank deals.
func (l *pool) level(n int, changes *changes) {
	for l.sum.stay > n {
		most, _ := l.givers.Max()
		most.space.stay.demote(changes)
		l.weigh(most.space)
	}
	for l.sum.stay < n && l.takers.Len() > 0 {
		least, _ := l.takers.Min()
		least.space.stay.promote(changes)
		l.weigh(least.space)
	}
}
