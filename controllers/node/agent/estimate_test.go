// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var estimatedAt = fixture.Now

// TestEstimate has five images of ten bytes: image n is n hours old.
func TestEstimate(t *testing.T) {
	other := &policy.Rule{ID: policy.RuleID{Policy: "q", Rule: "keep"}, Mode: v1alpha1.Suspend, Kind: v1alpha1.ImageKind, TTL: time.Hour}
	for name, test := range map[string]struct {
		change func(image int, s *policy.Subject, own, other *policy.Evaluation)
		bytes  int64
		places int
	}{
		"no bytes":                            {nil, 0, 5},
		"part of an image":                    {nil, 1, 4},
		"one image":                           {nil, 10, 4},
		"more than one image":                 {nil, 11, 3},
		"more than all images":                {nil, 1000, 0},
		"the oldest image is in use":          {func(n int, s *policy.Subject, _, _ *policy.Evaluation) { set(&s.Flags, n == 5, policy.IsInUse) }, 10, 3},
		"another rule keeps the oldest image": {func(n int, _ *policy.Subject, _, o *policy.Evaluation) { o.Facts.Selected = n == 5 }, 10, 3},
		"the rule keeps the oldest image as one of the newest": {func(n int, _ *policy.Subject, r, _ *policy.Evaluation) { r.Rank.Newest = n == 5 }, 10, 3},
		"the oldest image is not eligible":                     {func(n int, _ *policy.Subject, r, _ *policy.Evaluation) { r.Facts.Eligible = n != 5 }, 10, 3},
		"all images are too young": {func(_ int, _ *policy.Subject, r, _ *policy.Evaluation) {
			r.Facts.FirstSeen = estimatedAt
		}, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rule := thresholds(85, 80)
			rule.Mode, rule.TTL, rule.Images.MinAge = v1alpha1.DryRun, policy.Week, time.Minute
			snapshot := policy.NewSnapshot([]*policy.Policy{{Name: "p", Rules: []*policy.Rule{rule}}}, nil, policy.Protection{})
			e := newEstimates(snapshot, estimatedAt)
			for n := 1; n <= 5; n++ {
				start := estimatedAt.Add(-time.Duration(n) * time.Hour)
				facts := policy.Facts{Selected: true, Eligible: true, Start: start, FirstSeen: start, Size: policy.Size{Bytes: 10}}
				s := policy.Subject{Name: fmt.Sprint(n), UID: types.UID(fmt.Sprint(n)), Created: start}
				evaluations := []policy.Evaluation{{Rule: rule, Facts: facts, Known: true}, {Rule: other, Facts: facts, Known: true}}
				evaluations[1].Facts.Selected = false
				if test.change != nil {
					test.change(n, &s, &evaluations[0], &evaluations[1])
				}
				e.add(s, evaluations)
				if evaluations[0].Rank.Excess {
					t.Fatal("the evaluations were changed")
				}
			}
			expect.Equal(t, "may stay", test.places, e.rules[rule.ID].places(test.bytes))
		})
	}
}

func set(flags *policy.Flags, is bool, flag policy.Flags) {
	if is {
		*flags |= flag
	}
}

// TestEstimatesOnlyForRulesThatDeleteNothing: only rules that delete nothing have an estimate, and no image is deleted by an
// estimate.
func TestEstimatesOnlyForRulesThatDeleteNothing(t *testing.T) {
	for name, test := range map[string]struct {
		mode      v1alpha1.Mode
		gate      *policy.ApprovalGate
		estimated bool
	}{
		"a dry run":                      {v1alpha1.DryRun, nil, true},
		"suspended":                      {v1alpha1.Suspend, nil, true},
		"in force":                       {v1alpha1.Enforce, nil, false},
		"not approved":                   {v1alpha1.Enforce, &policy.ApprovalGate{}, true},
		"another rule is not approved":   {v1alpha1.Enforce, &policy.ApprovalGate{Rules: sets.New("other")}, false},
		"only this rule is not approved": {v1alpha1.Enforce, &policy.ApprovalGate{Rules: sets.New("space")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			rule := thresholds(85, 80)
			rule.Mode = test.mode
			policies := []*policy.Policy{{Name: "p", Rules: []*policy.Rule{rule}, Gate: test.gate}}
			e := newEstimates(policy.NewSnapshot(policies, nil, policy.Protection{}), estimatedAt)
			if _, got := e.rules[rule.ID]; got != test.estimated {
				t.Errorf("estimated: %t", got)
			}
			s := space{room: map[policy.RuleID]room{rule.ID: {places: 7, estimated: true}}}
			expect.Equal(t, "bound by an estimate", test.estimated, s.bound(policies)[0].Rules[0].Capacity.Bounded)
		})
	}
}
