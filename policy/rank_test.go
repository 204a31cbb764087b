// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// candidates reads words such as a/x5: namespace a, group x and minute 5. The UIDs are in the order of the words. Minute "?" means
// unknown facts.
func candidates(words string) []policy.Candidate {
	var all []policy.Candidate
	for i, word := range strings.Fields(words) {
		namespace, rest, _ := strings.Cut(word, "/")
		m := policy.Candidate{Namespace: namespace, Group: rest[:1], UID: types.UID(fmt.Sprint(i))}
		if rest[1:] == "?" {
			m.Unknown = true
		} else {
			m.Start = now.Add(time.Duration(rest[1]-'0') * time.Minute)
		}
		all = append(all, m)
	}
	return all
}

// letters shows results: N newest, E excess, B both, - neither.
func letters(results []policy.RankResult) string {
	var b strings.Builder
	for _, s := range results {
		b.WriteByte(map[policy.RankResult]byte{{}: '-', {Newest: true}: 'N', {Excess: true}: 'E', {Newest: true, Excess: true}: 'B'}[s])
	}
	return b.String()
}

// allowances gives each namespace the same allowance, except the named ones.
func allowances(all policy.Allowance, others map[string]policy.Allowance) func(string) policy.Allowance {
	return func(namespace string) policy.Allowance {
		if other, ok := others[namespace]; ok {
			return other
		}
		return all
	}
}

func TestRank(t *testing.T) {
	keep := func(n int) policy.Ranking {
		return policy.Ranking{Allowance: allowances(policy.Allowance{Keep: n}, nil)}
	}
	limit := func(n int) policy.Ranking {
		return policy.Ranking{Allowance: allowances(policy.Allowance{Limit: policy.AtMost(n)}, nil)}
	}
	fair := func(n int) policy.Ranking { return policy.Ranking{Fair: policy.AtMost(n)} }
	tests := map[string]struct {
		ranking policy.Ranking
		members string
		want    string
	}{
		"no candidate":                               {keep(1), "", ""},
		"the zero value":                             {policy.Ranking{}, "a/x1 a/x2 a/x?", "---"},
		"the newest":                                 {keep(1), "a/x1 a/x3 a/x2", "-N-"},
		"more places than candidates":                {keep(5), "a/x1 a/x2", "NN"},
		"a negative count":                           {keep(-1), "a/x1", "-"},
		"the lower UID of two with the same start":   {keep(1), "a/x1 a/x1", "N-"},
		"each group separately":                      {keep(1), "a/x1 a/x2 a/y1", "-NN"},
		"groups do not cross namespaces":             {keep(1), "a/x1 b/x2", "NN"},
		"another count in one namespace":             {policy.Ranking{Allowance: allowances(policy.Allowance{Keep: 1}, map[string]policy.Allowance{"b": {Keep: 2}})}, "a/x1 a/x2 b/x1 b/x2", "-NNN"},
		"an unknown candidate keeps no other":        {keep(1), "a/x1 a/x2 a/y1 a/y2 b/x1 b/x2 a/z? a/x?", "-N-N-N--"},
		"a count of 0 keeps no candidate":            {keep(0), "a/x1 a/x?", "--"},
		"the oldest above a limit":                   {limit(2), "a/x1 a/x2 a/x3", "E--"},
		"the higher UID of two with the same start":  {limit(1), "a/x1 a/x1", "-E"},
		"a limit counts all groups":                  {limit(1), "a/x1 a/y2", "E-"},
		"a limit counts each namespace separately":   {limit(1), "a/x1 b/x2", "--"},
		"a limit of 0":                               {limit(0), "a/x1 b/x2", "EE"},
		"a negative limit":                           {limit(-1), "a/x1", "E"},
		"no limit in one namespace":                  {policy.Ranking{Allowance: allowances(policy.Allowance{}, map[string]policy.Allowance{"a": {Limit: policy.AtMost(1)}})}, "a/x1 a/x2 b/x1 b/x2", "E---"},
		"an unknown candidate takes no place":        {limit(1), "a/x1 a/x?", "--"},
		"newest and excess":                          {policy.Ranking{Allowance: allowances(policy.Allowance{Keep: 2, Limit: policy.AtMost(1)}, nil)}, "a/x1 a/x2 a/x0", "BNE"},
		"fair: enough for all":                       {fair(3), "a/x1 a/x2 b/x1", "---"},
		"fair: the largest namespace has the excess": {fair(3), "a/x7 a/x8 a/x9 b/x1", "E---"},
		"fair: its oldest first":                     {fair(2), "a/x8 a/x7 a/x9 b/x1", "EE--"},
		"fair: the same number from each":            {fair(2), "a/x1 a/x2 b/x3 b/x4", "E-E-"},
		"fair: the odd place goes to the first":      {fair(3), "b/x3 b/x4 a/x1 a/x2", "E---"},
		"fair: unused places go to the others":       {fair(5), "a/x1 b/x1 b/x2 b/x3 c/x1 c/x2 c/x3", "-E--E--"},
		"fair: fewer places than namespaces":         {fair(1), "b/x9 a/x1", "E-"},
		"fair: a limit of 0":                         {fair(0), "a/x1 b/x1", "EE"},
		"fair: a negative limit":                     {fair(-1), "a/x1", "E"},
		"fair: an unknown candidate takes no place":  {fair(1), "a/x? b/x1 b/x?", "---"},
		"fair: limits of namespaces are ignored":     {policy.Ranking{Fair: policy.AtMost(2), Allowance: allowances(policy.Allowance{Limit: policy.AtMost(0)}, nil)}, "a/x1 a/x2", "--"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "letters", test.want, letters(test.ranking.Rank(candidates(test.members))))
		})
	}
}

