// Package metrics holds every metric Sunset exports, on controller-runtime's registry.
//
// It promises bounded labels: policies, rules, kinds, reasons and results, never the name of an object.
package metrics

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// The counters.
var (
	Deletions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_deletions_total",
		Help: "Objects deleted, by the rule that decided.",
	}, []string{"policy", "rule", "kind", "reason"})

	Lateness = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "sunset_deletion_lateness_seconds",
		Help:    "How long after it was due an object was deleted; of what was due when its policy was enforced, since it was due.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600, 3600, 86400},
	})

	Attempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_deletion_attempts_total",
		Help: "DELETE requests by result: removed, gone, changed (a conflict), busy, refused, unadmitted (a webhook fails), denied, failed.",
	}, []string{"result"})

	Skew = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sunset_clock_skew_seconds",
		Help: "How far the API server's clock may be from ours at most, as its latest answer to the leader tells: to a second and what the answer took.",
	})
)

// Build says which build this is.
var Build = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: version.Metric, Help: version.MetricHelp}, version.MetricLabels)

// Features says which features are on.
var Features = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: features.Metric, Help: features.MetricHelp}, features.MetricLabels)

// Counted is what the latest count found. They change together: a scrape sees one count or the next.
var Counted = &Count{counters: []Counter{LedgerDeletions}, gauges: []Gauge{
	Backlog, Verdicts, Subjects, Forecast, Blocked, Uncounted, IndexSize, Throttled, KindTrouble, Nodes, ImageBytes,
	References, Referrers, Synced, LedgerOpen, LedgerDoubt, LedgerWaiting, LedgerCharged, LedgerLimit, LedgerTrouble,
}}

// Standing is how the policies stand, as their statuses say.
var Conditions = &Count{gauges: []Gauge{Condition}}

// Count is a prometheus.Collector of metrics that are set all at once.
type Count struct {
	counters []Counter
	gauges   []Gauge

	latest atomic.Pointer[[]prometheus.Metric]
}

// Gauge is one sort of gauge of a Count.
type Gauge struct{ desc *prometheus.Desc }

// Counter is one sort of counter of a Count: it is kept elsewhere, and goes on across restarts.
type Counter struct{ desc *prometheus.Desc }

// The gauges, counted at most every few seconds.
var (
	Backlog     = gauge("sunset_backlog", "Objects that are due by the rules in force and not deleted yet.")
	Verdicts    = gauge("sunset_verdicts", "Objects by the verdict of the rules in force.", "kind", "reason")
	Subjects    = gauge("sunset_rule_objects", "Objects that a rule matches, finds eligible, holds, fails on (error) or would delete now (due).", "policy", "rule", "state")
	Forecast    = gauge("sunset_rule_forecast", "Objects that a rule would have deleted within an hour (1h), a day (24h) or a week (7d) from now, those that are due now included.", "policy", "rule", "within")
	Blocked     = gauge("sunset_blocked_objects", "Objects that are due by the rules of a policy, and kept by a rule of another policy: at most 100 for each policy, and those that fail or are stopped first.", "policy", "blocking_policy", "blocking_rule", "reason")
	Uncounted   = gauge("sunset_uncounted_pods", "Pods that are due, or deleted by somebody (terminating), and stay because their Jobs have not counted them yet.", "state")
	IndexSize   = gauge("sunset_index_objects", "Objects of a kind that are watched.", "kind")
	Nodes       = gauge("sunset_image_policy_nodes", "Nodes that report about the present form of a policy (counted), and that do not (stale).", "policy", "state")
	ImageBytes  = gauge("sunset_image_policy_due_bytes", "Bytes of the images on all nodes that a policy would remove now.", "policy")
	Throttled   = gauge("sunset_throttled_namespaces", "Namespaces in which deletions of a kind are throttled, because requests there are slow or fail.", "kind")
	KindTrouble = gauge("sunset_kind_trouble", "1 while a kind cannot be watched or deleted, by reason.", "kind", "reason")
)

// Condition is one condition of a policy.
var Condition = gauge("sunset_policy_condition", "1 for each condition of a policy, with its status and reason.", "policy", "condition", "status", "reason")

// What refers to ConfigMaps and Secrets. There is none of these while no rule asks.
var (
	References = gauge("sunset_references", "References to ConfigMaps and Secrets that are known, by the kind that is referred to.", "kind")
	Referrers  = gauge("sunset_references_referrers", "Objects of a kind that may refer to others and is watched for that.", "referrer")
	Synced     = gauge("sunset_references_synced", "1 while it is known completely what the objects of a kind refer to, 0 while it is not.", "referrer")
)

// What the ledgers say. A policy that keeps none has none of these.
var (
	LedgerDeletions = Counter{prometheus.NewDesc("sunset_ledger_deletions_total",
		"Objects deleted by policies that keep a ledger, exactly, across restarts: as answered (deleted), or gone after a DELETE without an answer (gone).",
		[]string{"policy", "rule", "outcome", "end"}, nil)}
	LedgerOpen    = gauge("sunset_ledger_open", "Deletions that were written down and whose end is not known yet.", "policy")
	LedgerDoubt   = gauge("sunset_ledger_doubtful", "Of those open: deletions that may have happened already, and are looked at until that is known.", "policy")
	LedgerWaiting = gauge("sunset_ledger_waiting", "Objects that are due and wait to be written down.", "policy")
	LedgerCharged = gauge("sunset_ledger_charged", "Deletions that count against the policy's limits now.", "policy")
	LedgerLimit   = gauge("sunset_ledger_limit", "Deletions that the policy's limits allow in their window.", "policy")
	LedgerTrouble = gauge("sunset_ledger_trouble", "1 while nothing can be written down, and so nothing is deleted.", "policy")
)

func gauge(name, help string, labels ...string) Gauge {
	return Gauge{prometheus.NewDesc(name, help, labels, nil)}
}

// Of is the gauge with a value and the values of its labels.
func (g Gauge) Of(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
}

// Of is the counter with a value and the values of its labels.
func (c Counter) Of(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, value, labels...)
}

// Set puts a new count in place of the last one.
func (c *Count) Set(count []prometheus.Metric) { c.latest.Store(&count) }

// Describe implements prometheus.Collector.
func (c *Count) Describe(ch chan<- *prometheus.Desc) {
	for _, counter := range c.counters {
		ch <- counter.desc
	}
	for _, g := range c.gauges {
		ch <- g.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Count) Collect(ch chan<- prometheus.Metric) {
	if count := c.latest.Load(); count != nil {
		for _, m := range *count {
			ch <- m
		}
	}
}

// SetFeature says whether a feature is on.
func SetFeature(value float64, name, stage string) { Features.WithLabelValues(name, stage).Set(value) }

// counted are the rules that have metrics.
var counted = struct {
	sync.Mutex
	rules map[policy.RuleID]bool
}{rules: map[policy.RuleID]bool{}}

// Forget drops what was counted for rules that are gone.
func Forget(gone func(policy.RuleID) bool) {
	counted.Lock()
	defer counted.Unlock()
	for id := range counted.rules {
		if gone(id) {
			Deletions.DeletePartialMatch(prometheus.Labels{"policy": id.Policy, "rule": id.Rule})
			delete(counted.rules, id)
		}
	}
}

func init() {
	metrics.Registry.MustRegister(Deletions, Lateness, Attempts, Skew, Counted, Conditions, Build, Features)
	Build.WithLabelValues(version.Get().MetricValues()...).Set(1)
}

// Observer counts what the reconciler does, and passes it on.
type Observer struct {
	Next retention.Observer
}

// Removed implements retention.Observer.
func (w Observer) Removed(r retention.Removal) {
	counted.Lock()
	counted.rules[r.Rule.ID] = true
	Deletions.WithLabelValues(r.Rule.ID.Policy, r.Rule.ID.Rule, r.Kind.GroupKind().String(), string(r.Reason)).Inc()
	counted.Unlock()
	Lateness.Observe(r.At.Sub(r.Due).Seconds())
	w.Next.Removed(r)
}

// Attempted implements retention.Observer.
func (w Observer) Attempted(result retention.Result) {
	Attempts.WithLabelValues(result.String()).Inc()
	w.Next.Attempted(result)
}
