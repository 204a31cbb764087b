// SPDX-License-Identifier: Apache-2.0

package references

import "slices"

// unread is the referrers of one source of which something about one kind could not be read. The zero value is empty.
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

// noteUnreadable records whether the references of a referrer could be read, and about which kinds something is unknown.
func (x *Index) noteUnreadable(f *from, r *referrer, err error, unknown []Kind) {
	if r.failure == nil && err == nil {
		return
	}
	before := f.unreadAbout()
	if r.failure != nil {
		for _, kind := range r.failure.about {
			f.unread[kind].remove(r)
		}
	}
	r.failure = nil
	if err != nil {
		r.failure = &failure{err, slices.DeleteFunc(slices.Clone(unknown), func(k Kind) bool { return f.unread[k] == nil })}
		for _, kind := range r.failure.about {
			f.unread[kind].add(r)
		}
	}
	var changed []Kind
	for i, isUnread := range f.unreadAbout() {
		if isUnread != before[i] {
			changed = append(changed, f.about[i])
		}
	}
	if len(changed) > 0 {
		x.touch(changed)
	}
}

// unreadAbout returns for each kind in about whether something about it could not be read of some referrer.
func (f *from) unreadAbout() []bool {
	unread := make([]bool, len(f.about))
	for i, kind := range f.about {
		unread[i] = len(f.unread[kind].all) > 0
	}
	return unread
}
