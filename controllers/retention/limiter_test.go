package retention_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/retention"
)

func result(r retention.Result) *retention.Outcome { return &retention.Outcome{Result: r} }

// attempt takes a place and gives it back.
func attempt(t *testing.T, l retention.Limiter, o *retention.Outcome) {
	t.Helper()
	if err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Release(o)
}

// grown is a limiter whose other side has answered so well that it lets max go at a time.
func grown(t *testing.T, max int) retention.Limiter {
	t.Helper()
	l := retention.NewLimiter(clock.RealClock{}, max)
	for l.Limit() < float64(max) {
		attempt(t, l, &retention.Outcome{Result: retention.Removed, Took: 5 * time.Millisecond})
	}
	return l
}

func TestLimitAfterOneAttempt(t *testing.T) {
	tests := map[string]struct {
		outcome *retention.Outcome
		want    float64
	}{
		"busy halves":             {result(retention.Busy), 8},
		"no answer halves":        {result(retention.Failed), 8},
		"removed leaves the most": {result(retention.Removed), 16},
		"gone leaves the most":    {result(retention.Gone), 16},
		"no attempt says nothing": {nil, 16},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := grown(t, 16)
			attempt(t, l, test.outcome)
			expect(t, "limit", test.want, l.Limit())
		})
	}
}

func TestOneBurstHalvesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := grown(t, 16)
		for range 8 {
			attempt(t, l, result(retention.Busy))
		}
		expect(t, "limit after a burst", 8.0, l.Limit())
		time.Sleep(100 * time.Millisecond)
		attempt(t, l, result(retention.Busy))
		expect(t, "limit after the next", 4.0, l.Limit())
	})
}

func TestTheLimitNeverFallsBelowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := grown(t, 16)
		for range 20 {
			attempt(t, l, result(retention.Busy))
			time.Sleep(time.Second)
		}
		expect(t, "limit", 1.0, l.Limit())
	})
}

func TestTheLimitGrowsByOneForEachRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := grown(t, 4)
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
		l := grown(t, 16)
		attempt(t, l, result(retention.Busy))
		for range 100 {
			attempt(t, l, nil)
		}
		expect(t, "limit", 8.0, l.Limit())
	})
}

// line is another side that works on width requests at a time, each for work; the others wait.
type line struct {
	width int
	work  time.Duration
}

// answer is what so many under way at a time find.
func (l line) answer(under int) *retention.Outcome {
	return &retention.Outcome{Result: retention.Removed, Took: l.work * time.Duration(max(under, l.width)) / time.Duration(l.width)}
}

// settle lets attempts go on for a while, and gives the limit where that ends.
func settle(t *testing.T, l retention.Limiter, other line) int {
	t.Helper()
	for range 2000 {
		attempt(t, l, other.answer(int(l.Limit())))
		time.Sleep(time.Millisecond)
	}
	return int(l.Limit())
}

func TestTheLimitFindsWhereALineBegins(t *testing.T) {
	tests := map[string]struct {
		other       line
		least, most int
	}{
		"one at a time":                 {line{1, 10 * time.Millisecond}, 1, 3},
		"four at a time":                {line{4, 5 * time.Millisecond}, 4, 7},
		"as many as may be":             {line{100, 5 * time.Millisecond}, 16, 16},
		"nobody knows how long it took": {line{1, 0}, 16, 16},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := settle(t, retention.NewLimiter(clock.RealClock{}, 16), test.other)
				if got < test.least || got > test.most {
					t.Errorf("%d at a time, want %d to %d", got, test.least, test.most)
				}
			})
		})
	}
}

func TestWhatTookNoTimeIsNotTheFastest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := grown(t, 16)
		for range 500 {
			attempt(t, l, result(retention.Changed))
			attempt(t, l, line{100, 5 * time.Millisecond}.answer(16))
		}
		expect(t, "limit", 16.0, l.Limit())
	})
}

func TestTheLimitFollowsAnotherSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := retention.NewLimiter(clock.RealClock{}, 16)
		settle(t, l, line{100, time.Millisecond})
		settle(t, l, line{100, 20 * time.Millisecond}) // what was fast was another machine
		time.Sleep(time.Minute)
		if got := settle(t, l, line{100, 20 * time.Millisecond}); got != 16 {
			t.Errorf("%d at a time beside one that is slower but has no line, want 16", got)
		}
	})
}

func TestAcquireWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := grown(t, 2)
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
			t.Fatal("a third went ahead")
		default:
		}
		l.Release(result(retention.Removed))
		<-attemptAll
	})
}

func TestRetryAfterRestsEverybody(t *testing.T) {
	tests := map[string]struct {
		asked, want time.Duration
	}{
		"as long as asked":         {3 * time.Second, 3 * time.Second},
		"but not for an hour":      {time.Hour, time.Minute},
		"not at all, if not asked": {0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := retention.NewLimiter(clock.RealClock{}, 16)
				attempt(t, l, &retention.Outcome{Result: retention.Busy, RetryAfter: test.asked})
				began := time.Now()
				attempt(t, l, result(retention.Removed))
				expect(t, "rest", test.want, time.Since(began))
			})
		})
	}
}

func TestTheLongerRestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := grown(t, 16)
		for range 2 {
			if err := l.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		l.Release(&retention.Outcome{Result: retention.Busy, RetryAfter: 5 * time.Second})
		l.Release(&retention.Outcome{Result: retention.Busy, RetryAfter: time.Second})
		began := time.Now()
		attempt(t, l, nil)
		expect(t, "rest", 5*time.Second, time.Since(began))
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	tests := map[string]func(t *testing.T, l retention.Limiter){
		"while it waits for a place": func(t *testing.T, l retention.Limiter) {
			if err := l.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"while everybody rests": func(t *testing.T, l retention.Limiter) {
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
