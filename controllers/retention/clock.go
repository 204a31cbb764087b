package retention

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// tick is the one clock: it hands what is due to the queue and sleeps until the next subject is.
func (r *Reconciler) tick(ctx context.Context) {
	timer := r.Clock.NewTimer(lookEvery)
	defer timer.Stop()
	defer r.Pulse.Stop()
	for {
		r.Pulse.Beat()
		now := r.Clock.Now()
		next, ok := r.takeDue(ctx, now)
		if ok && !next.After(now) {
			if ctx.Err() != nil {
				return
			}
			continue
		}
		setTimer(timer, next, now, ok)
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		case <-r.wake:
		}
	}
}

// lookEvery bounds the clock's sleep: the wall clock may step while it sleeps.
const lookEvery = time.Minute

// setTimer sets the timer to next, but not further away than lookEvery.
func setTimer(timer clock.Timer, next, now time.Time, ok bool) {
	wait := lookEvery
	if ok {
		wait = min(wait, next.Sub(now))
	}
	if !timer.Stop() {
		select {
		case <-timer.C():
		default:
		}
	}
	timer.Reset(wait)
}

// takeDue queues what is due and gives the soonest time at which more will be.
func (r *Reconciler) takeDue(ctx context.Context, now time.Time) (next time.Time, ok bool) {
	r.mu.Lock()
	kinds := make([]*watched, 0, len(r.kinds))
	for _, w := range r.kinds {
		kinds = append(kinds, w)
	}
	r.mu.Unlock()
	for _, w := range kinds {
		w.index.TakeDue(now, w.pipeline.enqueue)
		w.pipeline.said.sumUp(ctx, w.index.Kind().Kind, now)
		if due, scheduled := w.index.Next(); scheduled && (!ok || due.Before(next)) {
			next, ok = due, true
		}
	}
	return next, ok
}
