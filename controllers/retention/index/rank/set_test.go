// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index/rank"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestLatestStringIsHeld: an earlier string may be part of a text that would stay in memory with it.
func TestLatestStringIsHeld(t *testing.T) {
	s := rank.New(policy.Ranking{})
	for _, start := range []int{0, 0, 1} {
		uid := types.UID(strings.Clone("uid"))
		if s.Put(policy.Candidate{UID: uid, Start: starts[start]}); !s.Holds(uid) {
			t.Errorf("the set holds a string of an earlier call")
		}
	}
}

func TestSetReadsAllowancesWhenNeeded(t *testing.T) {
	asked := 0
	ranking := policy.Ranking{Allowance: func(string) policy.Allowance {
		asked++
		return policy.Allowance{Keep: asked}
	}}
	s := rank.New(ranking)
	steps := []struct {
		name    string
		do      func() []types.UID
		asked   int
		changed []types.UID
	}{
		{"without members, the same ranking again", func() []types.UID { return s.Use(ranking) }, 0, nil},
		{"the first member", func() []types.UID { return s.Put(policy.Candidate{Namespace: "a", UID: "1"}) }, 1, []types.UID{"1"}},
		{"one more", func() []types.UID { return s.Put(policy.Candidate{Namespace: "a", UID: "2"}) }, 1, nil},
		{"the same member again", func() []types.UID { return s.Put(policy.Candidate{Namespace: "a", UID: "2"}) }, 1, nil},
		{"remove an unknown member", func() []types.UID { return s.Remove("3") }, 1, nil},
		{"the same ranking again", func() []types.UID { return s.Use(ranking) }, 2, []types.UID{"2"}},
		{"remove a member", func() []types.UID { return s.Remove("2") }, 2, []types.UID{"2"}},
	}
	for _, step := range steps {
		expect.Equal(t, step.name, step.changed, step.do())
		if asked != step.asked {
			t.Errorf("%s: Allowance was called %d times, want %d", step.name, asked, step.asked)
		}
	}
}
