// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"slices"

	"github.com/sunset-k8s/sunset/policy"
)

// group is a group of keepNewest, which counts its members. For the few members that are in several groups, it is instead a
// list of their groups: such a list belongs to one member and counts nothing.
type group struct {
	name   string
	newest cut
	all    []*group // the groups of a list; nil for a group that counts
}

// groupOf returns the group of a new member.
func (p *namespace) groupOf(o policy.Candidate) *group {
	if len(o.Also) == 0 {
		return p.group(o.Group)
	}
	several := &group{}
	for name := range o.Groups() {
		several.all = append(several.all, p.group(name))
	}
	return several
}

// group returns the group with that name, and creates it if necessary.
func (p *namespace) group(name string) *group {
	g := p.groups[name]
	if g == nil {
		g = &group{name: name}
		p.groups[name] = g
	}
	return g
}

// each yields the groups that count.
func (g *group) each(yield func(*group) bool) {
	if g.all == nil {
		yield(g)
		return
	}
	for _, one := range g.all {
		if !yield(one) {
			return
		}
	}
}

// is reports whether these are the groups of a member.
func (g *group) is(o policy.Candidate) bool {
	if g.all == nil {
		return g.name == o.Group && len(o.Also) == 0
	}
	names := slices.Collect(o.Groups())
	return slices.EqualFunc(g.all, names, func(g *group, name string) bool { return g.name == name })
}

// keeps reports whether a member is among the newest of one of the groups.
func (g *group) keeps(m *member) bool {
	for one := range g.each {
		if one.newest.isFirst(m) {
			return true
		}
	}
	return false
}
