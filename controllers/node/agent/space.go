// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"math"
	"math/bits"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// usageOf converts the numbers of the kernel to those in reports.
func usageOf(blocks, available, size uint64) v1alpha1.NodeImageFilesystem {
	capacity, free := clamp(blocks, size), clamp(min(available, blocks), size)
	usage := v1alpha1.NodeImageFilesystem{CapacityBytes: capacity, UsedBytes: capacity - free}
	if blocks > 0 {
		high, low := bits.Mul64(min(available, blocks), 100) // some filesystems report more than 2^64/100 blocks
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

// space is how many eligible images may stay, for each rule with thresholds. Of the others, those unused for longest are
// removed first. The zero value sets no limit.
type space struct {
	room map[policy.RuleID]room
}

// room is how many images of a rule may stay.
type room struct {
	key       string // of the rule that was measured, which may have changed
	places    int
	due       int  // number of due images at the last measurement
	still     int  // measurements since that number last fell
	estimated bool // for a rule that deletes nothing: must not cause a deletion
}

// same reports whether two rooms have the same effect on the same rule.
func (r room) same(o room) bool {
	return r.key == o.key && r.places == o.places && r.estimated == o.estimated
}

// isFor reports whether the room is for the current version of a rule. An estimate is not for a rule that deletes images.
func (r room) isFor(p *policy.Policy, rule *policy.Rule) bool {
	return r.key == rule.Key && !(r.estimated && acts(p, rule))
}

// acts reports whether a rule deletes images: it is enforced, and approved if necessary.
func acts(p *policy.Policy, r *policy.Rule) bool {
	return r.Mode == v1alpha1.Enforce && !p.Gate.Covers("", r.ID.Rule)
}

const (
	// fewOf is the divisor of the number of images that may be removed between two measurements.
	fewOf = 50
	// stuckAfter is the number of measurements without progress after which more images may be removed: it may be impossible to
	// remove the due ones.
	stuckAfter = 10
)

// counted is the counts of the images of a rule.
type counted struct {
	eligible, due int
	estimate      *estimate // for a rule that deletes nothing; nil for any other
	waits         bool      // nothing may be removed now, so that a usage that stays high says nothing
}

// measure takes the disk usage and the counts of each rule. When the usage reaches the high threshold of a rule, a few images
// fewer may stay than exist. While the low threshold is not reached, the number falls again with each measurement that finds no
// due images, unless none may be removed. For a rule that deletes nothing the number is an estimate. measure reports whether anything changes, and whether
// removals are in progress.
func (s *space) measure(rules []*policy.Rule, usage v1alpha1.NodeImageFilesystem, count func(*policy.Rule) counted) (changed, going bool) {
	next := map[policy.RuleID]room{}
	for _, r := range rules {
		used := int(usage.UsedPercent)
		before, pressed := s.room[r.ID]
		if !r.Images.HasThresholds || used <= r.Images.Low || !pressed && used < r.Images.High {
			continue
		}
		of := count(r)
		var now room
		switch {
		case of.estimate != nil:
			now = room{places: of.estimate.places(usage.CapacityBytes / 100 * int64(used-r.Images.Low)), estimated: true}
		case !pressed, before.estimated, before.key != r.Key:
			now = room{places: of.eligible}.after(of.eligible, of.due)
		case of.waits:
			now = before
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

// after returns the room after one more measurement.
func (r room) after(eligible, due int) room {
	if due > 0 && due >= r.due {
		r.still++
	} else {
		r.still = 0
	}
	r.due = due
	if due > 0 && r.still < stuckAfter {
		return r // the due images may be enough
	}
	if places := max(0, min(r.places, eligible)-1-eligible/fewOf); places != r.places {
		r.places, r.still = places, 0
	}
	return r
}

// pressed reports whether images of a rule are removed to free disk space.
func (s *space) pressed(id policy.RuleID) bool {
	_, pressed := s.room[id]
	return pressed
}

// bound returns policies whose rules are limited to the measured room, or to their own capacity if it is smaller.
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
