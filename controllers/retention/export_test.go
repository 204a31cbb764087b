// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"time"
)

// TraceSteps returns what an attempt without a tracer does for traces.
func TraceSteps(ctx context.Context) func() {
	f := &attempt{pipeline: &pipeline{reconciler: &Reconciler{}}, it: item{namespace: "team-a", uid: "uid"}}
	now, cause, check := time.Unix(0, 0), errors.New("cause"), f.live
	return func() {
		f.queueTimes.join(f.it, now, waited{})
		f.waited = f.queueTimes.take(f.it)
		_ = f.withSpan("live", check)
		_, span := startSpan(ctx, "DELETE")
		setCause(ctx, cause)
		span.End()
	}
}

// Loads returns the number of namespaces with a state in memory.
func (r *Reconciler) Loads() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.kinds {
		n += len(w.pipeline.throttle.namespaces)
	}
	return n
}

// Failing returns the number of subjects whose failures are in memory.
func (r *Reconciler) Failing() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	failing := 0
	for _, w := range r.kinds {
		for _, t := range []*backoffs{w.pipeline.backoffs, w.pipeline.marks} {
			t.mu.Lock()
			failing += len(t.failed)
			t.mu.Unlock()
		}
	}
	return failing
}

// NoLedger is the Ledger of a Reconciler that has none.
var NoLedger Ledger = noLedger{}
