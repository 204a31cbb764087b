package references

import "slices"

// unread are the referrers of one source of which what they refer to of one kind could not be read. The zero value has none.
type unread struct {
	all   map[*referrer]struct{}
	first *referrer // by name; nil when it has to be looked for
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

// foremost is the one to tell people of; nil when there is none. There may be many, and everybody who asks about a target is
// told, so it is looked for only after the one before has gone.
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

// noteUnreadable notes whether a referrer could be read, and of which kinds not.
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

// blindTo says of each kind that referrers of a source may refer to whether one of them could not be read.
func (f *from) blindTo() []bool {
	blind := make([]bool, len(f.to))
	for i, kind := range f.to {
		blind[i] = len(f.unread[kind].all) > 0
	}
	return blind
}
