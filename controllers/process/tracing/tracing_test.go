// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/process/tracing"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// start returns an Exporter for an endpoint.
func start(t *testing.T, endpoint string) (e *tracing.Exporter, log *lines) {
	t.Helper()
	log = &lines{}
	e, err := tracing.Start(t.Context(), tracing.Options{
		Endpoint: endpoint, PerMillion: tracing.MostPerMillion, Service: "sunset-controller", Instance: "me", Clock: clocktesting.NewFakePassiveClock(fixture.Now),
		Log: funcr.New(log.add, funcr.Options{}), Failed: func() { log.failed.Add(1) },
	})
	expect.NoError(t, err)
	return e, log
}

// lines are the lines of a log.
type lines struct {
	failed atomic.Int32

	mu  sync.Mutex
	all []string
}

func (l *lines) add(_, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, args)
}

func (l *lines) read() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.all...)
}

// listener returns an endpoint, and what accepts its connections.
func listener(t *testing.T) (l net.Listener, endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, l.Addr().String()
}

// collector receives traces.
type collector struct {
	coltracepb.UnimplementedTraceServiceServer
	received chan *coltracepb.ExportTraceServiceRequest
	answer   *coltracepb.ExportTraceServiceResponse
}

func (c *collector) Export(_ context.Context, r *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	select {
	case c.received <- r:
	default:
	}
	return c.answer, nil
}

func (c *collector) serve(t *testing.T) (endpoint string) {
	t.Helper()
	l, endpoint := listener(t)
	server := grpc.NewServer()
	coltracepb.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return endpoint
}

func TestCollectorReceivesTraces(t *testing.T) {
	c := &collector{received: make(chan *coltracepb.ExportTraceServiceRequest, 1), answer: &coltracepb.ExportTraceServiceResponse{}}
	endpoint := c.serve(t)
	for range 20 { // on a busy machine Stop may not wait long enough
		e, _ := start(t, endpoint)
		_, span := e.Tracer("test").Start(t.Context(), "delete object")
		span.End()
		e.Stop()
		if len(c.received) > 0 {
			break
		}
	}
	if len(c.received) == 0 {
		t.Fatal("nothing was received")
	}
	spans := (<-c.received).GetResourceSpans()
	of := map[string]string{}
	for _, a := range spans[0].GetResource().GetAttributes() {
		of[a.GetKey()] = a.GetValue().GetStringValue()
	}
	expect.Equal(t, "service", "sunset-controller", of["service.name"])
	expect.Equal(t, "instance", "me", of["service.instance.id"])
	expect.Equal(t, "span", "delete object", spans[0].GetScopeSpans()[0].GetSpans()[0].GetName())
}

// TestEndpointDelaysNothing: with every kind of broken endpoint, many more spans than the queue holds end at once, and Stop returns.
func TestEndpointDelaysNothing(t *testing.T) {
	for name, endpoint := range map[string]func(t *testing.T) string{
		"it does not exist": func(t *testing.T) string {
			l, endpoint := listener(t)
			_ = l.Close()
			return endpoint
		},
		"it never answers": func(t *testing.T) string {
			l, endpoint := listener(t)
			go func() {
				for {
					if _, err := l.Accept(); err != nil { // connections stay open
						return
					}
				}
			}()
			return endpoint
		},
		"it speaks HTTP": func(t *testing.T) string {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			return s.Listener.Addr().String()
		},
		"it rejects every span": func(t *testing.T) string {
			c := &collector{answer: &coltracepb.ExportTraceServiceResponse{
				PartialSuccess: &coltracepb.ExportTracePartialSuccess{RejectedSpans: 1 << 40, ErrorMessage: strings.Repeat("no ", 10_000)},
			}}
			return c.serve(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, log := start(t, endpoint(t))
			for range 10_000 {
				_, span := e.Tracer("test").Start(t.Context(), "delete object")
				span.End()
			}
			e.Stop()
			if log.failed.Load() == 0 {
				t.Error("no error was counted")
			}
			got := log.read()
			if len(got) != 1 || !strings.Contains(got[0], "traces not exported") || len(got[0]) > 1000 {
				t.Errorf("%d lines: %.2000q", len(got), got)
			}
		})
	}
}

// TestRequestsOfTracesHaveSpans: only a request of a trace gets a header that continues the trace.
func TestRequestsOfTracesHaveSpans(t *testing.T) {
	e, _ := start(t, "localhost:4317")
	defer e.Stop()
	var headers []string
	client := &http.Client{Transport: e.Wrap(transport(func(r *http.Request) { headers = append(headers, r.Header.Get("traceparent")) }))}
	traced, span := e.Tracer("test").Start(t.Context(), "delete object")
	defer span.End()
	for _, ctx := range []context.Context{t.Context(), traced} {
		r, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://localhost/", nil)
		expect.NoError(t, err)
		answer, err := client.Do(r)
		expect.NoError(t, err)
		_ = answer.Body.Close()
	}
	if headers[0] != "" || !strings.Contains(headers[1], span.SpanContext().TraceID().String()) {
		t.Errorf("headers %q", headers)
	}
}

// transport is a http.RoundTripper that answers every request.
type transport func(*http.Request)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

func TestNoExporterDoesNothing(t *testing.T) {
	var e *tracing.Exporter
	if e.Tracer("test") != nil {
		t.Error("there is a tracer")
	}
	e.Stop()
}

func TestCheck(t *testing.T) {
	for endpoint, valid := range map[string]bool{
		"": true, "localhost:4317": true, "otel-collector.monitoring.svc:4317": true, "dns:///collector:4317": true, "unix:///run/otel.sock": true,
		"http://localhost:4318": false, "https://collector": false, "dn%2s://collector": false,
	} {
		if err := tracing.Check(endpoint); (err == nil) != valid {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
