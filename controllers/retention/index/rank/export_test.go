package rank

import (
	"fmt"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// Consistent returns an error if the set keeps namespaces or groups without members, or has wrong sums.
func (s *Set) Consistent() error {
	var sum weight
	places := map[string]int{}
	for _, m := range s.members {
		if m.group != nil {
			places[m.namespace.name] += len(slices.Collect(m.group.each))
		}
	}
	for name, p := range s.namespaces {
		if p.stay.len() == 0 {
			return fmt.Errorf("%s has no members", name)
		}
		known := 0
		for _, g := range p.groups {
			if g.newest.len() == 0 {
				return fmt.Errorf("group %q of %s has no members", g.name, name)
			}
			known += g.newest.len()
		}
		if known != places[name] {
			return fmt.Errorf("%s has %d places in groups, want %d", name, known, places[name])
		}
		sum.stay += p.stay.first.len()
		sum.excess += p.stay.rest.len()
	}
	if sum != s.pool.sum {
		return fmt.Errorf("the sums are %v, want %v", s.pool.sum, sum)
	}
	if n := s.pool.givers.Len() + s.pool.takers.Len(); n > 2*len(s.namespaces) {
		return fmt.Errorf("%d entries in the pool of %d namespaces", n, len(s.namespaces))
	}
	return nil
}

// Holds reports whether every string of the UID in the set is this one, and not an equal copy.
func (s *Set) Holds(uid types.UID) bool {
	for key, m := range s.members {
		if key == uid {
			return unsafe.StringData(string(key)) == unsafe.StringData(string(uid)) &&
				unsafe.StringData(string(m.uid)) == unsafe.StringData(string(uid))
		}
	}
	return false
}