func randomCandidates(r *rand.Rand) []policy.Candidate {
	all := make([]policy.Candidate, r.Intn(30))
	for i := range all {
		all[i] = policy.Candidate{
			Namespace: string(rune('a' + r.Intn(4))), Group: string(rune('x' + r.Intn(2))),
			Start: now.Add(time.Duration(r.Intn(5)) * time.Minute), UID: types.UID(fmt.Sprint(i)), Unknown: r.Intn(40) == 0,
		}
	}
	return all
}

func randomRanking(r *rand.Rand) policy.Ranking {
	limit := func(n int) policy.Limit { return policy.Limit{Max: r.Intn(n), Bounded: r.Intn(2) == 0} }
	others := map[string]policy.Allowance{"a": {Keep: r.Intn(4), Limit: limit(8)}}
	return policy.Ranking{Allowance: allowances(policy.Allowance{Keep: r.Intn(4), Limit: limit(8)}, others), Fair: limit(30)}
}

// TestRankKeepsWhatItPromises counts the results: as many newest as possible, and excess only above the limit.
func TestRankKeepsWhatItPromises(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range rounds() {
		all, ranking := randomCandidates(r), randomRanking(r)
		results := ranking.Rank(all)
		size, newest, stay, known := map[[2]string]int{}, map[[2]string]int{}, map[string]int{}, map[string]int{}
		total, stayInAll := 0, 0
		for i, m := range all {
			if m.Unknown {
				continue
			}
			group := [2]string{m.Namespace, m.Group}
			size[group]++
			known[m.Namespace]++
			total++
			if results[i].Newest {
				newest[group]++
			}
			if !results[i].Excess {
				stay[m.Namespace]++
				stayInAll++
			}
		}
		for group, n := range size {
			want := min(n, ranking.In(group[0]).Keep)
			if newest[group] != want {
				t.Fatalf("%v: %d of %d are newest, want %d", group, newest[group], n, want)
			}
		}
		if ranking.Fair.Bounded {
			if want := min(total, ranking.Fair.Max); stayInAll != want {
				t.Fatalf("%d of %d are kept, want %d", stayInAll, total, want)
			}
			checkFair(t, known, stay)
			continue
		}
		for namespace, n := range known {
			if want := min(n, ranking.In(namespace).Limit.Places()); stay[namespace] != want {
				t.Fatalf("%s: %d of %d are kept, want %d", namespace, stay[namespace], n, want)
			}
		}
	}
}

// TestUnknownMemberMakesNoOtherNewest: unknown facts of one candidate never keep another. Facts that become known can make a
// candidate ineligible, or add it to any groups with any start. The newest are then always among the newest without it.
func TestUnknownMemberMakesNoOtherNewest(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	resolved := 0
	for range rounds() {
		all, ranking := randomCandidates(r), randomRanking(r)
		before := map[types.UID]policy.RankResult{}
		for i, s := range ranking.Rank(all) {
			before[all[i].UID] = s
		}
		var then []policy.Candidate
		unknown := map[types.UID]bool{}
		for _, m := range all {
			if m.Unknown {
				unknown[m.UID] = true
				if r.Intn(3) == 0 {
					continue // not eligible
				}
				m.Unknown, m.Start = false, now.Add(time.Duration(r.Intn(7)-1)*time.Minute)
				m.Group, m.Also = string(rune('w'+r.Intn(4))), [][]string{nil, {"y"}, {"y", "z"}}[r.Intn(3)]
			}
			then = append(then, m)
		}
		for i, s := range ranking.Rank(then) {
			m := then[i]
			if s.Newest && !unknown[m.UID] && !before[m.UID].Newest {
				t.Fatalf("%+v is among the newest only after others became known", m)
			}
		}
		resolved += len(unknown)
	}
	if resolved == 0 {
		t.Error("no candidate was unknown")
	}
}

// checkFair: a namespace with excess keeps as many as any other, except for one odd place that goes to an earlier name.
func checkFair(t *testing.T, known, stay map[string]int) {
	t.Helper()
	for gave := range known {
		for other := range known {
			odd := 0
			if other < gave {
				odd = 1
			}
			if stay[gave] < known[gave] && stay[other] > stay[gave]+odd {
				t.Fatalf("%s keeps only %d of %d, but %s keeps %d", gave, stay[gave], known[gave], other, stay[other])
			}
		}
	}
}

func TestRankDoesNotDependOnTheOrder(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range rounds() / 10 {
		all, ranking := randomCandidates(r), randomRanking(r)
		want := map[types.UID]policy.RankResult{}
		for i, s := range ranking.Rank(all) {
			want[all[i].UID] = s
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		got := map[types.UID]policy.RankResult{}
		for i, s := range ranking.Rank(all) {
			got[all[i].UID] = s
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the order matters: -want +got\n%s", diff)
		}
	}
}

func TestRankKnowsAllYears(t *testing.T) {
	keepOne := policy.Ranking{Allowance: allowances(policy.Allowance{Keep: 1}, nil)}
	last := time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
	got := keepOne.Rank([]policy.Candidate{{UID: "first"}, {UID: "last", Start: last}, {UID: "earlier", Start: last.Add(-1)}})
	expect.Equal(t, "letters", "-N-", letters(got))
}

func TestPlaces(t *testing.T) {
	for limit, want := range map[policy.Limit]int{{}: math.MaxInt, {Max: 3}: math.MaxInt, policy.AtMost(3): 3, policy.AtMost(0): 0, policy.AtMost(-3): 0} {
		if got := limit.Places(); got != want {
			t.Errorf("%+v: %d places, want %d", limit, got, want)
		}
	}
}
