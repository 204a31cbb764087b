package retention

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/sunset-k8s/sunset/policy"
)

// tick is the one clock: it hands what is due to the queue and sleeps until the next subject is.
func (r *Reconciler) tick(ctx context.Context) {
	timer := r.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := r.Clock.Now()
		next, ok := r.takeDue(now)
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

// setTimer sets the timer to next, or far away when there is nothing to wait for.
func setTimer(timer clock.Timer, next, now time.Time, ok bool) {
	wait := time.Hour
	if ok {
		wait = next.Sub(now)
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
func (r *Reconciler) takeDue(now time.Time) (next time.Time, ok bool) {
	r.mu.Lock()
	kinds := make([]*watched, 0, len(r.kinds))
	for _, w := range r.kinds {
		kinds = append(kinds, w)
	}
	r.mu.Unlock()
	for _, w := range kinds {
		w.index.TakeDue(now, func(s policy.Subject, rule policy.RuleID) { r.enqueue(w, s, rule) })
		if due, scheduled := w.index.Next(); scheduled && (!ok || due.Before(next)) {
			next, ok = due, true
		}
	}
	return next, ok
}

func (r *Reconciler) enqueue(w *watched, s policy.Subject, rule policy.RuleID) {
	priority := r.lanes.join(lane{policy: rule.Policy, namespace: s.Namespace})
	r.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(priority)}, item{kind: w, namespace: s.Namespace, uid: s.UID})
}
