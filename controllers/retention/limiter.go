// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// limiter limits how many deletions are in flight (AIMD): it adds one after each round of successes, and halves the limit
// when the API server is busy. Then it sends none until the end of the Retry-After.
type limiter struct {
	clock clock.Clock
	max   int

	mu        sync.Mutex
	limit     float64
	inFlight  int
	notBefore time.Time
	shrunk    time.Time      // when the limit was last halved
	goodAt    time.Time      // when the last answer came that was not a failure
	changed   wake.Broadcast // waiting callers should check again
}

// shrinkEvery is the time between two reductions of the limit, so that one overload that affects many requests halves it
// only once.
const shrinkEvery = 100 * time.Millisecond

// longestRest limits the Retry-After of one answer.
const longestRest = time.Minute

func newLimiter(c clock.Clock, max int) *limiter {
	return &limiter{clock: c, max: max, limit: float64(max)}
}

// acquire waits for a slot. The error is ctx's.
func (l *limiter) acquire(ctx context.Context) error {
	return l.await(ctx, func() bool {
		free := l.inFlight < int(l.limit)
		if free {
			l.inFlight++
		}
		return free
	})
}

// rest waits for the end of the API server's Retry-After. The error is ctx's.
func (l *limiter) rest(ctx context.Context) error {
	return l.await(ctx, func() bool { return true })
}

// await waits until requests may be sent and take reports true. It calls take with the lock held.
func (l *limiter) await(ctx context.Context, take func() bool) error {
	for {
		l.mu.Lock()
		rest := l.notBefore.Sub(l.clock.Now())
		if rest <= 0 && take() {
			l.mu.Unlock()
			return nil
		}
		changed := l.changed.C()
		l.mu.Unlock()
		if err := pause(ctx, l.clock, changed, rest); err != nil {
			return err
		}
	}
}

// pause waits until changed is closed, or until rest has passed if it is above zero. The error is ctx's.
func pause(ctx context.Context, c clock.Clock, changed <-chan struct{}, rest time.Duration) error {
	var alarm <-chan time.Time
	if rest > 0 {
		timer := c.NewTimer(rest)
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
	case <-alarm:
	}
	return nil
}

// release returns a slot.
func (l *limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	l.changed.Send()
}

// learn adapts the limit to the result of an attempt. A result that does not concern the API server as a whole changes
// nothing; nil means that there was no attempt.
func (l *limiter) learn(attempt *Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case attempt == nil || attempt.Unsent || attempt.Result == Unadmitted:
	case !attempt.asksForLess() && attempt.failed() && l.clock.Since(l.goodAt) < shrinkEvery: // other requests succeed
	case attempt.failed():
		l.shrink(attempt.RetryAfter)
	default:
		l.goodAt = l.clock.Now()
		l.limit = min(float64(l.max), l.limit+1/l.limit)
	}
	l.changed.Send()
}

// asksForLess reports whether the API server as a whole is overloaded.
func (o *Outcome) asksForLess() bool { return o.Result == Busy && !o.Unsure }

// failed reports whether there was no answer, or one that does not concern the subject.
func (o *Outcome) failed() bool { return o.Result == Busy || o.Result == Failed }

func (l *limiter) shrink(retryAfter time.Duration) {
	now := l.clock.Now()
	if now.Sub(l.shrunk) >= shrinkEvery {
		l.limit, l.shrunk = max(1, l.limit/2), now
	}
	if until := now.Add(min(retryAfter, longestRest)); retryAfter > 0 && until.After(l.notBefore) {
		l.notBefore = until
	}
}
