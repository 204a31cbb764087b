// Package bubble has what tests need that run in a bubble of testing/synctest: something that runs beside the test, time
// that passes, and a clock that can be set.
package bubble

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Start runs something beside a test and waits until it has nothing to do. Its log is discarded. It must run until its
// context ends, which stop does; stop waits for its return and reports its error.
func Start(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(log.IntoContext(t.Context(), logr.Discard()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Pass lets time pass and everything happen that it brings.
func Pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Clock is the clock of the bubble. It can be set, and its times have no monotonic reading.
type Clock struct {
	clock.RealClock
	ahead atomic.Int64 // nanoseconds
}

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time { return time.Now().Round(0).Add(time.Duration(c.ahead.Load())) }

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Set puts the clock ahead of the time of the bubble; before that it is not.
func (c *Clock) Set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }
