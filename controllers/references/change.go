package references

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Changes is what may be referred to by others than before.
type Changes struct {
	Targets []Target
	Whole   []Kind // everything of these, as doubt came or went
}

// Changed has an element while Take would give something.
func (x *Index) Changed() <-chan struct{} { return x.wake }

// Take gives what has changed since it was last called.
func (x *Index) Take() Changes {
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-x.wake:
	default:
	}
	x.forget()
	var c Changes
	for t := range x.changed {
		c.Targets = append(c.Targets, t)
	}
	for k := range x.whole {
		c.Whole = append(c.Whole, k)
	}
	clear(x.changed)
	clear(x.whole)
	return c
}

// touch notes that all of some kinds may have changed, as a source of theirs has.
func (x *Index) touch(kinds []Kind) {
	x.settle(kinds)
	for _, k := range kinds {
		x.whole[k] = struct{}{}
	}
	x.ring()
}

func (x *Index) ring() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// put makes a referrer what it is now. One that refers to the same as before costs a comparison.
func (x *Index) put(f *from, r *Referrer) {
	known := f.referrers[r.UID]
	if known == nil {
		known = &referrer{}
		f.referrers[r.UID] = known
	}
	wanted, blind := r.Targets, r.blind(f)
	switch {
	case r.Err != nil && len(r.Unread) == 0:
		wanted = nil
	case r.Err != nil:
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(t Target) bool { return slices.Contains(blind, t.Kind) })
	}
	known.name = r.Name
	x.blame(f, known, r.Err, blind)
	if len(wanted) == len(known.edges) && known.refersTo(wanted) {
		return
	}
	x.unlink(known, wanted)
	for _, t := range wanted {
		if !slices.ContainsFunc(known.edges, func(e edge) bool { return e.to.Target == t }) {
			x.link(known, t)
		}
	}
}

// blind are the kinds of which a referrer of a source may refer to more than is known.
func (r *Referrer) blind(f *from) []Kind {
	switch {
	case r.Err == nil:
		return nil
	case len(r.Unread) == 0:
		return f.to
	}
	return r.Unread
}

// blame notes whether a referrer could be read, and of which kinds not.
func (x *Index) blame(f *from, r *referrer, err error, blind []Kind) {
	if r.err == nil && err == nil {
		return
	}
	before := maps.Clone(f.unread)
	for _, kind := range r.blind {
		f.unread[kind]--
	}
	for _, kind := range blind {
		f.unread[kind]++
	}
	r.err, r.blind = err, blind
	changed := func(kind Kind) bool { return (before[kind] == 0) != (f.unread[kind] == 0) }
	if kinds := slices.DeleteFunc(slices.Clone(f.to), func(k Kind) bool { return !changed(k) }); len(kinds) > 0 {
		x.touch(kinds)
	}
}

// refersTo reports whether a referrer has an edge to each of some targets, in this order.
func (r *referrer) refersTo(all []Target) bool {
	for i := range all {
		if r.edges[i].to.Target != all[i] {
			return false
		}
	}
	return true
}

func (x *Index) remove(f *from, uid types.UID) {
	r := f.referrers[uid]
	if r == nil {
		return
	}
	x.blame(f, r, nil, nil)
	x.unlink(r, nil)
	delete(f.referrers, uid)
}

func (x *Index) link(r *referrer, t Target) {
	to := x.targets[t]
	if to == nil {
		to = &target{Target: t}
		x.targets[t] = to
	}
	to.by = append(to.by, back{r, len(r.edges)})
	r.edges = append(r.edges, edge{to, len(to.by) - 1})
	x.edges[t.Kind]++
	x.changed[t] = struct{}{}
	x.ring()
}

// unlink removes the edges of a referrer, but for those to some targets.
func (x *Index) unlink(r *referrer, but []Target) {
	kept := r.edges[:0]
	for _, e := range r.edges {
		if slices.Contains(but, e.to.Target) {
			e.to.by[e.at].at = len(kept)
			kept = append(kept, e)
			continue
		}
		x.cut(e)
	}
	clear(r.edges[len(kept):])
	r.edges = kept
}

// cut takes an edge away from its target, whose last one moves to its place.
func (x *Index) cut(e edge) {
	to := e.to
	last := len(to.by) - 1
	if moved := to.by[last]; e.at != last {
		to.by[e.at] = moved
		moved.from.edges[moved.at].at = e.at
	}
	to.by[last] = back{}
	to.by = to.by[:last]
	x.edges[to.Kind]--
	x.leave(to)
	x.changed[to.Target] = struct{}{}
	x.ring()
}
