package rank

import "github.com/sunset-k8s/sunset/policy"

// space is a namespace that has members.
type space struct {
	name   string
	room   policy.Allowance
	groups map[string]*group // groups with members
	stay   cut               // all members, divided at the capacity
	weight weight            // the weight in the pool
}

func (p *space) join(m *member, changes *changes) {
	for g := range m.group.each {
		g.newest.add(m)
		g.newest.fit(p.room.Keep, changes)
	}
	p.stay.add(m)
}

func (p *space) quit(m *member, changes *changes) {
	p.stay.remove(m)
	for g := range m.group.each {
		g.newest.remove(m)
		g.newest.fit(p.room.Keep, changes)
		if g.newest.len() == 0 {
			delete(p.groups, g.name)
		}
	}
}
