// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index/rank"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/memory"
)

const (
	many           = 100_000
	manyNamespaces = 1_000
)

// mode is one kind of rule. About half of the members stay. Only keepNewest has groups.
type mode struct {
	policy.Ranking
	groups int
}

var modes = map[string]mode{
	"keepNewest":   {policy.Ranking{Allowance: func(string) policy.Allowance { return policy.Allowance{Keep: 5} }}, 10},
	"PerNamespace": {policy.Ranking{Allowance: func(string) policy.Allowance { return policy.Allowance{Limit: policy.AtMost(50)} }}, 1},
	"Fair":         {policy.Ranking{Fair: policy.AtMost(many / 2)}, 1},
}

// manyMembers are in an order that is independent of their starts.
func manyMembers(groups int) []policy.Candidate {
	members := make([]policy.Candidate, many)
	for i := range members {
		members[i] = policy.Candidate{
			Namespace: fmt.Sprintf("team-%03d", i%manyNamespaces),
			Group:     fmt.Sprintf("app-%d", i/manyNamespaces%groups),
			Start:     now.Add(time.Duration(i*7919%many) * time.Second),
			UID:       types.UID(fmt.Sprintf("6f1d7a64-3c1e-4f0b-9a55-%012x", i)),
		}
	}
	return members
}

func fullSet(ranking policy.Ranking, members []policy.Candidate) *rank.Set {
	s := rank.New(ranking)
	for _, m := range members {
		s.Put(m)
	}
	return s
}

// inEachMode runs a benchmark on a full set of each mode.
func inEachMode(b *testing.B, run func(b *testing.B, s *rank.Set, members []policy.Candidate)) {
	for name, mode := range modes {
		b.Run(name, func(b *testing.B) {
			members := manyMembers(mode.groups)
			s := fullSet(mode.Ranking, members)
			b.ReportAllocs()
			run(b, s, members)
		})
	}
}

// BenchmarkAdd adds members to a set that is nearly full.
func BenchmarkAdd(b *testing.B) {
	inEachMode(b, func(b *testing.B, s *rank.Set, members []policy.Candidate) {
		inRounds(b, members, func(m policy.Candidate) { s.Remove(m.UID) }, func(m policy.Candidate) { s.Put(m) })
	})
}

// BenchmarkRemove removes members from a full set.
func BenchmarkRemove(b *testing.B) {
	inEachMode(b, func(b *testing.B, s *rank.Set, members []policy.Candidate) {
		inRounds(b, members, func(m policy.Candidate) { s.Put(m) }, func(m policy.Candidate) { s.Remove(m.UID) })
	})
}

// inRounds runs work on some members at a time. It does not measure prepare.
func inRounds(b *testing.B, members []policy.Candidate, prepare, work func(policy.Candidate)) {
	const round = many / 20
	b.ResetTimer()
	for i := range b.N {
		if i%round == 0 {
			b.StopTimer()
			some := members[:min(round, b.N-i)]
			for _, m := range some {
				prepare(m)
			}
			b.StartTimer()
		}
		work(members[i%round])
	}
}

// BenchmarkUpdate changes the start of a member.
func BenchmarkUpdate(b *testing.B) {
	inEachMode(b, func(b *testing.B, s *rank.Set, members []policy.Candidate) {
		for i := 0; b.Loop(); i++ {
			m := &members[i*31%many]
			m.Start = m.Start.Add(time.Hour)
			s.Put(*m)
		}
	})
}

// BenchmarkMemory reports the memory of a member, without the strings, which belong to its owner.
func BenchmarkMemory(b *testing.B) {
	for name, mode := range modes {
		b.Run(name, func(b *testing.B) {
			members := manyMembers(mode.groups)
			for b.Loop() {
				before := memory.Heap()
				s := fullSet(mode.Ranking, members)
				b.ReportMetric(float64(memory.Heap()-before)/many, "bytes/member")
				runtime.KeepAlive(s)
			}
		})
	}
}
