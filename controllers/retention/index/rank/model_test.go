// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index/rank"
	"github.com/sunset-k8s/sunset/policy"
)

// model is a set, with a copy of its input. policy.Ranking ranks the copy again after every call.
type model struct {
	*rank.Set
	members    map[types.UID]policy.Candidate
	allowances map[string]policy.Allowance
	fair       policy.Limit
	before     map[types.UID]policy.RankResult // rank results that are not zero
}

func newModel() *model {
	w := &model{members: map[types.UID]policy.Candidate{}, allowances: map[string]policy.Allowance{}}
	w.Set = rank.New(w.ranking())
	return w
}

// ranking uses the current rooms: the set must not use a changed room before Use.
func (w *model) ranking() policy.Ranking {
	return policy.Ranking{Fair: w.fair, Allowance: func(namespace string) policy.Allowance { return w.allowances[namespace] }}
}

func (w *model) put(m policy.Candidate) []types.UID {
	if w.members[m.UID] = m; m.Unknown {
		delete(w.members, m.UID)
	}
	return w.Put(m)
}

func (w *model) remove(uid types.UID) []types.UID {
	delete(w.members, uid)
	return w.Remove(uid)
}

func (w *model) setAllowance(namespace string, room policy.Allowance) []types.UID {
	w.allowances[namespace] = room
	return w.Use(w.ranking())
}

func (w *model) setFair(fair policy.Limit) []types.UID {
	w.fair = fair
	return w.Use(w.ranking())
}

// want returns the results of policy.Ranking that are not zero.
func (w *model) want() map[types.UID]policy.RankResult {
	standings := map[types.UID]policy.RankResult{}
	members := slices.Collect(maps.Values(w.members))
	for i, s := range w.ranking().Rank(members) {
		if s != (policy.RankResult{}) {
			standings[members[i].UID] = s
		}
	}
	return standings
}

// got returns the rank results of the set that are not zero.
func (w *model) got() map[types.UID]policy.RankResult {
	standings := map[types.UID]policy.RankResult{}
	for uid := range w.members {
		if s := w.Result(uid); s != (policy.RankResult{}) {
			standings[uid] = s
		}
	}
	return standings
}

// differing returns the members whose rank result has changed, sorted.
func (w *model) differing(now map[types.UID]policy.RankResult) []types.UID {
	var differ []types.UID
	for uid, s := range now {
		if w.before[uid] != s {
			differ = append(differ, uid)
		}
	}
	for uid := range w.before {
		if _, ok := now[uid]; !ok {
			differ = append(differ, uid)
		}
	}
	slices.Sort(differ)
	return differ
}
