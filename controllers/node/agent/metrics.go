package agent

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sunset-k8s/sunset/controllers/process/features"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/policy"
)

// agentMetrics are what an agent exports.
type agentMetrics struct {
	removed, removedBytes, failed *prometheus.CounterVec
	pulledAgain                   prometheus.Counter
	present                       prometheus.Gauge
}

// newAgentMetrics registers them. Agents that share a registry share them.
func newAgentMetrics(r prometheus.Registerer, off ...policy.Feature) (m agentMetrics, err error) {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label}), &err)
	}
	m.removed = counter("sunset_image_removed_total",
		"Images removed from the node: for their age, for want of space, or because there were too many (capacity).", "reason")
	m.removedBytes = counter("sunset_image_removed_bytes_total",
		"Bytes of the images removed, as the runtime says: layers that other images share are counted too.", "reason")
	m.failed = counter("sunset_image_errors_total", "Calls of RemoveImage that failed, by gRPC code.", "code")
	m.pulledAgain = register(r, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sunset_image_pulled_again_total",
		Help: "Images that were pulled again within a day after they were removed.",
	}), &err)
	m.present = register(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "sunset_images", Help: "Images on the node."}), &err)
	build := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: version.Metric, Help: version.MetricHelp}, version.MetricLabels), &err)
	build.WithLabelValues(version.Get().MetricValues()...).Set(1)
	gates := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: features.Metric, Help: features.MetricHelp}, features.MetricLabels), &err)
	features.Export(func(value float64, name, stage string) { gates.WithLabelValues(name, stage).Set(value) }, off, Features...)
	return m, err
}

// register gives a collector, or the one of its name that is there already.
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
