// Package metrics holds every metric Sunset exports, on controller-runtime's registry.
//
// It promises bounded labels: policies, rules, kinds, reasons and results, never the name of an object.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/retention"
)

// The metrics. Gauges are set at each count of the index, at most every few seconds.
var (
	Deletions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_deletions_total",
		Help: "Objects deleted, by the rule that decided.",
	}, []string{"policy", "rule", "kind", "reason"})

	Lateness = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "sunset_deletion_lateness_seconds",
		Help:    "How long after it was due an object was deleted.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600, 3600, 86400},
	})

	Attempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_deletion_attempts_total",
		Help: "DELETE requests by result: removed, gone, changed (a conflict), busy, refused, failed.",
	}, []string{"result"})

	Backlog = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sunset_backlog",
		Help: "Objects that are due and wait to be deleted.",
	})

	Verdicts = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_verdicts",
		Help: "Objects by the verdict of the rules in force.",
	}, []string{"kind", "reason"})

	Subjects = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_rule_objects",
		Help: "Objects that a rule matches, finds eligible, holds, fails on or would delete now.",
	}, []string{"policy", "rule", "state"})

	IndexSize = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_index_objects",
		Help: "Objects of a kind that are watched.",
	}, []string{"kind"})

	KindTrouble = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_kind_trouble",
		Help: "1 while a kind cannot be watched or deleted, by reason.",
	}, []string{"kind", "reason"})
)

func init() {
	metrics.Registry.MustRegister(Deletions, Lateness, Attempts, Backlog, Verdicts, Subjects, IndexSize, KindTrouble)
}

// Witness counts what the reconciler does, and passes it on.
type Witness struct {
	Next retention.Witness
}

// Removed implements retention.Witness.
func (w Witness) Removed(r retention.Removal) {
	Deletions.WithLabelValues(r.Rule.ID.Policy, r.Rule.ID.Rule, r.Kind.GroupKind().String(), string(r.Reason)).Inc()
	Lateness.Observe(r.At.Sub(r.Due).Seconds())
	w.Next.Removed(r)
}

// Attempted implements retention.Witness.
func (w Witness) Attempted(result retention.Result) {
	Attempts.WithLabelValues(result.String()).Inc()
	w.Next.Attempted(result)
}
