// SPDX-License-Identifier: Apache-2.0

package references

import "slices"

// unread is the referrers of one source whose references to one kind could not be read. The zero value is empty.
type unread struct {
	all   map[*referrer]struct{}
	first *referrer // by name; nil if unknown
}

func (u *unread) add(r *referrer) {
	if u.all == nil {
		u.all = map[*referrer]struct{}{}
	}
	u.all[r] = struct{}{}
	if u.first != nil && less(r.name, u.first.name) {
		u.first = r
	}
}

func (u *unread) remove(r *referrer) {
	delete(u.all, r)
	if u.first == r {
		u.first = nil
	}
}

// foremost returns the first referrer by name, for messages; nil if there is none. Every lookup of a target calls it and there
// may be many referrers, so it searches only after the previous first one was removed.
func (u *unread) foremost() *referrer {
	if u.first != nil {
		return u.first
	}
	for r := range u.all {
		if u.first == nil || less(r.name, u.first.name) {
			u.first = r
		}
	}
	return u.first
}

// noteUnreadable records whether the references of a referrer could be read, and to which kinds not.
func (x *Index) noteUnreadable(f *from, r *referrer, err error, blind []Kind) {
	if r.err == nil && err == nil {
		return
	}
	before := f.blindTo()
	for _, kind := range r.blind {
		f.unread[kind].remove(r)
	}
	r.err, r.blind = err, slices.DeleteFunc(slices.Clone(blind), func(k Kind) bool { return f.unread[k] == nil })
	for _, kind := range r.blind {
		f.unread[kind].add(r)
	}
	var changed []Kind
	for i, blind := range f.blindTo() {
		if blind != before[i] {
			changed = append(changed, f.to[i])
		}
	}
	if len(changed) > 0 {
		x.touch(changed)
	}
}

// blindTo returns for each kind in to whether the references of some referrer to it could not be read.
func (f *from) blindTo() []bool {
	blind := make([]bool, len(f.to))
	for i, kind := range f.to {
		blind[i] = len(f.unread[kind].all) > 0
	}
	return blind
}
