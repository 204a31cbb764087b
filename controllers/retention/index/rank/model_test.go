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

// ranking uses the current rooms: the set must not use a changed room before Review or Use.
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
	return w.Review(namespace)
}

func (w *model) setFair(fair policy.Limit) []types.UID {
	w.fair = fair
	return w.Use(w.ranking())
}

// want returns the results of policy.Ranking: the rank results that are not zero, and the excess of each namespace.
func (w *model) want() (standings map[types.UID]policy.RankResult, excess map[string]int) {
	standings, excess = map[types.UID]policy.RankResult{}, map[string]int{}
	members := slices.Collect(maps.Values(w.members))
	for i, s := range w.ranking().Rank(members) {
		if s != (policy.RankResult{}) {
			standings[members[i].UID] = s
		}
		if s.Excess {
			excess[members[i].Namespace]++
		}
	}
	return standings, excess
}

// got returns the results of the set.
func (w *model) got(namespaces []string) (standings map[types.UID]policy.RankResult, excess map[string]int) {
	standings, excess = map[types.UID]policy.RankResult{}, map[string]int{}
	for uid := range w.members {
		if s := w.Result(uid); s != (policy.RankResult{}) {
			standings[uid] = s
		}
	}
	for _, namespace := range namespaces {
		if n := w.ExcessIn(namespace); n > 0 {
			excess[namespace] = n
		}
	}
	return standings, excess
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
