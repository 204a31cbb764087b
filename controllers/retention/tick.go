// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
)

// tick is the only clock: it queues due subjects and sleeps until the next subject is due.
func (r *Reconciler) tick(ctx context.Context) {
	timer := r.Clock.NewTimer(lookEvery)
	defer timer.Stop()
	defer r.Heartbeat.Stop()
	for {
		r.Heartbeat.Beat()
		now := r.Clock.Now()
		next, ok := r.takeDue(ctx, now)
		if ok && !next.at.After(now) {
			if ctx.Err() != nil {
				return
			}
			continue
		}
		wake := next.at.Add(-prefetchAhead)
		if ok && !wake.After(now) {
			r.prefetch(ctx, next)
			wake = next.at
		}
		wait := lookEvery
		if ok {
			wait = min(wait, wake.Sub(now))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		case <-r.wake.C():
		}
	}
}

// lookEvery limits the sleep of the clock: the wall clock may step while it sleeps.
const lookEvery = time.Minute

// prefetchAhead is how long before a subject is due preflight reads in advance. prefetchFor is how long after that time the
// answers must still count, because the deletion itself takes a while.
const (
	prefetchAhead = preflight.MaxAge / 2
	prefetchFor   = preflight.MaxAge / 4
)

// soonest is the time at which the next subject of any kind is due, and its namespace.
type soonest struct {
	at        time.Time
	namespace string
}

// prefetch has preflight read in advance, unless such a read is in flight.
func (r *Reconciler) prefetch(ctx context.Context, next soonest) {
	if r.prefetching.CompareAndSwap(false, true) {
		r.tasks.Go(func() {
			defer r.prefetching.Store(false)
			r.Live.Prefetch(ctx, next.namespace, next.at.Add(prefetchFor))
		})
	}
}

// takeDue queues the due subjects, and returns which one is due next; ok is false if no subject becomes due without a
// change.
func (r *Reconciler) takeDue(ctx context.Context, now time.Time) (next soonest, ok bool) {
	r.mu.Lock()
	kinds := slices.Collect(maps.Values(r.kinds))
	r.mu.Unlock()
	for _, w := range kinds {
		w.index.TakeDue(now, w.pipeline.enqueue)
		w.pipeline.logs.sumUp(ctx, w.index.Kind().Kind, now)
		if due, namespace, scheduled := w.index.Next(); scheduled && (!ok || due.Before(next.at)) {
			next, ok = soonest{due, namespace}, true
		}
	}
	return next, ok
}
