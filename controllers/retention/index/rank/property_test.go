// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index/rank"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	runs  = 25
	calls = 1500
)

var (
	now        = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	namespaces = []string{"a", "b", "c", "d", "e"}
	// starts has few values, so that many are equal, and includes the limits of a time.
	starts = []time.Time{{}, now, now.Add(1), now.Add(time.Second), now.Add(time.Hour), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)}
)

// TestSetIsWhatPolicyRanks makes random calls and compares the whole result after each.
func TestSetIsWhatPolicyRanks(t *testing.T) {
	for seed := range int64(runs) {
		r := rand.New(rand.NewSource(seed))
		w := newModel()
		for i := range calls {
			call, changed := w.random(r)
			if diff := w.check(changed); diff != "" {
				t.Fatalf("seed %d, call %d: %s\n-want +got\n%s", seed, i, call, diff)
			}
			if err := w.Consistent(); err != nil {
				t.Fatalf("seed %d, call %d: %s: %v", seed, i, call, err)
			}
		}
	}
}

// check compares the set with policy.Ranking; the result is empty if they are equal.
func (w *model) check(changed []types.UID) string {
	type all struct {
		Standings map[types.UID]policy.RankResult
		Changed   []types.UID
		Len       int
	}
	want, got := all{Len: len(w.members), Standings: w.want()}, all{Len: w.Len(), Standings: w.got()}
	want.Changed, got.Changed = w.differing(want.Standings), slices.Sorted(slices.Values(changed))
	w.before = want.Standings
	if reflect.DeepEqual(want, got) { // cmp.Diff is slow
		return ""
	}
	return cmp.Diff(want, got)
}

// random makes one random call. The number of members rises and falls, so that namespaces become empty and fill again.
func (w *model) random(r *rand.Rand) (call string, changed []types.UID) {
	uid := types.UID(fmt.Sprint(r.Intn(60)))
	namespace := namespaces[r.Intn(len(namespaces))]
	switch n := r.Intn(100); {
	case n < 40:
		m := randomMember(r, uid, namespace)
		return fmt.Sprintf("put %+v", m), w.put(m)
	case n < 55:
		m, known := w.members[uid]
		if !known {
			m = policy.Candidate{UID: uid, Namespace: namespace}
		}
		m.Start = starts[r.Intn(len(starts))]
		return fmt.Sprintf("another start %+v", m), w.put(m)
	case n < 84:
		return fmt.Sprintf("remove %s", uid), w.remove(uid)
	case n < 94:
		room := randomAllowance(r)
		return fmt.Sprintf("room of %s %+v", namespace, room), w.setAllowance(namespace, room)
	case n < 98 && w.fair.Bounded:
		fair := policy.AtMost(r.Intn(50) - 1)
		return fmt.Sprintf("fair %+v", fair), w.setFair(fair)
	default:
		for _, namespace := range namespaces {
			w.allowances[namespace] = randomAllowance(r)
		}
		fair := randomLimit(r, 50)
		return fmt.Sprintf("rooms %+v, fair %+v", w.allowances, fair), w.setFair(fair)
	}
}

func randomMember(r *rand.Rand, uid types.UID, namespace string) policy.Candidate {
	group := []string{"", "", "x", "y"}[r.Intn(4)]
	return policy.Candidate{
		Namespace: namespace, Group: group, Also: also[r.Intn(len(also))], Start: starts[r.Intn(len(starts))], UID: uid, Unknown: r.Intn(25) == 0,
	}
}

// also has further groups; most members have none.
var also = [][]string{nil, nil, nil, nil, nil, {"z"}, {"z1", "z2"}, {"z2"}}

func randomAllowance(r *rand.Rand) policy.Allowance {
	return policy.Allowance{Keep: r.Intn(6) - 1, Limit: randomLimit(r, 12)}
}

func randomLimit(r *rand.Rand, n int) policy.Limit {
	return policy.Limit{Max: r.Intn(n) - 1, Bounded: r.Intn(3) > 0}
}

func TestWayToAStateDoesNotMatter(t *testing.T) {
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		w := newModel()
		for _, namespace := range namespaces {
			w.allowances[namespace] = randomAllowance(r)
		}
		w.setFair(randomLimit(r, 50))
		for range 300 {
			w.random(r)
		}
		straight := rank.New(w.ranking())
		for _, uid := range slices.Collect(maps.Keys(w.members)) { // in random order
			straight.Put(w.members[uid])
		}
		for uid := range w.members {
			if diff := cmp.Diff(straight.Result(uid), w.Result(uid)); diff != "" {
				t.Fatalf("seed %d: %+v: -straight +roundabout\n%s", seed, w.members[uid], diff)
			}
		}
	}
}

// TestSetKeepsExpectedNumbers checks a set that keeps 2 of each group and 3 of each namespace after every call.
func TestSetKeepsExpectedNumbers(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	w := newModel()
	for _, namespace := range namespaces {
		w.allowances[namespace] = policy.Allowance{Keep: 2, Limit: policy.AtMost(3)}
	}
	for range 5000 {
		uid := types.UID(fmt.Sprint(r.Intn(40)))
		m := randomMember(r, uid, namespaces[r.Intn(len(namespaces))])
		m.Unknown, m.Also = false, nil
		if w.put(m); r.Intn(3) == 0 {
			w.remove(uid)
		}
		w.expectStaying(t, 2, 3)
	}
}

func (w *model) expectStaying(t *testing.T, keep, most int) {
	t.Helper()
	size, newest, all, stay := map[[2]string]int{}, map[[2]string]int{}, map[string]int{}, map[string]int{}
	for uid, m := range w.members {
		s, group := w.Result(uid), [2]string{m.Namespace, m.Group}
		size[group]++
		all[m.Namespace]++
		if s.Newest {
			newest[group]++
		}
		if !s.Excess {
			stay[m.Namespace]++
		}
	}
	for group, n := range size {
		if newest[group] != min(n, keep) {
			t.Fatalf("%v: %d of %d are newest", group, newest[group], n)
		}
	}
	for namespace, n := range all {
		if stay[namespace] != min(n, most) {
			t.Fatalf("%s: %d of %d stay", namespace, stay[namespace], n)
		}
	}
}
