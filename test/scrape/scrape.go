// SPDX-License-Identifier: Apache-2.0

// Package scrape returns what a program exports as metrics.
package scrape

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sunset-k8s/sunset/test/expect"
)

// Of returns the samples of a gatherer. Their names are those of the metric and its labels, in order: `metric label=value ...`. A
// histogram has two samples: "... count" and "... sum".
func Of(t testing.TB, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	expect.NoError(t, err)
	samples := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			if h := m.GetHistogram(); h != nil {
				samples[name+" count"], samples[name+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
			} else {
				samples[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return samples
}
