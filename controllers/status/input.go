// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// statusInput is the input for one round of statuses.
type statusInput struct {
	compiled     policyset.CompiledSnapshot
	kinds        map[schema.GroupKind]retention.KindState
	stats        *policy.Stats
	listed       map[policy.RuleID]bool // rules whose kind was listed completely during the count
	watched      map[policy.RuleID]bool // the same, although other policies may have been edited during the count: good only to be shown
	notInForce   sets.Set[types.UID]    // policies of which another generation was in force during the count
	warnings     func(key string) []policy.Problem
	permissions  func(*policy.Rule) (err error, known bool)
	allowed      map[types.UID]conditionState // results of permitted
	ledgers      map[types.UID]ledgers.State  // by policy
	nodes        nodesNow
	referred     map[references.Kind]referred // for the kinds whose references rules read
	referrers    []referrers.State
	archives     map[policy.RuleID]error      // why rules cannot archive
	delays       map[string][]retention.Delay // by policy
	throttled    map[string]sets.Set[string]  // by policy, the namespaces in which its deletions are throttled
	preflightErr error
	pace         float64 // maximum number of deletions per second; 0 for no maximum
	prices       *policy.Prices
	now          time.Time
	last         bool // this is the last round
}

// newStatusInput returns the input for the next count.
func newStatusInput(e policyset.CompiledSnapshot, kinds []retention.KindState, now time.Time) *statusInput {
	v := &statusInput{
		compiled: e, kinds: map[schema.GroupKind]retention.KindState{}, delays: map[string][]retention.Delay{},
		throttled: map[string]sets.Set[string]{}, allowed: map[types.UID]conditionState{}, now: now,
	}
	for _, k := range kinds {
		v.kinds[k.Index.Kind()] = k
		for _, namespace := range k.Throttled {
			for _, r := range e.Snapshot.Effective(k.Index.Kind(), namespace).Rules {
				if v.throttled[r.ID.Policy] == nil {
					v.throttled[r.ID.Policy] = sets.New[string]()
				}
				v.throttled[r.ID.Policy].Insert(namespace)
			}
		}
		if k.Delayed == 0 {
			continue
		}
		for _, d := range k.Delays(now) {
			v.delays[d.Policy] = append(v.delays[d.Policy], d)
		}
	}
	v.listed, v.watched, v.notInForce = v.listedNow()
	return v
}

// counted sets the result of the count. Rules whose kinds were not listed before the count, or are not listed now, were not
// counted completely.
func (v *statusInput) counted(stats *policy.Stats) {
	v.stats = stats
	listed, watched, notInForce := v.listedNow()
	maps.DeleteFunc(v.listed, func(id policy.RuleID, _ bool) bool { return !listed[id] })
	maps.DeleteFunc(v.watched, func(id policy.RuleID, _ bool) bool { return !watched[id] })
	v.notInForce = v.notInForce.Union(notInForce)
}

// listedNow returns the rules whose kind is listed completely: listed while exactly this snapshot is in force, and watched also while
// other policies differ. notInForce are the policies of which another generation is in force: Sunset may not be listing their kinds.
func (v *statusInput) listedNow() (listed, watched map[policy.RuleID]bool, notInForce sets.Set[types.UID]) {
	listed, watched, notInForce = map[policy.RuleID]bool{}, map[policy.RuleID]bool{}, sets.New[types.UID]()
	for _, p := range v.compiled.Snapshot.Policies() {
		for _, r := range p.Rules {
			k, ok := v.kinds[policy.StoredAs(r.Kind)]
			if !ok {
				continue
			}
			if k.Index.Has(v.compiled.Snapshot, r) {
				listed[r.ID] = true
			}
			inForce, known := k.Index.HasPolicy(p, r)
			if known {
				watched[r.ID] = true
			}
			if !inForce {
				notInForce.Insert(p.UID)
			}
		}
	}
	return listed, watched, notInForce
}
