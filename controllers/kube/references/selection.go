// SPDX-License-Identifier: Apache-2.0

package references

import (
	"slices"
	"strings"

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

// kindInNamespace is the objects of a kind in a namespace, which selectors of objects in the namespace may match.
type kindInNamespace struct {
	kind      Kind
	namespace string
}

// labelIndex is the labels of these objects, and the selectors for them.
type labelIndex struct {
	groups     map[string]*group // by their text
	selections map[*selection]struct{}
}

// group is the objects of a kind in a namespace that have the same labels.
type group struct {
	in         kindInNamespace
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

func (x *Index) labelsOf(of kindInNamespace) *labelIndex {
	known := x.labels[of]
	if known == nil {
		known = &labelIndex{groups: map[string]*group{}, selections: map[*selection]struct{}{}}
		x.labels[of] = known
	}
	return known
}

// forgetLabels forgets a labelIndex that has become empty.
func (x *Index) forgetLabels(of kindInNamespace) {
	if known := x.labels[of]; len(known.groups)+len(known.selections) == 0 {
		delete(x.labels, of)
	}
}

// setSelectors sets the selectors of a referrer.
func (x *Index) setSelectors(r *referrer, wanted []Selector) {
	same := func(s *selection, w Selector) bool { return s.To == w.To && s.text == w.Labels.String() }
	if slices.EqualFunc(r.object.selections, wanted, same) {
		return
	}
	for _, s := range r.object.selections {
		of := kindInNamespace{s.To, r.name.Namespace}
		for g := range s.groups {
			delete(g.selections, s)
		}
		delete(x.labels[of].selections, s)
		x.forgetLabels(of)
	}
	r.object.selections = nil
	for _, w := range wanted {
		s := &selection{Selector: w, by: r, text: w.Labels.String(), groups: map[*group]struct{}{}}
		in := x.labelsOf(kindInNamespace{w.To, r.name.Namespace})
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
		g := x.group(kindInNamespace{w.As, r.name.Namespace}, w.Text)
		g.objects++
		for s := range g.selections {
			s.count++
			x.noteRelations(s.by)
		}
		r.object.groups = append(r.object.groups, g)
	}
	for _, g := range before {
		x.leaveGroup(g)
	}
}

func (x *Index) group(in kindInNamespace, text string) *group {
	of := x.labelsOf(in)
	g := of.groups[text]
	if g == nil {
		g = &group{in: in, text: text, labels: labels.Set{}}
		for pair := range strings.SplitSeq(text, ",") { // not with a parser that drops everything after an invalid label
			if key, value, isLabel := strings.Cut(pair, "="); isLabel {
				g.labels[key] = value
			}
		}
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
		delete(x.labels[g.in].groups, g.text)
		x.forgetLabels(g.in)
	}
}
