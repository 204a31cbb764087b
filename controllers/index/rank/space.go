package rank

import "github.com/sunset-k8s/sunset/policy"

// space is a namespace that has members.
type space struct {
	name    string
	room    policy.Room
	groups  map[string]*group // those that have members
	stay    cut               // all known members, at the capacity
	unknown line
	weight  weight // what the pool takes it for
}

// keepsAll reports whether keepNewest keeps every member, as any could be of the group of an unknown one.
func (p *space) keepsAll() bool { return p.unknown.len() > 0 && p.room.Keep > 0 }

func (p *space) isEmpty() bool { return p.stay.len() == 0 && p.unknown.len() == 0 }

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

// doubt runs a change of what keepsAll depends on.
func (p *space) doubt(changes *changes, change func()) {
	before := p.keepsAll()
	change()
	if p.keepsAll() != before {
		p.stay.first.each(changes.touch)
		p.stay.rest.each(changes.touch)
		p.unknown.each(changes.touch)
	}
}

// setRoom applies another room, but for its limit.
func (p *space) setRoom(room policy.Room, changes *changes) {
	p.doubt(changes, func() { p.room = room })
	for _, g := range p.groups {
		g.newest.fit(room.Keep, changes)
	}
}
