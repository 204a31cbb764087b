package retention

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// limiter bounds how many removals are under way: one more for each round that goes well, half as many when the other
// side is busy (AIMD), none while it asked to be left alone.
type limiter struct {
	clock clock.Clock
	max   int

	mu        sync.Mutex
	limit     float64
	inFlight  int
	notBefore time.Time
	shrunk    time.Time     // when the limit was last halved
	changed   chan struct{} // closed and replaced when a waiter may try again
}

// shrinkEvery keeps one overload, seen by many requests at once, from halving the limit many times.
const shrinkEvery = 100 * time.Millisecond

// longestRest bounds what one answer can ask for.
const longestRest = time.Minute

func newLimiter(c clock.Clock, max int) *limiter {
	return &limiter{clock: c, max: max, limit: float64(max), changed: make(chan struct{})}
}

// acquire waits for a place. The error is ctx's.
func (l *limiter) acquire(ctx context.Context) error {
	for {
		l.mu.Lock()
		rest := l.notBefore.Sub(l.clock.Now())
		if rest <= 0 && l.inFlight < int(l.limit) {
			l.inFlight++
			l.mu.Unlock()
			return nil
		}
		changed := l.changed
		l.mu.Unlock()
		if err := l.wait(ctx, changed, rest); err != nil {
			return err
		}
	}
}

func (l *limiter) wait(ctx context.Context, changed <-chan struct{}, rest time.Duration) error {
	var alarm <-chan time.Time
	if rest > 0 {
		timer := l.clock.NewTimer(rest)
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

// release gives a place back and learns from how the attempt went; nil says that there was none.
func (l *limiter) release(attempt *Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	switch {
	case attempt == nil:
	case attempt.Result == Busy, attempt.Result == Failed:
		l.shrink(attempt.RetryAfter)
	default:
		l.limit = min(float64(l.max), l.limit+1/l.limit)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *limiter) shrink(retryAfter time.Duration) {
	now := l.clock.Now()
	if now.Sub(l.shrunk) >= shrinkEvery {
		l.limit, l.shrunk = max(1, l.limit/2), now
	}
	if until := now.Add(min(retryAfter, longestRest)); retryAfter > 0 && until.After(l.notBefore) {
		l.notBefore = until
	}
}
