// SPDX-License-Identifier: Apache-2.0

// Package metrics defines the metrics that the controller exports, in controller-runtime's registry.
//
// It promises labels with a bounded number of values: policies, rules, kinds, reasons and results, but never names of objects.
package metrics

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sunset-k8s/sunset/controllers/audit"
	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// The counters.
var (
	Deletions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_deletions_total",
		Help: "Deleted objects, by the rule that decided the deletion.",
	}, []string{"policy", "rule", "kind", "reason"})

	DeletedBytes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_deleted_bytes_total",
		Help: "Size in bytes of the deleted objects whose size is known, by the rule that decided the deletion.",
	}, []string{"policy", "rule", "kind"})

	DeletedCost = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_deleted_estimated_monthly_cost_total",
		Help: "Estimated cost in a month of the deleted objects whose size and price are known, by the rule that decided the deletion.",
	}, []string{"policy", "rule", "kind", "currency"})

	Lateness = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "sunset_deletion_lateness_seconds",
		Help:    "Time from when an object was due until its deletion. If it was due before its policy was enforced, that time counts too.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600, 3600, 86400},
	})

	Attempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_deletion_attempts_total",
		Help: "DELETE requests by result: removed, gone, changed (a conflict), busy, refused, unadmitted (a webhook failed), denied, failed.",
	}, []string{"result"})

	Skew = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sunset_clock_skew_seconds",
		Help: "Upper bound of the difference between the clocks of the API server and of the leader. It can be too high by 1s plus the duration of the request.",
	})

	DigestAttempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_digest_attempts_total",
		Help: "Attempts to send a digest, by result: accepted or failed.",
	}, []string{"digest", "result"})

	DigestFailing = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_digest_failing",
		Help: "1 while a RetentionDigest is invalid or its latest digest was not accepted, otherwise 0.",
	}, []string{"digest"})

	ReportWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_report_writes_total",
		Help: "Requests to write reports of OpenReports, by result: written, deleted or failed. failed includes failed requests to list them.",
	}, []string{"result"})

	ArchiveRecords = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_archive_records_total",
		Help: "Records that were written to a RetentionArchive and verified.",
	}, []string{"archive"})

	ArchiveBytes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_archive_bytes_total",
		Help: "Bytes of these records in the store, compressed.",
	}, []string{"archive"})

	ArchiveWriteSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "sunset_archive_write_seconds",
		Help:    "Time to write some records to a store, to read them back and to compare them.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	})

	ArchiveWaiting = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_archive_waiting",
		Help: "Objects that wait for their record in a RetentionArchive.",
	}, []string{"archive"})

	ArchiveUnavailable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_archive_unavailable",
		Help: "1 while a RetentionArchive is invalid or its store cannot be written, and so rules that use it delete nothing, otherwise 0.",
	}, []string{"archive"})

	ArchiveDeletedObjects = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_archive_deleted_objects_total",
		Help: "Objects that were deleted from a store because they were older than retain.",
	}, []string{"archive"})

	ArchiveRefused = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_archive_refused_days",
		Help: "Days with objects older than retain that the store refuses to delete.",
	}, []string{"archive"})

	ArchiveExpired = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sunset_archive_expired_seconds",
		Help: "Age beyond retain of the oldest day with objects that Sunset still has to delete.",
	}, []string{"archive"})

	snapshotsCreated = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_volume_snapshots_created_total",
		Help: "VolumeSnapshots that were created before the deletion of a PersistentVolumeClaim.",
	}, []string{"policy", "rule"})

	TraceErrors = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sunset_trace_errors_total",
		Help: "Errors that occurred while traces were exported. Each may concern many spans.",
	})

	AuditErrors = prometheus.NewCounter(prometheus.CounterOpts{Name: audit.Metric, Help: audit.MetricHelp})
)

// OfArchives are the metrics with the name of a RetentionArchive.
var OfArchives = []interface {
	prometheus.Collector
	DeleteLabelValues(...string) bool
}{ArchiveRecords, ArchiveBytes, ArchiveWaiting, ArchiveUnavailable, ArchiveDeletedObjects, ArchiveRefused, ArchiveExpired}

// Build exports the version of this program.
var Build = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: version.Metric, Help: version.MetricHelp}, version.MetricLabels)

// Features exports which features are on.
var Features = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: features.Metric, Help: features.MetricHelp}, features.MetricLabels)

// Counted has the metrics of the latest count. They change together: a scrape sees one count or the next.
var Counted = &Count{}

// Conditions has the conditions of the policies, as in their statuses.
var Conditions = &Count{}

// Count is a prometheus.Collector of metrics that are set all at once.
type Count struct {
	descs  []*prometheus.Desc
	latest atomic.Pointer[[]prometheus.Metric]
}

// Family is a family of metrics of a Count. The values of counters are stored elsewhere, and continue across restarts.
type Family struct {
	desc *prometheus.Desc
	of   prometheus.ValueType
}

// The gauges. They are counted at most every few seconds.
var (
	Backlog    = Counted.gauge("sunset_backlog", "Objects that are due by the rules in force and not deleted yet, without those that wait because of limits.")
	Verdicts   = Counted.gauge("sunset_verdicts", "Objects by the decision of the rules in force.", "kind", "reason")
	Subjects   = Counted.gauge("sunset_rule_objects", "Objects of a rule by state: matched, eligible, held, error (the rule fails on the object) or due (the rule would delete the object now).", "policy", "rule", "state")
	Forecast   = Counted.gauge("sunset_rule_forecast", "Objects that a rule would delete within an hour (1h), a day (24h) or a week (7d) from now, including objects that are due now.", "policy", "rule", "within")
	Bytes      = Counted.gauge("sunset_rule_bytes", "Size in bytes of the objects of a rule whose size is known, by state: due (the rule would delete the object now), or kept (eligible, without a due time; without images).", "policy", "rule", "state")
	BytesAhead = Counted.gauge("sunset_rule_forecast_bytes", "Size in bytes of the objects that a rule would delete within an hour (1h), a day (24h) or a week (7d) from now, including objects that are due now.", "policy", "rule", "within")
	Cost       = Counted.gauge("sunset_rule_estimated_monthly_cost", "Estimated cost in a month of the objects of a rule whose size and price are known, by state: due or kept, as for sunset_rule_bytes.", "policy", "rule", "state", "currency")
	Blocked    = Counted.gauge("sunset_blocked_objects", "Objects that are due by the rules of a policy, but kept by a rule of another policy. At most 100 for each policy; blocking rules that fail or are stopped come first.", "policy", "blocking_policy", "blocking_rule", "reason")
	Uncounted  = Counted.gauge("sunset_uncounted_pods", "Pods that are due, or that another client deleted (terminating), but that stay because their Jobs have not counted them yet.", "state")
	IndexSize  = Counted.gauge("sunset_index_objects", "Objects of a kind that are watched.", "kind")
	Nodes      = Counted.gauge("sunset_image_policy_nodes", "Nodes that report about the current version of a policy (counted), and nodes that do not (stale).", "policy", "state")
	ImageBytes = Counted.gauge("sunset_image_policy_due_bytes", "Bytes of the images on all nodes that a policy would remove now.", "policy")
	Throttled  = Counted.gauge("sunset_throttled_namespaces", "Namespaces in which Sunset throttles deletions of a kind, because requests there are slow or fail.", "kind")
	Delayed    = Counted.gauge("sunset_delayed_objects", "Due objects that Sunset cannot delete, by the reason of the condition Delayed; at most 100 of a kind in each namespace.", "kind", "reason")
	KindError  = Counted.gauge("sunset_kind_unavailable", "1 while a kind cannot be watched or deleted, by reason.", "kind", "reason")
)

// Condition is one condition of a policy.
var Condition = Conditions.gauge("sunset_policy_condition", "1 for each condition of a policy, with its status and reason.", "policy", "condition", "status", "reason")

// The gauges of references between objects. They are absent while no rule reads references.
var (
	References = Counted.gauge("sunset_references", "Known references to objects, by the kind of the target.", "kind")
	Referrers  = Counted.gauge("sunset_references_referrers", "Objects of a kind that Sunset watches for what rules ask about references.", "referrer")
	Synced     = Counted.gauge("sunset_references_synced", "1 while all references of the objects of a kind are known, 0 while some are unknown.", "referrer")
)

// The metrics of ledgers. They are absent for a policy without a ledger.
var (
	LedgerDeletions = Counted.family(prometheus.CounterValue, "sunset_ledger_deletions_total",
		"Exact number of objects deleted by policies with a ledger, across restarts: the API server confirmed the DELETE (deleted), or the object no longer existed after a DELETE without a response (gone).",
		"policy", "rule", "outcome", "end")
	LedgerOpen    = Counted.gauge("sunset_ledger_open", "Deletions that are recorded in the ledger and whose result is not known yet.", "policy")
	LedgerDoubt   = Counted.gauge("sunset_ledger_doubtful", "Open deletions that may already have happened. Sunset reads the objects until it knows.", "policy")
	LedgerWaiting = Counted.gauge("sunset_ledger_waiting", "Objects that are due and wait to be recorded in the ledger.", "policy")
	LedgerCharged = Counted.gauge("sunset_ledger_charged", "Deletions that count against the policy's limits now.", "policy")
	LedgerLimit   = Counted.gauge("sunset_ledger_limit", "Deletions that the policy's limits allow in their window.", "policy")
	LedgerError   = Counted.gauge("sunset_ledger_unavailable", "1 while the ledger cannot be written, and so nothing is deleted.", "policy")
)

func (c *Count) gauge(name, help string, labels ...string) Family {
	return c.family(prometheus.GaugeValue, name, help, labels...)
}

func (c *Count) family(of prometheus.ValueType, name, help string, labels ...string) Family {
	desc := prometheus.NewDesc(name, help, labels, nil)
	c.descs = append(c.descs, desc)
	return Family{desc, of}
}

// Of returns the metric with a value and the values of its labels.
func (f Family) Of(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(f.desc, f.of, value, labels...)
}

// Set replaces the last count by a new one.
func (c *Count) Set(count []prometheus.Metric) { c.latest.Store(&count) }

// Describe implements prometheus.Collector.
func (c *Count) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		ch <- desc
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

// SetFeature exports whether a feature is on (1) or off (0).
func SetFeature(value float64, name, stage string) { Features.WithLabelValues(name, stage).Set(value) }

// counted is the rules that have metrics.
var counted = struct {
	sync.Mutex
	rules map[policy.RuleID]bool
}{rules: map[policy.RuleID]bool{}}

// Forget removes the counters of rules that no longer exist.
func Forget(gone func(policy.RuleID) bool) {
	counted.Lock()
	defer counted.Unlock()
	for id := range counted.rules {
		if gone(id) {
			for _, c := range []*prometheus.CounterVec{Deletions, DeletedBytes, DeletedCost, snapshotsCreated} {
				c.DeletePartialMatch(prometheus.Labels{"policy": id.Policy, "rule": id.Rule})
			}
			delete(counted.rules, id)
		}
	}
}

// ForgetDigest removes the metrics of a digest that no longer exists.
func ForgetDigest(name string) {
	DigestFailing.DeleteLabelValues(name)
	DigestAttempts.DeletePartialMatch(prometheus.Labels{"digest": name})
}

func init() {
	for _, m := range OfArchives {
		metrics.Registry.MustRegister(m)
	}
	metrics.Registry.MustRegister(ArchiveWriteSeconds, Deletions, DeletedBytes, DeletedCost, snapshotsCreated, Lateness, Attempts, Skew, DigestAttempts, DigestFailing, ReportWrites, TraceErrors, AuditErrors, Counted, Conditions, Build, Features)
	Build.WithLabelValues(version.Get().MetricValues()...).Set(1)
}

// Observer counts the deletions and attempts of the reconciler, and passes them to Next.
type Observer struct {
	Next   retention.Observer
	Prices *policy.Prices // nil for none
}

// Removed implements retention.Observer.
func (w Observer) Removed(r retention.Removal) {
	counted.Lock()
	counted.rules[r.Rule.ID] = true
	id, kind := r.Rule.ID, r.Kind.GroupKind()
	Deletions.WithLabelValues(id.Policy, id.Rule, kind.String(), string(r.Reason)).Inc()
	if r.Rule.HasBytes() {
		storage := w.Prices.Of(kind, r.Size)
		DeletedBytes.WithLabelValues(id.Policy, id.Rule, kind.String()).Add(float64(storage.Bytes))
		if w.Prices != nil {
			DeletedCost.WithLabelValues(id.Policy, id.Rule, kind.String(), w.Prices.Currency()).Add(storage.Cost.Units())
		}
	}
	counted.Unlock()
	Lateness.Observe(r.At.Sub(r.Due).Seconds())
	w.Next.Removed(r)
}

// Snapshotted implements retention.SnapshotObserver.
func (w Observer) Snapshotted(n retention.SnapshotNotice) {
	if n.Slow == nil {
		counted.Lock()
		counted.rules[n.Rule.ID] = true
		snapshotsCreated.WithLabelValues(n.Rule.ID.Policy, n.Rule.ID.Rule).Inc()
		counted.Unlock()
	}
	if next, ok := w.Next.(retention.SnapshotObserver); ok {
		next.Snapshotted(n)
	}
}

// Attempted implements retention.Observer.
func (w Observer) Attempted(result retention.Result) {
	Attempts.WithLabelValues(result.String()).Inc()
	w.Next.Attempted(result)
}
