// SPDX-License-Identifier: Apache-2.0

// Package tracing exports traces over OTLP, with the configuration of Kubernetes components.
//
// It promises that an endpoint that does not answer, or answers wrongly, delays nothing: spans wait in a queue of limited
// length, and are dropped when it is full. Without an endpoint, nothing is started: no goroutine runs, and no connection exists.
package tracing

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/component-base/tracing"
	tracingv1 "k8s.io/component-base/tracing/api/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/controllers/process/version"
)

// MostPerMillion is the sampling rate at which every trace is exported.
const MostPerMillion = 1_000_000

// flushTime is how long Stop waits for the endpoint.
const flushTime = 2 * time.Second

// Options configure an Exporter. All fields are required.
type Options struct {
	Endpoint   string // of a collector, for OTLP over gRPC without TLS
	PerMillion int    // number of traces to export of a million
	Service    string // name of the program
	Instance   string // name of the process
	Clock      clock.PassiveClock
	Log        logr.Logger // for errors, of which it gets one a minute
	Failed     func()      // called with each error
}

// Exporter exports traces. nil exports none. Create it with Start.
type Exporter struct {
	provider tracing.TracerProvider
}

// Check returns an error if the endpoint is invalid.
func Check(endpoint string) error {
	return tracingv1.ValidateTracingConfiguration(&tracingv1.TracingConfiguration{Endpoint: &endpoint}, nil, nil).ToAggregate()
}

// Start returns an Exporter, which connects in the background. Errors of OpenTelemetry in this process go to the options'
// logger from now on.
func Start(ctx context.Context, o Options) (*Exporter, error) {
	otel.SetErrorHandler(&errorLog{log: o.Log.WithValues("endpoint", o.Endpoint), clock: o.Clock, failed: o.Failed})
	otel.SetLogger(o.Log)
	config := &tracingv1.TracingConfiguration{Endpoint: &o.Endpoint, SamplingRatePerMillion: ptr.To(int32(o.PerMillion))}
	provider, err := tracing.NewProvider(ctx, config, nil, []resource.Option{resource.WithAttributes(
		semconv.ServiceName(o.Service), semconv.ServiceVersion(version.Get().Version), semconv.ServiceInstanceID(o.Instance),
	)})
	if err != nil {
		return nil, err
	}
	return &Exporter{provider}, nil
}

// Tracer returns a tracer with the name of an instrumentation scope; nil if nothing is exported.
func (e *Exporter) Tracer(name string) trace.Tracer {
	if e == nil {
		return nil
	}
	return e.provider.Tracer(name)
}

// Wrap has a transport add a span for each request of a trace, and the headers with which the API server continues the trace. Other
// requests have no spans.
func (e *Exporter) Wrap(next http.RoundTripper) http.RoundTripper {
	return otelhttp.NewTransport(next, otelhttp.WithTracerProvider(e.provider), otelhttp.WithPropagators(tracing.Propagators()),
		otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanFromContext(r.Context()).IsRecording() }))
}

// Stop exports the spans in the queue, if the endpoint is fast enough. Later spans are dropped.
func (e *Exporter) Stop() {
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
