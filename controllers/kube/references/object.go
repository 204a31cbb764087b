// SPDX-License-Identifier: Apache-2.0

package references

import "slices"

// object is what rules ask about a referrer besides its references.
type object struct {
	node       *target // the object as a target; nil if no rule asks whether it exists
	version    string
	selections []*selection
	groups     []*group
}

// node returns a referrer as a target; nil if no rule asks whether it exists.
func (r *referrer) node() *target {
	if r.object == nil {
		return nil
	}
	return r.object.node
}

// putObject sets what is known about a referrer besides its references.
func (x *Index) putObject(r *referrer, o *Object) {
	if o == nil {
		x.removeObject(r)
		return
	}
	if r.object == nil {
		r.object = &object{}
	}
	if r.object.version != o.Version {
		r.object.version = o.Version
		x.noteRelations(r)
	}
	switch {
	case o.Kind == "":
		x.vanish(r)
	case r.object.node == nil:
		x.appear(r, Target{o.Kind, r.name.Namespace, r.name.Name})
	}
	x.setSelectors(r, o.Selectors)
	x.setLabels(r, o.Labels)
}

func (x *Index) removeObject(r *referrer) {
	if r.object == nil {
		return
	}
	x.setSelectors(r, nil)
	x.setLabels(r, nil)
	x.vanish(r)
	r.object = nil
}

// appear records that a target exists.
func (x *Index) appear(r *referrer, t Target) {
	to := x.target(t)
	to.is, r.object.node = append(to.is, r), to
	x.note(t)
	if len(to.is) > 1 { // what another source knows of it counts too
		x.noteRemoved(to)
		return
	}
	for _, b := range to.by {
		x.noteRelations(b.from)
	}
}

// vanish records that a target no longer exists, unless another source has it, or a newer object of the same name.
func (x *Index) vanish(r *referrer) {
	to := r.object.node
	if to == nil {
		return
	}
	r.object.node = nil
	to.is = slices.DeleteFunc(to.is, func(other *referrer) bool { return other == r })
	x.note(to.Target)
	if len(to.is) == 0 {
		for _, b := range to.by {
			x.lessOf(b.from)
		}
	}
	x.noteRemoved(to)
}

// noteRelations records that what a referrer refers to or selects has changed.
func (x *Index) noteRelations(r *referrer) {
	if node := r.node(); node != nil {
		x.note(node.Target)
	}
}

// lessOf records that fewer targets of a referrer may exist, or that it selects fewer objects.
func (x *Index) lessOf(r *referrer) {
	if node := r.node(); node != nil {
		x.noteRemoved(node)
		x.note(node.Target)
	}
}
