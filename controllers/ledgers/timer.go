// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"time"
)

// run keeps the ledger until ctx ends. It returns an error if another controller has taken over the ledger.
func (w *worker) run(ctx context.Context) error {
	pause := time.Duration(0)
	for w.wake.Wait(ctx, w.manager.Clock, pause) {
		next, err := w.step(ctx)
		if err != nil {
			return err
		}
		pause = next.Sub(w.manager.Clock.Now())
	}
	return nil
}

// idlePause is the time between two steps of an idle worker.
const idlePause = time.Minute

// next returns when the next step is due, unless the worker is woken before.
func (w *worker) next(now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := now.Add(idlePause)
	sooner := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	switch {
	case w.none:
		return at
	case w.writeErr != nil:
		return w.retryAt
	case !w.read || w.machine.MayBeReplaced():
		return now.Add(retryEvery)
	case w.policy != nil && !w.caughtUp:
		sooner(now.Add(statusPause))
	}
	switch {
	case w.queue.len == 0 || !w.opens() || !w.refills():
	case !w.blocked.IsZero():
		sooner(w.blocked)
	case w.urgent:
		sooner(now)
	case !w.aheadFrom.IsZero():
		sooner(w.aheadFrom.Add(aheadPause))
	}
	if !w.endsFrom.IsZero() {
		sooner(w.endsFrom.Add(endsPause))
	}
	if w.unsent > 0 {
		sooner(w.swept.Add(sweepEvery))
	}
	if w.known && len(w.machine.Doubtful()) > 0 {
		sooner(w.observedAt.Add(w.observePause))
	}
	if free := w.written.Add(writePause); at.Before(free) {
		return free
	}
	return at
}
