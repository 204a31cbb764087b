// SPDX-License-Identifier: Apache-2.0

package rank

import "github.com/sunset-k8s/sunset/policy"

// namespace is a namespace that has members.
type namespace struct {
	name      string
	allowance policy.Allowance
	groups    map[string]*group // groups with members
	stay      cut               // all members, divided at the capacity
	weight    weight            // the weight in the pool
}

func (p *namespace) join(m *member, changes *changes) {
	for g := range m.group.each {
		g.newest.add(m)
		g.newest.fit(p.allowance.Keep, changes)
	}
	p.stay.add(m)
}

func (p *namespace) quit(m *member, changes *changes) {
	p.stay.remove(m)
	for g := range m.group.each {
		g.newest.remove(m)
		g.newest.fit(p.allowance.Keep, changes)
		if g.newest.len() == 0 {
			delete(p.groups, g.name)
		}
	}
}
