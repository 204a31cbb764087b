// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// gauges collects the results of one count.
type gauges struct {
	count   []prometheus.Metric
	backlog int64
}

// kind exports the state of a kind. deletes says whether an enforced rule deletes its objects.
func (g *gauges) kind(k retention.KindState, deletes bool, reasons map[policy.Reason]int64) {
	name := k.Index.Kind().String()
	size, _ := k.Index.Len()
	g.count = append(g.count, metrics.IndexSize.Of(float64(size), name), metrics.Throttled.Of(float64(len(k.Throttled)), name))
	for reason, n := range reasons {
		g.count = append(g.count, metrics.Verdicts.Of(float64(n), name, string(reason)))
	}
	if k.Delayed > 0 {
		delayed := map[string]int{}
		for _, d := range k.Obstacles() {
			delayed[d.Reason]++
		}
		for reason, n := range delayed {
			g.count = append(g.count, metrics.Delayed.Of(float64(n), name, reason))
		}
	}
	g.backlog += reasons[policy.Expired] + reasons[policy.OverCapacity]
	if k.Lost != nil {
		g.count = append(g.count, metrics.KindError.Of(1, name, k.Lost.Reason))
	}
	if k.Undeletable != nil && deletes && (k.Lost == nil || k.Lost.Reason != k.Undeletable.Reason) {
		g.count = append(g.count, metrics.KindError.Of(1, name, k.Undeletable.Reason))
	}
}

// deletes reports whether an enforced rule deletes objects of a kind, and not only their owners.
func deletes(snapshot *policy.Snapshot, kind schema.GroupKind) bool {
	return slices.ContainsFunc(snapshot.Rules(kind), func(r *policy.Rule) bool { return r.Mode == v1alpha1.Enforce && !r.Owner })
}

func (g *gauges) rules(t *policy.Stats) {
	for name, stats := range t.Policies {
		for _, by := range stats.Blocked.Most(blockedMeasured) {
			g.count = append(g.count, metrics.Blocked.Of(float64(stats.Blocked.By[by]), name, by.Rule.Policy, by.Rule.Rule, string(by.Reason)))
		}
		for rule, c := range stats.Rules {
			g.rule(name, rule, &c.Count)
		}
	}
}

func (g *gauges) rule(policy, rule string, c *policy.Count) {
	for state, n := range map[string]int64{
		"matched": c.Matched, "eligible": c.Eligible, "held": c.Held, "error": c.Errors, "due": c.Due.Now,
	} {
		g.count = append(g.count, metrics.Subjects.Of(float64(n), policy, rule, state))
	}
	for within, n := range map[string]int64{"1h": c.Due.Hour, "24h": c.Due.Day, "7d": c.Due.Week} {
		g.count = append(g.count, metrics.Forecast.Of(float64(n), policy, rule, within))
	}
}

// conditionsOf returns metrics for the conditions of one policy, as written.
func conditionsOf(policy string, conditions []metav1.Condition) []prometheus.Metric {
	all := make([]prometheus.Metric, 0, len(conditions))
	for _, c := range conditions {
		all = append(all, metrics.Condition.Of(1, policy, c.Type, string(c.Status), c.Reason))
	}
	return all
}

// uncountedPods exports the uncounted Pods once Pods are watched. It includes zeros, which show that no Pods are left behind.
func (g *gauges) uncountedPods(l policy.UncountedPods) {
	for state, n := range map[string]int64{"due": l.Due, "overdue": l.Overdue, "terminating": l.Terminating} {
		g.count = append(g.count, metrics.Uncounted.Of(float64(n), state))
	}
}

// ledger exports the state of the ledger of a policy. Objects that wait because of limits do not count as backlog: that is what the limits
// are for.
func (g *gauges) ledger(p *policy.Policy, kept ledgers.State) {
	failed := 0.0
	if kept.WriteError != nil {
		failed = 1
	}
	g.count = append(g.count, metrics.LedgerOpen.Of(float64(kept.Open), p.Name), metrics.LedgerDoubt.Of(float64(kept.Doubtful), p.Name),
		metrics.LedgerWaiting.Of(float64(kept.Waiting), p.Name), metrics.LedgerError.Of(failed, p.Name))
	if p.Limits != nil {
		if kept.Charged >= p.Limits.Max {
			g.backlog = max(0, g.backlog-int64(kept.Waiting))
		}
		g.count = append(g.count, metrics.LedgerCharged.Of(float64(kept.Charged), p.Name), metrics.LedgerLimit.Of(float64(p.Limits.Max), p.Name))
	}
	if kept.Ledger != nil {
		g.deletions(p.Name, kept.Ledger)
	}
}

// deletions exports the counters of a ledger. They add up to its total: deletions that no rule has counted belong to the rest,
// and those that a rule has counted without an outcome have an empty outcome.
func (g *gauges) deletions(name string, l *v1alpha1.RetentionLedger) {
	rest := l.Total
	for _, r := range l.Rules {
		rest = less(rest, r.LedgerCount)
		none := r.LedgerCount
		for _, o := range r.Outcomes {
			none = less(none, o.LedgerCount)
			g.ends(o.LedgerCount, name, r.Name, o.Name)
		}
		if r.Name != ledger.Rest && (len(r.Outcomes) == 0 || none != nothing) {
			g.ends(none, name, r.Name, "")
		} else if r.Name == ledger.Rest {
			rest.Deleted, rest.Gone = rest.Deleted+none.Deleted, rest.Gone+none.Gone
		}
	}
	if rest != nothing {
		g.ends(rest, name, ledger.Rest, "")
	}
}

var nothing v1alpha1.LedgerCount

// less returns the difference of two counts, and never less than zero: counters do not decrease.
func less(n, by v1alpha1.LedgerCount) v1alpha1.LedgerCount {
	return v1alpha1.LedgerCount{Deleted: max(0, n.Deleted-by.Deleted), Gone: max(0, n.Gone-by.Gone)}
}

// ends exports the two counters of one count.
func (g *gauges) ends(n v1alpha1.LedgerCount, name, rule, outcome string) {
	g.count = append(g.count, metrics.LedgerDeletions.Of(float64(n.Deleted), name, rule, outcome, "deleted"),
		metrics.LedgerDeletions.Of(float64(n.Gone), name, rule, outcome, "gone"))
}

// publish replaces the metrics of the last count.
func (g *gauges) publish() {
	metrics.Counted.Set(append(g.count, metrics.Backlog.Of(float64(g.backlog))))
}

// nodes exports the reports of nodes about policies.
func (g *gauges) nodes(snapshot *policy.Snapshot, n nodesNow) {
	for _, p := range snapshot.Policies() {
		sum := n.about(p)
		if sum == nil {
			continue
		}
		for rule, c := range sum.Stats.Rules {
			g.rule(p.Name, rule, &c.Count)
		}
		g.count = append(g.count, metrics.Nodes.Of(float64(sum.Status.Nodes), p.Name, "counted"),
			metrics.Nodes.Of(float64(sum.Status.StaleNodes), p.Name, "stale"), metrics.ImageBytes.Of(float64(sum.Status.Due.Now.Bytes), p.Name))
	}
}
