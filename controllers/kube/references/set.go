// SPDX-License-Identifier: Apache-2.0

package references

import "slices"

// fewTargets is how many targets can be searched faster than a map of them can be built. Nearly every referrer has fewer. A
// referrer with thousands must not delay others.
const fewTargets = 16

// set is a set of targets.
type set struct {
	few  []Target // while many is nil
	many map[Target]struct{}
}

func setOf(all []Target) set {
	if len(all) <= fewTargets {
		return set{few: all}
	}
	many := make(map[Target]struct{}, len(all))
	for _, t := range all {
		many[t] = struct{}{}
	}
	return set{many: many}
}

func (s *set) has(t Target) bool {
	if s.many == nil {
		return slices.Contains(s.few, t)
	}
	_, has := s.many[t]
	return has
}
