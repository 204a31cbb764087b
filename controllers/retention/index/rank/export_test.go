// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"fmt"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// Consistent returns an error if the set keeps namespaces or groups without members, or counts wrongly.
func (s *Set) Consistent() error {
	stay := 0
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
		if is := (weight{p.stay.first.len(), p.stay.rest.len()}); p.weight != is {
			return fmt.Errorf("%s has the weight %v, want %v", name, p.weight, is)
		}
		stay += p.weight.stay
	}
	if stay != s.pool.stay {
		return fmt.Errorf("%d members stay, want %d", s.pool.stay, stay)
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
