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

// group is what keepNewest counts together.
type group struct {
	name   string
	newest cut
}

// keepsAll reports whether keepNewest keeps every member, as any could be of the group of an unknown one.
func (p *space) keepsAll() bool { return p.unknown.len() > 0 && p.room.Keep > 0 }

func (p *space) isEmpty() bool { return p.stay.len() == 0 && p.unknown.len() == 0 }

// group gives the one of that name, for a member that comes.
func (p *space) group(name string) *group {
	g := p.groups[name]
	if g == nil {
		g = &group{name: name}
		p.groups[name] = g
	}
	return g
}

func (p *space) join(m *member, changes *changes) {
	m.group.newest.add(m)
	m.group.newest.fit(p.room.Keep, changes)
	p.stay.add(m)
}

func (p *space) quit(m *member, changes *changes) {
	p.stay.remove(m)
	m.group.newest.remove(m)
	m.group.newest.fit(p.room.Keep, changes)
	if m.group.newest.len() == 0 {
		delete(p.groups, m.group.name)
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
