package agent

import (
	"maps"
	"math"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// usageOf makes what the kernel says what reports say.
func usageOf(blocks, available, size uint64) v1alpha1.NodeImageFilesystem {
	capacity, free := clamp(blocks, size), clamp(min(available, blocks), size)
	usage := v1alpha1.NodeImageFilesystem{CapacityBytes: capacity, UsedBytes: capacity - free}
	if blocks > 0 {
		usage.UsedPercent = int32(100 - min(available, blocks)*100/blocks)
	}
	return usage
}

func clamp(n, size uint64) int64 {
	if size > 0 && n > math.MaxInt64/size {
		return math.MaxInt64
	}
	return int64(n * size)
}

// space is for each rule with thresholds how many of its eligible images may stay: those unused for longest go beyond.
// The zero value lets all stay.
type space struct {
	room map[policy.RuleID]int
}

// measure takes how full the filesystem is, and how many images each rule finds eligible and would let go now. Where a
// rule's high threshold is reached, a few images less may stay than there are; a few less again with every measure after
// which all those have gone and the low threshold is not reached. It reports whether that changes anything.
func (s *space) measure(rules []*policy.Rule, usage v1alpha1.NodeImageFilesystem, counts func(policy.RuleID) (eligible, due int)) (changed bool) {
	next := map[policy.RuleID]int{}
	for _, r := range rules {
		used := int(usage.UsedPercent)
		room, pressed := s.room[r.ID]
		if !r.Images.HasThresholds || used <= r.Images.Low || !pressed && used < r.Images.High {
			continue
		}
		eligible, due := counts(r.ID)
		if !pressed {
			room = eligible
		}
		if due == 0 { // otherwise what goes already may be enough
			room = max(0, min(room, eligible)-1-eligible/fewOf)
		}
		next[r.ID] = room
	}
	changed = !maps.Equal(s.room, next)
	s.room = next
	return changed
}

// fewOf is which part of the images may go between two measures.
const fewOf = 50

// bound gives policies whose rules leave as much room as was measured.
func (s *space) bound(policies []*policy.Policy) []*policy.Policy {
	if len(s.room) == 0 {
		return policies
	}
	all := make([]*policy.Policy, len(policies))
	for i, p := range policies {
		own := *p
		own.Rules = make([]*policy.Rule, len(p.Rules))
		for k, r := range p.Rules {
			own.Rules[k] = r
			if room, pressed := s.room[r.ID]; pressed {
				bounded := *r
				bounded.Capacity = policy.Capacity{Bounded: true, Max: room}
				own.Rules[k] = &bounded
			}
		}
		all[i] = &own
	}
	return all
}
