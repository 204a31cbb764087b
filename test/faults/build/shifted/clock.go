// SPDX-License-Identifier: Apache-2.0

package shifted

import (
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"k8s.io/utils/clock"
)

// Variable is the environment variable that contains the path of the page's file.
const Variable = "SUNSET_FAULTS_CLOCK"

// page returns the page of the environment; nil without one.
var page = sync.OnceValue(func() *Page {
	path := os.Getenv(Variable)
	if path == "" {
		return nil
	}
	p, err := Open(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "clock:", err)
		os.Exit(2) // a test that sets the clock must not run with another one
	}
	return p
})

// RealClock is a clock.WithTicker. It has the same name as the type that it replaces.
type RealClock struct{ clock.RealClock }

var _ clock.WithTicker = RealClock{}

// Now implements clock.PassiveClock.
func (RealClock) Now() time.Time {
	now := time.Now()
	p := page()
	if p == nil {
		return now
	}
	step, gained := p.Read(now)
	return Set(now.Add(gained), step)
}

// Since implements clock.PassiveClock.
func (c RealClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// After implements clock.Clock.
func (c RealClock) After(d time.Duration) <-chan time.Time { return c.RealClock.After(machine(d)) }

// NewTimer implements clock.Clock.
func (c RealClock) NewTimer(d time.Duration) clock.Timer {
	return timer{c.RealClock.NewTimer(machine(d))}
}

// Sleep implements clock.Clock.
func (c RealClock) Sleep(d time.Duration) { c.RealClock.Sleep(machine(d)) }

// Tick implements clock.Clock.
func (c RealClock) Tick(d time.Duration) <-chan time.Time { return c.RealClock.Tick(machine(d)) }

// NewTicker implements clock.WithTicker.
func (c RealClock) NewTicker(d time.Duration) clock.Ticker { return c.RealClock.NewTicker(machine(d)) }

// AfterFunc implements clock.WithDelayedExecution.
func (c RealClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return timer{c.RealClock.AfterFunc(machine(d), f)}
}

// machine converts a duration of this clock to the machine's clock, at this clock's current rate.
func machine(d time.Duration) time.Duration {
	if p := page(); p != nil {
		return p.scaled(d)
	}
	return d
}

type timer struct{ clock.Timer }

// Reset implements clock.Timer.
func (t timer) Reset(d time.Duration) bool { return t.Timer.Reset(machine(d)) }

// parts are the fields of a time.Time, see there. If the first bit of wall is set, ext is a monotonic clock, and wall has 33
// bits of seconds since 1885 and 30 bits of nanoseconds.
type parts struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

const (
	hasMonotonic = 1 << 63
	nanosBits    = 30
	mostSeconds  = 1<<33 - 1
)

// Set moves the wall clock of a time and keeps its monotonic clock, which no function of package time does. If the year is
// out of range for a time with a monotonic clock, the result has none.
func Set(t time.Time, by time.Duration) time.Time {
	p := (*parts)(unsafe.Pointer(&t))
	if p.wall&hasMonotonic == 0 {
		return t.Add(by)
	}
	nanos := int64(p.wall&(1<<nanosBits-1)) + int64(by%time.Second)
	seconds := int64(p.wall<<1>>(nanosBits+1)) + int64(by/time.Second)
	if nanos < 0 {
		nanos, seconds = nanos+int64(time.Second), seconds-1
	} else if nanos >= int64(time.Second) {
		nanos, seconds = nanos-int64(time.Second), seconds+1
	}
	if seconds < 0 || seconds > mostSeconds {
		return t.Round(0).Add(by)
	}
	p.wall = hasMonotonic | uint64(seconds)<<nanosBits | uint64(nanos)
	return t
}
