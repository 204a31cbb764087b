// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// traces has the spans of a test. Its lines describe traces as trees.
type traces struct{ *tracetest.InMemoryExporter }

// recording returns options with a tracer whose spans a test can read.
func recording(o retention.Options) (retention.Options, traces) {
	all := traces{tracetest.NewInMemoryExporter()}
	o.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(all)).Tracer(retention.TracerName)
	return o, all
}

// lines returns one line for each span: its times since a time, its name and its error, below its parent. Traces are in the order
// of their starts.
func (s traces) lines(began time.Time) (lines []string) {
	children := map[string][]tracetest.SpanStub{}
	for _, span := range s.GetSpans() {
		parent := ""
		if span.Parent.IsValid() {
			parent = span.Parent.SpanID().String()
		}
		children[parent] = append(children[parent], span)
	}
	var add func(of, indent string)
	add = func(of, indent string) {
		all := children[of]
		slices.SortStableFunc(all, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
		for _, span := range all {
			line := fmt.Sprintf("%s%s %s-%s", indent, span.Name, span.StartTime.Sub(began), span.EndTime.Sub(began))
			if span.Status.Code == codes.Error {
				line += ": " + span.Status.Description
			}
			lines = append(lines, line)
			add(span.SpanContext.SpanID().String(), indent+"  ")
		}
	}
	add("", "")
	return lines
}

// attributes returns the attributes of the first trace.
func (s traces) attributes() map[string]string {
	all := map[string]string{}
	for _, span := range s.GetSpans() {
		if !span.Parent.IsValid() {
			for _, a := range span.Attributes {
				all[string(a.Key)] = a.Value.String()
			}
			return all
		}
	}
	return all
}

func TestTraceOfDeletion(t *testing.T) {
	options, all := recording(retention.Options{})
	inBubble(t, options, func(t *testing.T, w *harness) {
		w.set(func() {
			w.check = func(string) error { time.Sleep(30 * time.Millisecond); return nil }
			w.outcome = func(policy.DeletePermit) retention.Outcome {
				time.Sleep(20 * time.Millisecond)
				return retention.Outcome{Result: retention.Removed}
			}
		})
		w.listed(row("x", w.began))
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "spans", []string{
			"delete object 1h0m0s-1h0m0.05s",
			"  queue 1h0m0s-1h0m0s",
			"  rate limit 1h0m0s-1h0m0s",
			"  preflight 1h0m0s-1h0m0.03s",
			"    permission 1h0m0s-1h0m0s",
			"    owner permission 1h0m0s-1h0m0s",
			"    prepare 1h0m0s-1h0m0s",
			"    live 1h0m0s-1h0m0.03s",
			"  DELETE 1h0m0.03s-1h0m0.05s",
		}, all.lines(w.began))
		expect.Equal(t, "attributes", map[string]string{
			"sunset.policy": "a", "sunset.rule": "a", "sunset.reason": "Expired", "sunset.result": "removed",
			"sunset.due":         w.began.Add(time.Hour).UTC().Format(time.RFC3339Nano),
			"sunset.object.kind": "Job.batch",
			"sunset.object.name": "x",
			"sunset.object.uid":  "uid-x",
			"k8s.namespace.name": "team-a",
		}, all.attributes())
	})
}

// TestTraceOfRetry: each attempt has a trace, which begins when the retry is due.
func TestTraceOfRetry(t *testing.T) {
	options, all := recording(retention.Options{})
	inBubble(t, options, func(t *testing.T, w *harness) {
		n := 0
		w.onEachDelete(func() retention.Outcome {
			if n++; n == 1 {
				return retention.Outcome{Result: retention.Refused, Err: errors.New("a webhook denies it")}
			}
			return retention.Outcome{Result: retention.Removed}
		})
		w.listed(row("x", w.began))
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "traces", []string{
			"delete object 1h0m0s-1h0m0s: a webhook denies it",
			"delete object 1h0m0.1s-1h0m0.1s",
		}, roots(all.lines(w.began)))
		expect.Equal(t, "result of the first", "refused", all.attributes()["sunset.result"])
	})
}

// roots returns the lines without children.
func roots(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, " ") })
}

// TestTraceOfLedger: the trace of a deletion that is recorded in the ledger after it is due has the time of the record.
func TestTraceOfLedger(t *testing.T) {
	ledger := newLedgerFake()
	ledger.wrote = func() { time.Sleep(40 * time.Millisecond) }
	options, all := recording(retention.Options{Ledger: ledger})
	inBubble(t, options, func(t *testing.T, w *harness) {
		w.listedBy(fixture.Rule("counted", fixture.Counted), row("x", w.began.Add(-2*time.Hour)))
		bubble.Pass(time.Minute)
		lines := all.lines(w.began)
		expect.Equal(t, "spans", []string{
			"delete object 0s-40ms",
			"  queue 0s-0s",
			"  ledger 0s-40ms",
			"  queue 40ms-40ms",
		}, lines[:min(4, len(lines))])
		expect.Equal(t, "traces", 1, len(roots(lines)))
	})
}

