// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// estimates predict which images the rules that delete nothing would remove to free disk space: dry runs, and rules without
// approval. These rules free no space that the agent could measure, so it adds up the sizes that the runtime reports.
type estimates struct {
	now   time.Time
	rules map[policy.RuleID]*estimate
}

// estimate has the eligible images of one rule.
type estimate struct{ images []estimated }

type estimated struct {
	policy.Candidate
	bytes int64 // 0 if the image would be kept
}

// newEstimates returns empty estimates for the rules of a snapshot.
func newEstimates(snapshot *policy.Snapshot, now time.Time) *estimates {
	e := &estimates{now: now, rules: map[policy.RuleID]*estimate{}}
	for _, p := range snapshot.Policies() {
		for _, r := range p.Rules {
			if r.Images.HasThresholds && !acts(p, r) {
				e.rules[r.ID] = &estimate{}
			}
		}
	}
	return e
}

// add adds an image with the evaluations of all rules.
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
		supposed[i].Rank.Excess = true
		if policy.Forecast(s, supposed, evaluations[i].Rule.ID.Policy, e.now).Action == policy.Delete {
			image.bytes = evaluations[i].Facts.Size.Bytes
		}
		of.images = append(of.images, image)
	}
}

// places returns how many images may stay so that the removal of the others frees that many bytes. The images unused for
// longest go first.
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
