// SPDX-License-Identifier: Apache-2.0

package references

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Changes is the targets to which references may have changed.
type Changes struct {
	Targets []Target
	Whole   []Kind // all targets of these kinds, for example because doubt began or ended
}

// Changed returns a channel that has an element while Take would return changes.
func (x *Index) Changed() <-chan struct{} { return x.wake.C() }

// Take returns what has changed since the last call of Take.
func (x *Index) Take() Changes {
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-x.wake.C():
	default:
	}
	x.forget()
	c := Changes{Targets: slices.Collect(maps.Keys(x.changed)), Whole: slices.Collect(maps.Keys(x.whole))}
	clear(x.changed)
	clear(x.whole)
	return c
}

// touch records that all targets of some kinds may have changed, because one of their sources has.
func (x *Index) touch(kinds []Kind) {
	x.settle(kinds)
	for _, k := range kinds {
		x.whole[k] = struct{}{}
	}
	x.wake.Send()
}

// put adds or updates a referrer. If its references are the same as before, that costs only a comparison.
func (x *Index) put(f *from, r *Referrer) {
	known := f.referrers[r.UID]
	if known == nil {
		known = &referrer{}
		f.referrers[r.UID] = known
	}
	wanted, unknown := r.Targets, r.unknownAbout(f)
	switch {
	case r.Err != nil && len(r.Unread) == 0:
		wanted = nil
	case r.Err != nil:
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(t Target) bool { return slices.Contains(unknown, t.Kind) })
	}
	known.name = r.Name
	x.noteUnreadable(f, known, r.Err, unknown)
	x.putObject(known, r.Object)
	if known.refersTo(wanted) {
		return
	}
	before := len(known.edges)
	x.unlink(known, wanted)
	kept := len(known.edges)
	x.linkAll(known, wanted)
	if kept < before || kept < len(known.edges) { // without duplicates, something has changed
		x.lessOf(known)
	}
}

// linkAll adds the missing edges from a referrer to some targets.
func (x *Index) linkAll(r *referrer, wanted []Target) {
	if len(wanted) <= fewTargets {
		for _, t := range wanted {
			if !slices.ContainsFunc(r.edges, func(e edge) bool { return e.to.Target == t }) {
				x.link(r, t)
			}
		}
		return
	}
	has := make(map[Target]struct{}, len(wanted))
	for _, e := range r.edges {
		has[e.to.Target] = struct{}{}
	}
	for _, t := range wanted {
		if _, linked := has[t]; !linked {
			has[t] = struct{}{}
			x.link(r, t)
		}
	}
}

// unknownAbout returns the kinds about which something could not be read of a referrer of a source.
func (r *Referrer) unknownAbout(f *from) []Kind {
	switch {
	case r.Err == nil:
		return nil
	case len(r.Unread) == 0:
		return f.about
	}
	return r.Unread
}

// refersTo reports whether the edges of a referrer lead to some targets in this order.
func (r *referrer) refersTo(all []Target) bool {
	return slices.EqualFunc(r.edges, all, func(e edge, t Target) bool { return e.to.Target == t })
}

func (x *Index) remove(f *from, uid types.UID) {
	r := f.referrers[uid]
	if r == nil {
		return
	}
	x.noteUnreadable(f, r, nil, nil)
	x.removeObject(r)
	x.unlink(r, nil)
	delete(f.referrers, uid)
}

func (x *Index) link(r *referrer, t Target) {
	to := x.target(t)
	to.by = append(to.by, backEdge{r, len(r.edges)})
	r.edges = append(r.edges, edge{to, len(to.by) - 1})
	x.edges[t.Kind]++
	x.note(t)
}

func (x *Index) target(t Target) *target {
	to := x.targets[t]
	if to == nil {
		to = &target{Target: t}
		x.targets[t] = to
	}
	return to
}

// unlink removes the edges of a referrer, except those to some targets.
func (x *Index) unlink(r *referrer, but []Target) {
	stay := setOf(but)
	kept := r.edges[:0]
	for _, e := range r.edges {
		if stay.has(e.to.Target) {
			e.to.by[e.at].at = len(kept)
			kept = append(kept, e)
			continue
		}
		x.cut(e)
	}
	clear(r.edges[len(kept):])
	r.edges = kept
}

// cut removes an edge from its target. The last edge of the target moves to its place.
func (x *Index) cut(e edge) {
	to := e.to
	last := len(to.by) - 1
	if moved := to.by[last]; e.at != last {
		to.by[e.at] = moved
		moved.from.edges[moved.at].at = e.at
	}
	to.by[last] = backEdge{}
	to.by = to.by[:last]
	x.edges[to.Kind]--
	x.noteRemoved(to)
	x.note(to.Target)
}

// changedAtMost limits how many targets wait for Take, which may never be called.
const changedAtMost = 10_000

// note records that the references to a target have changed. Beyond changedAtMost it records whole kinds instead.
func (x *Index) note(t Target) {
	x.changed[t] = struct{}{}
	if len(x.changed) > changedAtMost {
		for t := range x.changed {
			x.whole[t.Kind] = struct{}{}
		}
		clear(x.changed)
	}
	x.wake.Send()
}
