// SPDX-License-Identifier: Apache-2.0

// Package bubble helps tests that run in a testing/synctest bubble: it runs a function beside the test, lets time pass, and
// has a clock that a test can set.
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

// Start runs a function beside a test and waits until the function is idle. It discards the function's log. The function
// must run until its context ends. stop ends the context, waits for the function to return and reports its error.
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

// Pass lets time pass and waits until everything that this causes has happened.
func Pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Clock is the clock of the bubble. A test can set it, and its times have no monotonic reading.
type Clock struct {
	clock.RealClock
	ahead atomic.Int64 // nanoseconds
}

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time { return time.Now().Round(0).Add(time.Duration(c.ahead.Load())) }

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Set makes the clock run ahead of the bubble's time. The zero Clock is not ahead.
func (c *Clock) Set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }
