// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sunset-k8s/sunset/controllers/audit"
	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/policy"
)

// agentMetrics are the metrics that an agent exports.
type agentMetrics struct {
	removed, removedBytes, failed *prometheus.CounterVec
	pulledAgain, auditErrors      prometheus.Counter
	present                       prometheus.Gauge
}

// newAgentMetrics registers the metrics. Agents that use the same registry share the metrics.
func newAgentMetrics(r prometheus.Registerer, off ...policy.Feature) (m agentMetrics, err error) {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label}), &err)
	}
	m.removed = counter("sunset_image_removed_total",
		"Number of images removed from the node, by reason: age (TTL), space (disk usage) or capacity (too many images).", "reason")
	m.removedBytes = counter("sunset_image_removed_bytes_total",
		"Size in bytes of the images removed, as reported by the container runtime. Layers that other images share count too.", "reason")
	for _, reason := range []string{"age", "space", "capacity"} { // from 0, so that rates include the first removals
		m.removed.WithLabelValues(reason)
		m.removedBytes.WithLabelValues(reason)
	}
	m.failed = counter("sunset_image_errors_total", "Number of failed RemoveImage calls, by gRPC code.", "code")
	m.pulledAgain = register(r, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sunset_image_pulled_again_total",
		Help: "Number of images that were pulled again within a day after their removal.",
	}), &err)
	m.auditErrors = register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: audit.Metric, Help: audit.MetricHelp}), &err)
	m.present = register(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "sunset_images", Help: "Number of images on the node."}), &err)
	build := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: version.Metric, Help: version.MetricHelp}, version.MetricLabels), &err)
	build.WithLabelValues(version.Get().MetricValues()...).Set(1)
	gates := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: features.Metric, Help: features.MetricHelp}, features.MetricLabels), &err)
	features.Export(func(value float64, name, stage string) { gates.WithLabelValues(name, stage).Set(value) }, off, Features...)
	return m, err
}

// register registers a collector and returns it, or the registered one of the same name. It adds an error to failed.
func register[C prometheus.Collector](r prometheus.Registerer, c C, failed *error) C {
	err := r.Register(c)
	if there := (prometheus.AlreadyRegisteredError{}); errors.As(err, &there) {
		if same, ok := there.ExistingCollector.(C); ok {
			return same
		}
	}
	*failed = errors.Join(*failed, err)
	return c
}
