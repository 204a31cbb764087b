package agent

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// What an agent exports.
var (
	imagesRemoved = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_image_removed_total",
		Help: "Images removed from the node: for their age, for want of space, or because there were too many (capacity).",
	}, []string{"reason"})

	bytesRemoved = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_image_removed_bytes_total",
		Help: "Bytes of the images removed, as the runtime says: layers that other images share are counted too.",
	}, []string{"reason"})

	removalErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sunset_image_errors_total",
		Help: "Calls of RemoveImage that failed, by gRPC code.",
	}, []string{"code"})

	pulledAgain = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sunset_image_pulled_again_total",
		Help: "Images that were pulled again within a day after they were removed.",
	})

	imagesPresent = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sunset_images",
		Help: "Images on the node.",
	})
)

func init() {
	metrics.Registry.MustRegister(imagesRemoved, bytesRemoved, removalErrors, pulledAgain, imagesPresent)
}
