// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"math"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// Set has the members of one rule. Create it with New. Its methods return the UIDs whose Result they changed, in no
// order. These include members that were added or removed, because the Result of a UID without a member is the zero
// value.
type Set struct {
	ranking    policy.Ranking
	members    map[types.UID]*member
	namespaces map[string]*namespace // namespaces with members
	pool       pool
	changes    changes
}

// New returns an empty set. The ranking's Allowance is called when a namespace gets its first member, and otherwise only by
// Use. It must not call the set.
func New(ranking policy.Ranking) *Set {
	return &Set{ranking: ranking, members: map[types.UID]*member{}, namespaces: map[string]*namespace{}, pool: newPool()}
}

// Put adds a member, or updates it. A member that is Unknown is removed, and takes no place.
func (s *Set) Put(o policy.Candidate) []types.UID {
	if o.Unknown {
		return s.Remove(o.UID)
	}
	m := s.members[o.UID]
	if m == nil {
		m = &member{}
	}
	// Keep the latest string: an earlier one may share the memory of a larger text that its owner no longer uses.
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

// Remove removes a member. It does nothing if there is no such member.
func (s *Set) Remove(uid types.UID) []types.UID {
	m := s.members[uid]
	if m == nil {
		return nil
	}
	delete(s.members, uid)
	s.leave(m)
	return s.changes.settle()
}

// Use puts another ranking in force. It gets the room of every namespace again.
func (s *Set) Use(ranking policy.Ranking) []types.UID {
	if ranking.Fair.Bounded != s.ranking.Fair.Bounded {
		s.release()
	}
	s.ranking = ranking
	for _, p := range s.namespaces {
		s.review(p)
	}
	return s.changes.settle()
}

// Result returns the rank result of a member.
func (s *Set) Result(uid types.UID) policy.RankResult {
	if m := s.members[uid]; m != nil {
		return m.reported
	}
	return policy.RankResult{}
}

// Len returns the number of members.
func (s *Set) Len() int { return len(s.members) }

func (s *Set) enter(m *member, o policy.Candidate) {
	p := s.namespace(o.Namespace)
	m.namespace = p
	s.changes.touch(m)
	m.group = p.groupOf(o)
	p.join(m, &s.changes)
	s.bound(p)
}

// leave removes a member from its place, if it has one.
func (s *Set) leave(m *member) {
	p := m.namespace
	if p == nil {
		return
	}
	s.changes.touch(m)
	p.quit(m, &s.changes)
	s.bound(p)
	m.namespace, m.group = nil, nil
	if p.stay.len() == 0 {
		delete(s.namespaces, p.name)
	}
}

// namespace returns the namespace with that name for a new member.
func (s *Set) namespace(name string) *namespace {
	p := s.namespaces[name]
	if p == nil {
		p = &namespace{name: name, allowance: s.ranking.In(name), groups: map[string]*group{}}
		s.namespaces[name] = p
	}
	return p
}

func (s *Set) review(p *namespace) {
	if room := s.ranking.In(p.name); room != p.allowance {
		p.allowance = room
		for _, g := range p.groups {
			g.newest.fit(room.Keep, &s.changes)
		}
	}
	s.bound(p)
}

// bound applies the capacity after a change in a namespace.
func (s *Set) bound(p *namespace) {
	if s.ranking.Fair.Bounded {
		s.pool.weigh(p)
		s.pool.level(s.ranking.Fair.Places(), &s.changes)
		return
	}
	p.stay.fit(p.allowance.Limit.Places(), &s.changes)
	s.pool.weigh(p)
}

// release lets all members stay, so that another kind of capacity can be applied.
func (s *Set) release() {
	for _, p := range s.namespaces {
		p.stay.fit(math.MaxInt, &s.changes)
		s.pool.weigh(p)
	}
}
