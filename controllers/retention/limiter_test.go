package retention_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/test/expect"
)

func result(r retention.Result) *retention.Outcome { return &retention.Outcome{Result: r} }

// attempt acquires a slot and releases it.
func attempt(t *testing.T, l retention.Limiter, o *retention.Outcome) {
	t.Helper()
	expect.NoError(t, l.Acquire(t.Context()))
	l.Release(o)
}

func TestLimitAfterOneAttempt(t *testing.T) {
	tests := map[string]struct {
		outcome *retention.Outcome
		want    float64
	}{
		"busy halves":                {result(retention.Busy), 8},
		"no answer halves":           {result(retention.Failed), 8},
		"removed keeps the maximum":  {result(retention.Removed), 16},
		"gone keeps the maximum":     {result(retention.Gone), 16},
		"no attempt changes nothing": {nil, 16},
		"no request was sent":        {&retention.Outcome{Result: retention.Failed, Unsent: true}, 16},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := retention.NewLimiter(clock.RealClock{}, 16)
			attempt(t, l, test.outcome)
			expect.Equal(t, "limit", test.want, l.Limit())
		})
	}
}

func TestOneBurstHalvesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := retention.NewLimiter(clock.RealClock{}, 16)
		for range 8 {
			attempt(t, l, result(retention.Busy))
		}
		expect.Equal(t, "limit after a burst", 8.0, l.Limit())
		time.Sleep(100 * time.Millisecond)
		attempt(t, l, result(retention.Busy))
		expect.Equal(t, "limit after the next", 4.0, l.Limit())
	})
}

// TestAnErrorAmongSuccessesDoesNotLowerConcurrency: such an error concerns the request and not the server. An error without
// successes around it lowers the limit.
func TestAnErrorAmongSuccessesDoesNotLowerConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := retention.NewLimiter(clock.RealClock{}, 16)
		failed := &retention.Outcome{Result: retention.Busy, Unsure: true}
		attempt(t, l, result(retention.Removed))
		attempt(t, l, failed)
		attempt(t, l, result(retention.Failed))
		expect.Equal(t, "limit among successes", 16.0, l.Limit())
		attempt(t, l, result(retention.Unadmitted))
		expect.Equal(t, "limit when admission fails", 16.0, l.Limit())
		attempt(t, l, result(retention.Busy))
		expect.Equal(t, "limit after 429", 8.0, l.Limit())
		time.Sleep(100 * time.Millisecond)
		attempt(t, l, failed)
		expect.Equal(t, "limit without successes", 4.0, l.Limit())
	})
}

func TestTheLimitNeverFallsBelowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := retention.NewLimiter(clock.RealClock{}, 16)
		for range 20 {
			attempt(t, l, result(retention.Busy))
			time.Sleep(time.Second)
		}
		expect.Equal(t, "limit", 1.0, l.Limit())
	})
}

func TestTheLimitGrowsByOneForEachRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := retention.NewLimiter(clock.RealClock{}, 4)
		for range 4 {
			attempt(t, l, result(retention.Busy))
			time.Sleep(time.Second)
		}
		for round, most := range []float64{2, 3, 4, 4} {
			for range int(l.Limit()) {
				attempt(t, l, result(retention.Removed))
			}
			if got := l.Limit(); got > most || got < most-0.6 {
				t.Errorf("limit %.2f after round %d, want about %.0f", got, round, most)
			}
		}
	})
}

func TestWhatWasNotAttemptedTeachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := retention.NewLimiter(clock.RealClock{}, 16)
		attempt(t, l, result(retention.Busy))
		for range 100 {
			attempt(t, l, nil)
		}
		expect.Equal(t, "limit", 8.0, l.Limit())
	})
}

func TestAcquireWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := retention.NewLimiter(clock.RealClock{}, 2)
		attemptAll := make(chan int)
		for i := range 3 {
			go func() {
				if l.Acquire(t.Context()) == nil {
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
		l.Release(result(retention.Removed))
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
			synctest.Test(t, func(t *testing.T) {
				l := retention.NewLimiter(clock.RealClock{}, 16)
				attempt(t, l, &retention.Outcome{Result: retention.Busy, RetryAfter: test.asked})
				began := time.Now()
				attempt(t, l, result(retention.Removed))
				expect.Equal(t, "rest", test.want, time.Since(began))
			})
		})
	}
}

func TestLimiterUsesTheLongerRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := retention.NewLimiter(clock.RealClock{}, 16)
		for range 2 {
			expect.NoError(t, l.Acquire(t.Context()))
		}
		l.Release(&retention.Outcome{Result: retention.Busy, RetryAfter: 5 * time.Second})
		l.Release(&retention.Outcome{Result: retention.Busy, RetryAfter: time.Second})
		began := time.Now()
		attempt(t, l, nil)
		expect.Equal(t, "rest", 5*time.Second, time.Since(began))
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	tests := map[string]func(t *testing.T, l retention.Limiter){
		"while it waits for a slot": func(t *testing.T, l retention.Limiter) {
			expect.NoError(t, l.Acquire(t.Context()))
		},
		"during Retry-After": func(t *testing.T, l retention.Limiter) {
			attempt(t, l, &retention.Outcome{Result: retention.Busy, RetryAfter: time.Minute})
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := retention.NewLimiter(clock.RealClock{}, 1)
				prepare(t, l)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := l.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, want %v", err, context.DeadlineExceeded)
				}
			})
		})
	}
}
