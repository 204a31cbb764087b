// SPDX-License-Identifier: Apache-2.0

package references

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
		x.noteOwn(r)
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
	existed := to.is != nil
	to.is, r.object.node = r, to
	x.note(t)
	if !existed {
		for _, b := range to.by {
			x.noteOwn(b.from)
		}
	}
}

// vanish records that a target no longer exists. A newer object of the same name may have taken its place.
func (x *Index) vanish(r *referrer) {
	to := r.object.node
	if to == nil {
		return
	}
	r.object.node = nil
	if to.is != r {
		return
	}
	to.is = nil
	x.note(to.Target)
	for _, b := range to.by {
		x.lessOf(b.from)
	}
	x.noteRemoved(to)
}

// noteOwn records that what a referrer refers to or selects has changed.
func (x *Index) noteOwn(r *referrer) {
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
