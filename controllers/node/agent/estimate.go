package agent

import (
	"cmp"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// estimates are what would go for want of space by the rules that let nothing go, be it a dry run or that nobody has approved
// them. While nothing goes there is nothing to measure, so that the sizes must do which the runtime tells.
type estimates struct {
	now   time.Time
	weigh func(policy.Subject) int64
	rules map[policy.RuleID]*estimate
}

// estimate is the eligible images of one rule.
type estimate struct{ images []estimated }

type estimated struct {
	policy.Candidate
	bytes int64 // 0 for one that would stay
}

// newEstimates begins the estimates for the rules of a snapshot.
func newEstimates(snapshot *policy.Snapshot, now time.Time, weigh func(policy.Subject) int64) *estimates {
	e := &estimates{now: now, weigh: weigh, rules: map[policy.RuleID]*estimate{}}
	for _, p := range snapshot.Policies() {
		for _, r := range p.Rules {
			if r.Images.HasThresholds && !acts(p, r) {
				e.rules[r.ID] = &estimate{}
			}
		}
	}
	return e
}

// add takes an image with what all rules say about it.
func (e *estimates) add(s policy.Subject, evaluations []policy.Evaluation) {
	for i := range evaluations {
		of := e.rules[evaluations[i].Rule.ID]
		if of == nil {
			continue
		}
		member, ok := policy.CandidateOf(&s, &evaluations[i].Facts, evaluations[i].Known)
		if !ok || member.Unknown {
			continue
		}
		image := estimated{Candidate: member}
		supposed := slices.Clone(evaluations)
		supposed[i].Standing.Excess = true
		if policy.Forecast(s, supposed, evaluations[i].Rule.ID.Policy, e.now).Action == policy.Delete {
			image.bytes = e.weigh(s)
		}
		of.images = append(of.images, image)
	}
}

// places is how many of the images may stay so that the others come to so many bytes, those unused for longest first.
func (e *estimate) places(bytes int64) int {
	slices.SortFunc(e.images, func(a, b estimated) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.UID, a.UID)) })
	for n, image := range e.images {
		if bytes <= 0 {
			return len(e.images) - n
		}
		bytes -= image.bytes
	}
	return 0
}
