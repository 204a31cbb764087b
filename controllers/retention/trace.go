// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
)

// traced makes an attempt and records it as a trace. It records only attempts that can delete, and none to mark a subject, or to
// have its deletion recorded in the ledger or in the archive: the trace of the deletion has the time of both.
func (f *attempt) traced(ctx context.Context) *Outcome {
	now := f.reconciler.Clock.Now()
	likely, _ := f.kind.index.Peek(f.it.uid, now)
	if !likely.Permit.Valid() || f.lacksRecord(likely.Expected) {
		return f.try(ctx)
	}
	if f.waited.due.IsZero() {
		f.waited.due = now
	}
	ctx, root := f.reconciler.Tracer.Start(ctx, "delete object", trace.WithNewRoot(), trace.WithTimestamp(f.waited.due),
		trace.WithAttributes(attributesOf(likely.Permit)...))
	defer root.End()
	if id := traceID(ctx); id != "" {
		ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("traceID", id))
	}
	ctx = context.WithValue(ctx, rootKey{}, root)
	f.waited.record(ctx, now)
	outcome := f.try(ctx)
	setResult(root, outcome)
	return outcome
}

// lacksRecord reports whether a deletion must be recorded in the ledger first, or in the archive.
func (f *attempt) lacksRecord(expected policy.Intent) bool {
	if expected.Rule == nil {
		return false
	}
	target, recorded := f.reconciler.Ledger.Lookup(expected)
	if recorded && expected.Rule.Archive != nil {
		_, recorded = f.reconciler.Archive.Lookup(expected, target)
	}
	return !recorded
}

func attributesOf(w policy.DeletePermit) []attribute.KeyValue {
	subject := w.Subject()
	all := []attribute.KeyValue{
		attribute.String("sunset.policy", w.Rule().ID.Policy),
		attribute.String("sunset.rule", w.Rule().ID.Rule),
		attribute.String("sunset.reason", string(w.Reason())),
		attribute.String("sunset.due", w.Due().UTC().Format(time.RFC3339Nano)),
		attribute.String("sunset.object.kind", w.Rule().Kind.GroupKind().String()),
		attribute.String("sunset.object.name", subject.Name),
		attribute.String("sunset.object.uid", string(subject.UID)),
	}
	if subject.Namespace != "" {
		all = append(all, semconv.K8SNamespaceName(subject.Namespace))
	}
	if owner := w.Owner(); owner != nil {
		all = append(all, attribute.String("sunset.owner", owner.String()))
	}
	if outcome := w.Intent().Outcome; outcome != "" {
		all = append(all, attribute.String("sunset.outcome", outcome))
	}
	return all
}

// traceID identifies the trace of an attempt; empty if it is not exported.
func traceID(ctx context.Context) string {
	if sampled := trace.SpanContextFromContext(ctx); sampled.IsSampled() {
		return sampled.TraceID().String()
	}
	return ""
}

// record records what a subject has waited for.
func (w waited) record(ctx context.Context, now time.Time) {
	step := func(name string, from, to time.Time) {
		_, span := startSpan(ctx, name, trace.WithTimestamp(from))
		span.End(trace.WithTimestamp(to))
	}
	if w.queued.IsZero() {
		return
	}
	at, recorded := w.due, w.recorded
	if w.archived.IsZero() {
		recorded = w.queued
	}
	if !w.reserved.IsZero() {
		step("queue", at, w.reserved)
		step("ledger", w.reserved, recorded)
		at = recorded
	}
	if !w.archived.IsZero() {
		step("queue", at, w.archived)
		step("archive", w.archived, w.queued)
		at = w.queued
	}
	step("queue", at, now)
}

// setResult records the result of an attempt; nil means that no request was sent. A conflict does not count as an error.
func setResult(root trace.Span, o *Outcome) {
	result := "unsent"
	if o != nil && !o.Unsent {
		result = o.Result.String()
	}
	root.SetAttributes(attribute.String("sunset.result", result))
	if o != nil && o.Err != nil && o.Result != Changed && o.Result != Gone {
		root.SetStatus(codes.Error, short(o.Err))
	}
}

type rootKey struct{}

// setCause records in the trace, if there is one, why no request is sent.
func setCause(ctx context.Context, err error) {
	if root, ok := ctx.Value(rootKey{}).(trace.Span); ok {
		root.SetStatus(codes.Error, short(err))
	}
}

// startSpan begins a step of an attempt. Without a trace it does nothing, and allocates nothing.
func startSpan(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, parent
	}
	return parent.TracerProvider().Tracer(TracerName).Start(ctx, name, options...)
}

// TracerName is the name of the instrumentation scope of the spans.
const TracerName = "github.com/sunset-k8s/sunset/controllers/retention"

// withSpan records each check of a precondition, if there is tracing.
func (f *attempt) withSpan(name string, check preflight.Precondition) preflight.Precondition {
	if f.reconciler.Tracer == nil {
		return check
	}
	return func(ctx context.Context) (since time.Time, failed func()) {
		ctx, span := startSpan(ctx, name)
		defer span.End()
		if since, failed = check(ctx); failed != nil {
			span.SetStatus(codes.Error, "the precondition is not met")
		}
		return since, failed
	}
}