// TestTraceOfArchive: the wait for the archive is a step of its own, after that for the ledger.
func TestTraceOfArchive(t *testing.T) {
	ledger, archive := newLedgerFake(), newArchiveFake()
	ledger.wrote = func() { time.Sleep(40 * time.Millisecond) }
	archive.takes = 30 * time.Millisecond
	options, all := recording(retention.Options{Ledger: ledger, Archive: archive})
	inBubble(t, options, func(t *testing.T, w *harness) {
		t.Cleanup(archive.writing.Wait)
		w.listedBy(fixture.Rule("archives", fixture.Archiving), row("x", w.began.Add(-2*time.Hour)))
		bubble.Pass(time.Minute)
		lines := all.lines(w.began)
		expect.Equal(t, "spans", []string{
			"delete object 0s-70ms",
			"  queue 0s-0s",
			"  ledger 0s-40ms",
			"  queue 40ms-40ms",
			"  archive 40ms-70ms",
			"  queue 70ms-70ms",
		}, lines[:min(6, len(lines))])
		expect.Equal(t, "traces", 1, len(roots(lines)))
	})
}

// TestTraceSaysWhyNothingIsSent: a trace without a request has the cause as its error, and the step that failed.
func TestTraceSaysWhyNothingIsSent(t *testing.T) {
	cause := errors.New("the clocks differ")
	for name, test := range map[string]struct {
		set  func(w *harness)
		rule *policy.Rule
		want []string // beginnings of lines
	}{
		"a check fails": {func(w *harness) { w.check = func(string) error { return cause } }, fixture.Rule("a"),
			[]string{"delete object 1h0m0s-1h0m0.5s: the clocks differ", "    live 1h0m0s-1h0m0s: the precondition is not met"}},
		"a permission is missing": {func(w *harness) { w.permit = func(*policy.Rule) error { return cause } }, fixture.Rule("a", ofTeamA),
			[]string{"delete object 1h0m0s-1h0m0s: the clocks differ"}},
		"the target cannot be deleted": {func(w *harness) {
			w.prepare = func(context.Context) *retention.Outcome {
				return &retention.Outcome{Result: retention.Refused, Err: cause, Unsent: true}
			}
		}, fixture.Rule("a"), []string{"delete object 1h0m0s-1h0m0s: the clocks differ", "    prepare 1h0m0s-1h0m0s: the precondition is not met"}},
	} {
		options, all := recording(retention.Options{})
		runInBubble(t, name, options, func(t *testing.T, w *harness) {
			w.set(func() { test.set(w) })
			w.listedBy(test.rule, row("x", w.began))
			bubble.Pass(time.Hour + 600*time.Millisecond)
			lines := all.lines(w.began)
			for _, want := range test.want {
				if !slices.Contains(lines, want) {
					t.Errorf("%q is not among\n%s", want, strings.Join(lines, "\n"))
				}
			}
			expect.Equal(t, "result", "unsent", all.attributes()["sunset.result"])
		})
	}
}

// TestNoTraceWithoutDeletion: marks, dry runs and kept objects have no traces.
func TestNoTraceWithoutDeletion(t *testing.T) {
	options, all := recording(retention.Options{})
	inBubble(t, options, func(t *testing.T, w *harness) {
		w.listedBy(fixture.Rule("a", fixture.Marking), row("x", w.began, unmarked))
		bubble.Pass(time.Hour)
		if len(w.written()) == 0 {
			t.Error("nothing was marked")
		}
		expect.Equal(t, "traces", 0, len(all.lines(w.began)))
	})
}

// hanging is an endpoint that never answers.
type hanging struct{ began chan struct{} }

func (h hanging) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	select {
	case h.began <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return ctx.Err()
}

func (hanging) Shutdown(context.Context) error { return nil }

// TestHangingEndpointDelaysNoDeletion: more spans than the queue holds are dropped, and every object is deleted when it is due.
func TestHangingEndpointDelaysNoDeletion(t *testing.T) {
	endpoint := hanging{make(chan struct{}, 1)}
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(endpoint)) // in the bubble, because it starts a goroutine
		w.Tracer = provider.Tracer(retention.TracerName)
		w.listed(rows("x", 1000, w.began)...)
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", 1000, len(w.removed()))
		for _, event := range w.happened() {
			if !strings.HasPrefix(event, "1h0m0s ") {
				t.Fatalf("late: %s", event)
			}
		}
		<-endpoint.began
		stopped, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := provider.Shutdown(stopped); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown: %v", err)
		}
		time.Sleep(time.Hour) // the exporter gives up
	})
}

// TestNoTracingAllocatesNothing: without a tracer, the steps of an attempt allocate nothing for traces.
func TestNoTracingAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(1000, retention.TraceSteps(t.Context())); n != 0 {
		t.Errorf("%v allocations for each deletion", n)
	}
}

// TestLogNamesTrace: every line about a traced deletion has the identifier of the trace.
func TestLogNamesTrace(t *testing.T) {
	var mu sync.Mutex // several goroutines log
	var lines []string
	logger := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{Verbosity: 1})
	options, all := recording(retention.Options{})
	inLoggedBubble(t, logger, options, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		bubble.Pass(2 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines {
			if strings.Contains(line, `"deleted"`) {
				if want := all.GetSpans()[0].SpanContext.TraceID().String(); !strings.Contains(line, want) {
					t.Errorf("%s lacks %s", line, want)
				}
				return
			}
		}
		t.Errorf("no line about the deletion: %q", lines)
	})
}
