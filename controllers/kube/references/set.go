package references

import "slices"

// fewTargets are looked through faster than a map of them is made. Nearly every referrer has fewer; one that has thousands
// must not hold everybody up.
const fewTargets = 16

// set tells which of many targets there are.
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
