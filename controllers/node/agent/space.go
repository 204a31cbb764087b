package agent

import (
	"math"
	"math/bits"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// usageOf makes what the kernel says what reports say.
func usageOf(blocks, available, size uint64) v1alpha1.NodeImageFilesystem {
	capacity, free := clamp(blocks, size), clamp(min(available, blocks), size)
	usage := v1alpha1.NodeImageFilesystem{CapacityBytes: capacity, UsedBytes: capacity - free}
	if blocks > 0 {
		high, low := bits.Mul64(min(available, blocks), 100) // some file systems claim more blocks than a hundredth of 2^64
		free, _ := bits.Div64(high, low, blocks)
		usage.UsedPercent = int32(100 - free)
	}
	return usage
}

func clamp(n, size uint64) int64 {
	if size > 0 && n > math.MaxInt64/size {
		return math.MaxInt64
	}
	return int64(n * size)
}

// space is how many of its eligible images may stay, for each rule with thresholds: those unused for longest go beyond.
// The zero value lets all stay.
type space struct {
	room map[policy.RuleID]room
}

// room is how many images of a rule may stay.
type room struct {
	key       string // of the rule, which may ask something else by now
	places    int
	due       int  // at the last measure
	still     int  // measures since which no fewer were due
	estimated bool // for a rule that let nothing go: never to be acted on
}

// same reports whether both leave the same to the same rule.
func (r room) same(o room) bool {
	return r.key == o.key && r.places == o.places && r.estimated == o.estimated
}

// isFor reports whether the room is that of a rule as it is now.
func (r room) isFor(p *policy.Policy, rule *policy.Rule) bool {
	return r.key == rule.Key && !(r.estimated && acts(p, rule))
}

// acts reports whether images go on the word of a rule.
func acts(p *policy.Policy, r *policy.Rule) bool {
	return r.Mode == v1alpha1.Enforce && !p.Gate.Covers("", r.ID.Rule)
}

const (
	// fewOf is which part of the images may go between two measures.
	fewOf = 50
	// stuckAfter is after how many measures without progress more images may go: those that should may be such that cannot.
	stuckAfter = 10
)

// counted is what has been counted of the images of a rule.
type counted struct {
	eligible, due int
	estimate      *estimate // of a rule that lets nothing go; nil of any other
}

// measure takes how full the filesystem is, and what was counted of each rule. Where a rule's high threshold is reached, a few
// images less may stay than there are; a few less again with every measure after which all those have gone and the low
// threshold is not reached. Of a rule that lets nothing go it is estimated how many may. It reports whether that changes
// anything, and whether something is going.
func (s *space) measure(rules []*policy.Rule, usage v1alpha1.NodeImageFilesystem, count func(policy.RuleID) counted) (changed, going bool) {
	next := map[policy.RuleID]room{}
	for _, r := range rules {
		used := int(usage.UsedPercent)
		before, pressed := s.room[r.ID]
		if !r.Images.HasThresholds || used <= r.Images.Low || !pressed && used < r.Images.High {
			continue
		}
		of := count(r.ID)
		var now room
		switch {
		case of.estimate != nil:
			now = room{places: of.estimate.places(usage.CapacityBytes / 100 * int64(used-r.Images.Low)), estimated: true}
		case !pressed, before.estimated, before.key != r.Key:
			now = room{places: of.eligible}.after(of.eligible, of.due)
		default:
			now = before.after(of.eligible, of.due)
		}
		now.key = r.Key
		next[r.ID] = now
		changed = changed || !pressed || !now.same(before)
		going = going || now.due > 0 && now.still < stuckAfter
	}
	changed = changed || len(next) != len(s.room)
	s.room = next
	return changed, going
}

// after is the room after one more measure.
func (r room) after(eligible, due int) room {
	if due > 0 && due >= r.due {
		r.still++
	} else {
		r.still = 0
	}
	r.due = due
	if due > 0 && r.still < stuckAfter {
		return r // what goes already may be enough
	}
	if places := max(0, min(r.places, eligible)-1-eligible/fewOf); places != r.places {
		r.places, r.still = places, 0
	}
	return r
}

// pressed reports whether want of space lets images of a rule go.
func (s *space) pressed(id policy.RuleID) bool {
	_, pressed := s.room[id]
	return pressed
}

// bound gives policies whose rules leave as much room as was measured, or less if they say so.
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
			room, pressed := s.room[r.ID]
			if !pressed || !room.isFor(p, r) {
				continue
			}
			bounded := *r
			bounded.Capacity = policy.Capacity{Bounded: true, Max: room.places}
			if r.Capacity.Bounded {
				bounded.Capacity.Max = min(room.places, r.Capacity.Max)
			}
			own.Rules[k] = &bounded
		}
		all[i] = &own
	}
	return all
}
