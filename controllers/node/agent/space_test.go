// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"math"
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func thresholds(high, low int) *policy.Rule {
	return &policy.Rule{
		ID:     policy.RuleID{Policy: "p", Rule: "space"},
		Kind:   v1alpha1.ImageKind,
		Images: policy.Images{HasThresholds: true, High: high, Low: low},
	}
}

// TestSpace follows the usage of a filesystem from below the high threshold until it reaches the low one.
func TestSpace(t *testing.T) {
	rule := thresholds(85, 80)
	type step struct {
		used          int32
		eligible, due int
		room          int // -1 means no limit
		changed       bool
	}
	tests := map[string][]step{
		"below the high threshold":            {{84, 100, 0, -1, false}, {81, 100, 0, -1, false}},
		"from the high to the low threshold":  {{85, 100, 0, 97, true}, {84, 97, 0, 95, true}, {81, 95, 0, 93, true}, {80, 93, 0, -1, true}, {84, 93, 0, -1, false}},
		"the due images may be enough":        {{90, 100, 0, 97, true}, {90, 100, 3, 97, false}, {90, 97, 0, 95, true}},
		"images are due because of their age": {{90, 100, 7, 100, true}, {90, 93, 0, 91, true}},
		"few images":                          {{90, 2, 0, 1, true}, {90, 1, 0, 0, true}, {90, 0, 0, 0, false}},
		"the other images cannot be removed":  {{90, 3, 0, 2, true}, {90, 3, 0, 1, true}, {90, 3, 0, 0, true}, {90, 3, 0, 0, false}},
		"one of the due images cannot be removed": {
			{90, 100, 0, 97, true}, {90, 100, 1, 97, false}, {90, 100, 1, 97, false}, {90, 100, 1, 97, false}, {90, 100, 1, 97, false}, {90, 100, 1, 97, false},
			{90, 100, 1, 97, false}, {90, 100, 1, 97, false}, {90, 100, 1, 97, false}, {90, 100, 1, 97, false}, {90, 100, 1, 94, true},
		},
		"the usage becomes unknown": {{90, 100, 0, 97, true}, {0, 100, 0, -1, true}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			s := space{}
			for i, step := range steps {
				changed, _ := s.measure([]*policy.Rule{rule}, v1alpha1.NodeImageFilesystem{UsedPercent: step.used},
					func(*policy.Rule) counted { return counted{eligible: step.eligible, due: step.due} })
				room := s.room[rule.ID].places
				if !s.pressed(rule.ID) {
					room = -1
				}
				if room != step.room || changed != step.changed {
					t.Fatalf("measure %d: room %d, changed %t, want %d, %t", i+1, room, changed, step.room, step.changed)
				}
			}
		})
	}
}

// TestClosedWindowMakesNoMoreImagesDue: outside of its windows a rule removes nothing, so the usage stays high. At the opening, it removes a
// few images between two measurements as usual.
func TestClosedWindowMakesNoMoreImagesDue(t *testing.T) {
	rule := thresholds(85, 80)
	s := space{}
	measure := func(waits bool) int {
		s.measure([]*policy.Rule{rule}, v1alpha1.NodeImageFilesystem{UsedPercent: 90}, func(*policy.Rule) counted { return counted{eligible: 100, waits: waits} })
		return s.room[rule.ID].places
	}
	expect.Equal(t, "room when the window is closed", []int{97, 97, 97}, []int{measure(true), measure(true), measure(true)})
	expect.Equal(t, "room when it is open", []int{94, 91}, []int{measure(false), measure(false)})
}

func TestRulesAreBoundByTheSpace(t *testing.T) {
	rule, other := thresholds(85, 80), &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "age"}}
	s := space{room: map[policy.RuleID]room{rule.ID: {places: 7}}}
	written := []*policy.Policy{{Name: "p", Rules: []*policy.Rule{rule, other}}}
	bound := s.bound(written)[0].Rules
	if want := (policy.Capacity{Bounded: true, Max: 7}); bound[0].Capacity != want || bound[1] != other {
		t.Errorf("bound to %+v and %+v", bound[0].Capacity, bound[1].Capacity)
	}
	if rule.Capacity.Bounded {
		t.Error("the rule itself was changed")
	}
}

// TestRoomIsForTheRuleThatWasMeasured: the room is only for the version of the rule that was measured, and never exceeds the
// rule's own capacity.
func TestRoomIsForTheRuleThatWasMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		key  string
		own  policy.Capacity
		want policy.Capacity
	}{
		"the same rule":        {"k", policy.Capacity{}, policy.Capacity{Bounded: true, Max: 7}},
		"a smaller capacity":   {"k", policy.Capacity{Bounded: true, Max: 3}, policy.Capacity{Bounded: true, Max: 3}},
		"a larger capacity":    {"k", policy.Capacity{Bounded: true, Max: 30}, policy.Capacity{Bounded: true, Max: 7}},
		"the rule has changed": {"l", policy.Capacity{}, policy.Capacity{}},
	} {
		t.Run(name, func(t *testing.T) {
			rule := thresholds(85, 80)
			rule.Mode, rule.Key, rule.Capacity = v1alpha1.Enforce, test.key, test.own
			s := space{room: map[policy.RuleID]room{rule.ID: {key: "k", places: 7}}}
			if got := s.bound([]*policy.Policy{{Name: "p", Rules: []*policy.Rule{rule}}})[0].Rules[0].Capacity; got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			s.measure([]*policy.Rule{rule}, v1alpha1.NodeImageFilesystem{UsedPercent: 90}, func(*policy.Rule) counted { return counted{eligible: 100} })
			if got, want := s.room[rule.ID].places, map[string]int{"k": 4, "l": 97}[test.key]; got != want {
				t.Errorf("after another measurement: %d, want %d", got, want)
			}
		})
	}
}

func TestUsageIsCountedAsTheKubeletDoes(t *testing.T) {
	for name, test := range map[string]struct {
		blocks, available, size uint64
		want                    v1alpha1.NodeImageFilesystem
	}{
		"a fifth is available":              {1000, 200, 4096, v1alpha1.NodeImageFilesystem{CapacityBytes: 4096000, UsedBytes: 3276800, UsedPercent: 80}},
		"a bit less than a fifth":           {1000, 199, 1, v1alpha1.NodeImageFilesystem{CapacityBytes: 1000, UsedBytes: 801, UsedPercent: 81}},
		"more bytes than an int64 holds":    {1 << 61, 1 << 60, 1 << 62, v1alpha1.NodeImageFilesystem{CapacityBytes: math.MaxInt64, UsedPercent: 50}},
		"the maximum number of blocks":      {math.MaxUint64, math.MaxUint64 - 1, 1, v1alpha1.NodeImageFilesystem{CapacityBytes: math.MaxInt64, UsedPercent: 1}},
		"no blocks":                         {0, 0, 4096, v1alpha1.NodeImageFilesystem{}},
		"more available blocks than blocks": {10, 11, 1, v1alpha1.NodeImageFilesystem{CapacityBytes: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := usageOf(test.blocks, test.available, test.size); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
