// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/test/expect"
)

func result(r Result) *Outcome { return &Outcome{Result: r} }

// attemptOnce acquires a slot and releases it.
func attemptOnce(t *testing.T, l *limiter, o *Outcome) {
	t.Helper()
	expect.NoError(t, l.acquire(t.Context()))
	finish(l, o)
}

// finish releases a slot after an attempt; nil says that there was none.
func finish(l *limiter, o *Outcome) {
	l.learn(o)
	l.release()
}

// limiting runs a test with a limiter in a bubble.
func limiting(t *testing.T, max int, test func(t *testing.T, l *limiter)) {
	synctest.Test(t, func(t *testing.T) { test(t, newLimiter(clock.RealClock{}, max)) })
}

func TestLimitAfterOneAttempt(t *testing.T) {
	tests := map[string]struct {
		outcome *Outcome
		want    float64
	}{
		"busy halves":                {result(Busy), 8},
		"no answer halves":           {result(Failed), 8},
		"removed keeps the maximum":  {result(Removed), 16},
		"gone keeps the maximum":     {result(Gone), 16},
		"no attempt changes nothing": {nil, 16},
		"no request was sent":        {&Outcome{Result: Failed, Unsent: true}, 16},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLimiter(clock.RealClock{}, 16)
			attemptOnce(t, l, test.outcome)
			expect.Equal(t, "limit", test.want, l.limit)
		})
	}
}

func TestLimiterHalvesOncePerBurst(t *testing.T) {
	limiting(t, 16, func(t *testing.T, l *limiter) {
		for range 8 {
			attemptOnce(t, l, result(Busy))
		}
		expect.Equal(t, "limit after a burst", 8.0, l.limit)
		time.Sleep(100 * time.Millisecond)
		attemptOnce(t, l, result(Busy))
		expect.Equal(t, "limit after the next", 4.0, l.limit)
	})
}

// TestErrorAmongSuccessesDoesNotLowerConcurrency: such an error concerns the request and not the server. An error without
// successes around it lowers the limit.
func TestErrorAmongSuccessesDoesNotLowerConcurrency(t *testing.T) {
	limiting(t, 16, func(t *testing.T, l *limiter) {
		failed := &Outcome{Result: Busy, Unsure: true}
		attemptOnce(t, l, result(Removed))
		attemptOnce(t, l, failed)
		attemptOnce(t, l, result(Failed))
		expect.Equal(t, "limit among successes", 16.0, l.limit)
		attemptOnce(t, l, result(Unadmitted))
		expect.Equal(t, "limit when admission fails", 16.0, l.limit)
		attemptOnce(t, l, result(Busy))
		expect.Equal(t, "limit after 429", 8.0, l.limit)
		time.Sleep(100 * time.Millisecond)
		attemptOnce(t, l, failed)
		expect.Equal(t, "limit without successes", 4.0, l.limit)
	})
}

func TestLimitNeverFallsBelowOne(t *testing.T) {
	limiting(t, 16, func(t *testing.T, l *limiter) {
		for range 20 {
			attemptOnce(t, l, result(Busy))
			time.Sleep(time.Second)
		}
		expect.Equal(t, "limit", 1.0, l.limit)
	})
}

func TestLimitGrowsByOneForEachRound(t *testing.T) {
	limiting(t, 4, func(t *testing.T, l *limiter) {
		for range 4 {
			attemptOnce(t, l, result(Busy))
			time.Sleep(time.Second)
		}
		for round, most := range []float64{2, 3, 4, 4} {
			for range int(l.limit) {
				attemptOnce(t, l, result(Removed))
			}
			if got := l.limit; got > most || got < most-0.6 {
				t.Errorf("limit %.2f after round %d, want about %.0f", got, round, most)
			}
		}
	})
}

func TestLimiterIgnoresUnsentAttempts(t *testing.T) {
	limiting(t, 16, func(t *testing.T, l *limiter) {
		attemptOnce(t, l, result(Busy))
		for range 100 {
			attemptOnce(t, l, nil)
		}
		expect.Equal(t, "limit", 8.0, l.limit)
	})
}

func TestAcquireWaitsForAPlace(t *testing.T) {
	limiting(t, 2, func(t *testing.T, l *limiter) {
		attemptAll := make(chan int)
		for i := range 3 {
			go func() {
				if l.acquire(t.Context()) == nil {
					attemptAll <- i
				}
			}()
		}
		<-attemptAll
		<-attemptAll
		synctest.Wait()
		select {
		case <-attemptAll:
			t.Fatal("a third attempt began")
		default:
		}
		finish(l, result(Removed))
		<-attemptAll
	})
}

func TestLimiterRetryAfterPausesAll(t *testing.T) {
	tests := map[string]struct {
		asked, want time.Duration
	}{
		"as long as requested":  {3 * time.Second, 3 * time.Second},
		"at most a minute":      {time.Hour, time.Minute},
		"none if not requested": {0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			limiting(t, 16, func(t *testing.T, l *limiter) {
				attemptOnce(t, l, &Outcome{Result: Busy, RetryAfter: test.asked})
				began := time.Now()
				attemptOnce(t, l, result(Removed))
				expect.Equal(t, "rest", test.want, time.Since(began))
			})
		})
	}
}

func TestLimiterUsesTheLongerRetryAfter(t *testing.T) {
	limiting(t, 16, func(t *testing.T, l *limiter) {
		for range 2 {
			expect.NoError(t, l.acquire(t.Context()))
		}
		finish(l, &Outcome{Result: Busy, RetryAfter: 5 * time.Second})
		finish(l, &Outcome{Result: Busy, RetryAfter: time.Second})
		began := time.Now()
		attemptOnce(t, l, nil)
		expect.Equal(t, "rest", 5*time.Second, time.Since(began))
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	tests := map[string]func(t *testing.T, l *limiter){
		"while it waits for a slot": func(t *testing.T, l *limiter) {
			expect.NoError(t, l.acquire(t.Context()))
		},
		"during Retry-After": func(t *testing.T, l *limiter) {
			attemptOnce(t, l, &Outcome{Result: Busy, RetryAfter: time.Minute})
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			limiting(t, 1, func(t *testing.T, l *limiter) {
				prepare(t, l)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := l.acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, want %v", err, context.DeadlineExceeded)
				}
			})
		})
	}
}
