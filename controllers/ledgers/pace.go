package ledgers

import (
	"context"
	"time"
)

// run keeps the ledger until ctx ends. It returns an error if another controller has taken over the ledger.
func (a *worker) run(ctx context.Context) error {
	timer := a.manager.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
		case <-timer.C():
		}
		next, err := a.step(ctx)
		if err != nil {
			return err
		}
		if !timer.Stop() {
			select {
			case <-timer.C():
			default:
			}
		}
		timer.Reset(max(0, next.Sub(a.manager.Clock.Now())))
	}
}

// idlePause is the time between two steps of an idle worker.
const idlePause = time.Minute

// next returns when the next step is due, unless nudge is called before.
func (a *worker) next(now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := now.Add(idlePause)
	sooner := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	switch {
	case a.none:
		return at
	case a.trouble != nil:
		return a.retryAt
	case !a.read || a.machine.Loose():
		return now.Add(retryEvery)
	}
	switch {
	case a.line.len == 0 || !a.opens() || !a.refills():
	case !a.blocked.IsZero():
		sooner(a.blocked)
	case a.urgent:
		sooner(now)
	case !a.aheadFrom.IsZero():
		sooner(a.aheadFrom.Add(aheadPause))
	}
	if !a.endsFrom.IsZero() {
		sooner(a.endsFrom.Add(endsPause))
	}
	if a.standing > 0 {
		sooner(a.swept.Add(sweepEvery))
	}
	if len(a.machine.Doubtful()) > 0 {
		sooner(a.looked.Add(a.lookAgain))
	}
	if free := a.written.Add(writePause); at.Before(free) {
		return free
	}
	return at
}
