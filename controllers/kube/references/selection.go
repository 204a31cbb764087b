// SPDX-License-Identifier: Apache-2.0

package references

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Selector selects the objects of a kind in the namespace of an object.
type Selector struct {
	To     Kind
	Labels labels.Selector
}

// Labels are labels in which selectors for objects of a kind find an object.
type Labels struct {
	As   Kind
	Text string // in the form of labels.Set.String
}

// space is where selectors and labels meet.
type space struct {
	kind      Kind
	namespace string
}

type labelSpace struct {
	groups     map[string]*group // by their text
	selections map[*selection]struct{}
}

// group is the objects in a space that have the same labels.
type group struct {
	in         space
	text       string
	labels     labels.Set
	objects    int
	selections map[*selection]struct{} // that match the labels; nil for none
}

// selection is a selector of an object.
type selection struct {
	Selector
	by     *referrer
	text   string
	groups map[*group]struct{} // that it matches
	count  int                 // of their objects
}

func (x *Index) space(of space) *labelSpace {
	s := x.spaces[of]
	if s == nil {
		s = &labelSpace{groups: map[string]*group{}, selections: map[*selection]struct{}{}}
		x.spaces[of] = s
	}
	return s
}

// leaveSpace forgets an empty space.
func (x *Index) leaveSpace(of space) {
	if s := x.spaces[of]; len(s.groups)+len(s.selections) == 0 {
		delete(x.spaces, of)
	}
}

// setSelectors sets the selectors of a referrer.
func (x *Index) setSelectors(r *referrer, wanted []Selector) {
	same := func(s *selection, w Selector) bool { return s.To == w.To && s.text == w.Labels.String() }
	if slices.EqualFunc(r.object.selections, wanted, same) {
		return
	}
	for _, s := range r.object.selections {
		of := space{s.To, r.name.Namespace}
		for g := range s.groups {
			delete(g.selections, s)
		}
		delete(x.spaces[of].selections, s)
		x.leaveSpace(of)
	}
	r.object.selections = nil
	for _, w := range wanted {
		s := &selection{Selector: w, by: r, text: w.Labels.String(), groups: map[*group]struct{}{}}
		in := x.space(space{w.To, r.name.Namespace})
		in.selections[s] = struct{}{}
		for _, g := range in.groups {
			s.match(g)
		}
		r.object.selections = append(r.object.selections, s)
	}
	x.lessOf(r)
}

// match connects a selection and a group if the labels match.
func (s *selection) match(g *group) {
	if !s.Labels.Matches(g.labels) {
		return
	}
	if g.selections == nil { // many groups match no selector
		g.selections = map[*selection]struct{}{}
	}
	s.groups[g], g.selections[s] = struct{}{}, struct{}{}
	s.count += g.objects
}

// setLabels sets the labels in which selectors find a referrer.
func (x *Index) setLabels(r *referrer, wanted []Labels) {
	same := func(g *group, w Labels) bool { return g.in.kind == w.As && g.text == w.Text }
	if slices.EqualFunc(r.object.groups, wanted, same) {
		return
	}
	before := r.object.groups
	r.object.groups = nil
	for _, w := range wanted { // before it leaves, so that it counts all the time
		g := x.group(space{w.As, r.name.Namespace}, w.Text)
		g.objects++
		for s := range g.selections {
			s.count++
			x.noteOwn(s.by)
		}
		r.object.groups = append(r.object.groups, g)
	}
	for _, g := range before {
		x.leaveGroup(g)
	}
}

func (x *Index) group(in space, text string) *group {
	of := x.space(in)
	g := of.groups[text]
	if g == nil {
		set, _ := labels.ConvertSelectorToLabelsMap(text) // it is in the form of labels.Set.String
		g = &group{in: in, text: text, labels: set}
		of.groups[text] = g
		for s := range of.selections {
			s.match(g)
		}
	}
	return g
}

// leaveGroup records that an object no longer has the labels of a group.
func (x *Index) leaveGroup(g *group) {
	g.objects--
	for s := range g.selections {
		s.count--
		x.lessOf(s.by)
		if g.objects == 0 {
			delete(s.groups, g)
		}
	}
	if g.objects == 0 {
		delete(x.spaces[g.in].groups, g.text)
		x.leaveSpace(g.in)
	}
}
