// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// storage adds up the sizes of the objects of a policy; nil if no rule gives sizes and no deleted object had one.
func (v *statusInput) storage(p *policy.Policy, stats *policy.PolicyStats, deleted policy.Amount, before *v1alpha1.StorageStatus) *v1alpha1.StorageStatus {
	if deleted.Bytes == 0 && !slices.ContainsFunc(p.Rules, (*policy.Rule).HasBytes) {
		return nil
	}
	s := &v1alpha1.StorageStatus{
		Estimated: slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.Spec.Bytes != "" }),
		Due:       v.prices.DueStorage(stats.DueStorage), Kept: v.prices.Storage(stats.KeptStorage), Deleted: v.prices.Storage(deleted),
		DeletedSince: &metav1.Time{Time: v.now.Truncate(time.Second)}, Currency: v.prices.Currency(),
	}
	if before != nil {
		s.DeletedSince = before.DeletedSince
	}
	return s
}

// storage exports the sums of the rules that give sizes.
func (g *gauges) storage(snapshot *policy.Snapshot, t *policy.Stats, n nodesNow) {
	for _, p := range snapshot.Policies() {
		stats := t.Policies[p.Name]
		if sum := n.about(p); sum != nil {
			stats = sum.With(stats)
		}
		for _, r := range p.Rules {
			if !r.HasBytes() {
				continue
			}
			c := policy.Count{}
			if stats != nil && stats.Rules[r.ID.Rule] != nil {
				c = stats.Rules[r.ID.Rule].Count
			}
			g.amounts(p.Name, r.ID.Rule, &c, t.Prices)
		}
	}
}

func (g *gauges) amounts(policyName, rule string, c *policy.Count, prices *policy.Prices) {
	for state, a := range map[string]policy.Amount{"due": c.DueStorage.Now, "kept": c.KeptStorage} {
		g.count = append(g.count, metrics.Bytes.Of(float64(a.Bytes), policyName, rule, state))
		if prices != nil {
			g.count = append(g.count, metrics.Cost.Of(a.Cost.Units(), policyName, rule, state, prices.Currency()))
		}
	}
	for within, a := range map[string]policy.Amount{"1h": c.DueStorage.Hour, "24h": c.DueStorage.Day, "7d": c.DueStorage.Week} {
		g.count = append(g.count, metrics.BytesAhead.Of(float64(a.Bytes), policyName, rule, within))
	}
}
