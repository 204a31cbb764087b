package retention

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// limiter bounds how many removals are under way. It looks for the number beyond which more of them would only wait in
// line on the other side, in front of everybody else's requests: one more for each round while answers come as fast as
// they ever did, one less while they take so much longer that several must be waiting (as TCP Vegas does). When the other
// side says that it is busy it is half as many, and none while it asked to be left alone.
type limiter struct {
	clock clock.Clock
	max   int

	mu        sync.Mutex
	limit     float64
	fastest   time.Duration // answer since then
	measured  time.Time     // when that was last measured anew
	inFlight  int
	notBefore time.Time
	shrunk    time.Time     // when the limit was last halved
	changed   chan struct{} // closed and replaced when a waiter may try again
}

// Where the number is left alone: so many of the attempts under way seem to wait in line.
const fewInLine, manyInLine = 2, 4

// measureEvery is how often all but one wait for a moment, so that how fast an answer can be is measured without a line:
// the other side may have become slower, or another machine may have come to answer.
const measureEvery = 30 * time.Second

// shrinkEvery keeps one overload, seen by many requests at once, from halving the limit many times.
const shrinkEvery = 100 * time.Millisecond

// longestRest bounds what one answer can ask for.
const longestRest = time.Minute

func newLimiter(c clock.Clock, max int) *limiter {
	return &limiter{clock: c, max: max, limit: 1, changed: make(chan struct{})}
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
		l.learn(attempt.Took)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// learn adjusts the limit by how long an attempt took that went well; 0 when nobody knows.
func (l *limiter) learn(took time.Duration) {
	now, waiting := l.clock.Now(), 0.0
	switch {
	case took <= 0:
	case now.Sub(l.measured) >= measureEvery:
		l.measured, l.fastest, l.limit = now, took, 1
		return
	default:
		l.fastest = min(l.fastest, took)
		waiting = l.limit * (1 - float64(l.fastest)/float64(took))
	}
	switch {
	case waiting < fewInLine:
		l.limit = min(float64(l.max), l.limit+1/l.limit)
	case waiting > manyInLine:
		l.limit = max(1, l.limit-1/l.limit)
	}
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
