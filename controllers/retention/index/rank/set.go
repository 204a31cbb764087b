package rank

import (
	"math"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// Set holds the members of one rule. Create it with New. What its methods return are the UIDs whose Standing they
// changed, in no order: also of one that came or left, as the Standing of who is not a member is the zero value.
type Set struct {
	ranking policy.Ranking
	members map[types.UID]*member
	spaces  map[string]*space // those that have members
	pool    pool
	changes changes
}

// New makes an empty set. The ranking's Room is asked when a namespace gets its first member, and again by Review and
// Use alone; it must not call back.
func New(ranking policy.Ranking) *Set {
	return &Set{ranking: ranking, members: map[types.UID]*member{}, spaces: map[string]*space{}, pool: newPool()}
}

// Put adds a member, or replaces what is known of it. One that is Unknown takes no place, and is not held.
func (s *Set) Put(o policy.Candidate) []types.UID {
	if o.Unknown {
		return s.Remove(o.UID)
	}
	m := s.members[o.UID]
	if m == nil {
		m = &member{}
	}
	// The string that is held is the latest: an earlier one can be part of what its owner has let go.
	m.uid = o.UID
	s.members[o.UID] = m
	if m.is(o) {
		return nil
	}
	s.leave(m)
	m.seconds, m.nanos = o.Start.Unix(), int32(o.Start.Nanosecond())
	s.enter(m, o)
	return s.changes.settle()
}

// Remove takes a member out. One that is none is fine.
func (s *Set) Remove(uid types.UID) []types.UID {
	m := s.members[uid]
	if m == nil {
		return nil
	}
	delete(s.members, uid)
	s.leave(m)
	return s.changes.settle()
}

// Review asks for the room of a namespace again.
func (s *Set) Review(namespace string) []types.UID {
	p := s.spaces[namespace]
	if p == nil {
		return nil
	}
	s.review(p)
	return s.changes.settle()
}

// Use puts another ranking in force. It asks for the room of every namespace.
func (s *Set) Use(ranking policy.Ranking) []types.UID {
	if ranking.Fair.Bounded != s.ranking.Fair.Bounded {
		s.release()
	}
	s.ranking = ranking
	for _, p := range s.spaces {
		s.review(p)
	}
	return s.changes.settle()
}

// Standing is where a member stands.
func (s *Set) Standing(uid types.UID) policy.RankResult {
	if m := s.members[uid]; m != nil {
		return m.told
	}
	return policy.RankResult{}
}

// Len is how many members there are.
func (s *Set) Len() int { return len(s.members) }

// Excess is how many members are beyond the capacity.
func (s *Set) Excess() int { return s.pool.sum.excess }

// ExcessIn is how many of them are in a namespace.
func (s *Set) ExcessIn(namespace string) int {
	if p := s.spaces[namespace]; p != nil {
		return p.weight.excess
	}
	return 0
}

func (s *Set) enter(m *member, o policy.Candidate) {
	p := s.space(o.Namespace)
	m.space = p
	s.changes.touch(m)
	m.group = p.groupOf(o)
	p.join(m, &s.changes)
	s.bound(p)
}

// leave takes a member from its place, if it has one.
func (s *Set) leave(m *member) {
	p := m.space
	if p == nil {
		return
	}
	s.changes.touch(m)
	p.quit(m, &s.changes)
	s.bound(p)
	m.space, m.group = nil, nil
	if p.stay.len() == 0 {
		delete(s.spaces, p.name)
	}
}

// space gives the namespace of that name, for a member that comes.
func (s *Set) space(name string) *space {
	p := s.spaces[name]
	if p == nil {
		p = &space{name: name, room: s.ranking.In(name), groups: map[string]*group{}}
		s.spaces[name] = p
	}
	return p
}

func (s *Set) review(p *space) {
	if room := s.ranking.In(p.name); room != p.room {
		p.room = room
		for _, g := range p.groups {
			g.newest.fit(room.Keep, &s.changes)
		}
	}
	s.bound(p)
}

// bound applies the capacity after a change in a namespace.
func (s *Set) bound(p *space) {
	if s.ranking.Fair.Bounded {
		s.pool.weigh(p)
		s.pool.level(s.ranking.Fair.Places(), &s.changes)
		return
	}
	p.stay.fit(p.room.Limit.Places(), &s.changes)
	s.pool.weigh(p)
}

// release lets all stay, so that another kind of capacity can be applied.
func (s *Set) release() {
	for _, p := range s.spaces {
		p.stay.fit(math.MaxInt, &s.changes)
		s.pool.weigh(p)
	}
}
