// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"net/http/pprof"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsServer returns the options of the metrics server: address, TLS and authorization.
func (c *Config) metricsServer() metricsserver.Options {
	o := metricsserver.Options{BindAddress: c.MetricsAddress}
	if c.MetricsSecure {
		o.SecureServing, o.CertDir = true, c.MetricsCertDir
		o.FilterProvider = filters.WithAuthenticationAndAuthorization
		o.ExtraHandlers = profiles()
	}
	return o
}

// profiles returns the handlers of Go profiles.
func profiles() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}
