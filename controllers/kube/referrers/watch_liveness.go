// SPDX-License-Identifier: Apache-2.0

package referrers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	// outOfTouch is how long a kind may be without a watch before changes count as missed. After a watch has ended, the next one
	// starts within milliseconds.
	outOfTouch = 5 * time.Second
	// silence is how long a listing may send nothing, and a watch that has sent bookmarks: they come each minute.
	silence = 90 * time.Second
	// longSilence is how long any other watch may send nothing: Sunset requests watches of at most ten minutes.
	longSilence = 11 * time.Minute
	// span is the period in which the time to read events is measured, to find out whether a watch is behind.
	span = time.Second
	// framing limits how long the stream takes to find the end of an object, as a multiple of the time to read the object. For an
	// object of 256 KiB these times were 0.5 ms and 0.12 ms. A longer gap is waiting. If reading took less than slow, the gap is
	// ignored.
	framing = 5
	slow    = 100 * time.Microsecond
	// settling is how long a new watch may still send earlier events.
	settling = time.Second
)

// elapsed returns how much time may have passed since then: the maximum of the monotonic time, the wall time and their
// difference. The monotonic clock stops while a machine is suspended, and the wall clock can be set forward or back. Unlike in
// lease.Elapsed, a small change of the clock is a short time, because false positives are expensive here.
func elapsed(now, then time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)).Abs(), jump(now, then))
}

// jump returns by how much the wall clock has moved since then, beyond the time that passed.
func jump(now, then time.Time) time.Duration {
	return (now.Round(0).Sub(then.Round(0)) - now.Sub(then)).Abs()
}

// watchLiveness tracks whether the changes of the objects of a kind arrive. An open watch that sends nothing may be frozen, which is
// otherwise not noticed. A new watch first sends earlier events, or an error if it cannot. It is not live until it has settled.
//
// A watch that sends more events than can be read in time is not live until Sunset has caught up.
//
// It cannot detect an API server that responds but is behind the others.
type watchLiveness struct {
	clock  clock.PassiveClock
	report func(live bool) // is called when live changes

	mu           sync.Mutex
	attempt      context.CancelFunc // ends the current listing or watch; nil for none
	streams      bool               // a watch is open that still sends a listing
	open         bool               // a watch is open that sends changes
	live         bool               // the open watch has settled and is not behind
	hasBookmarks bool               // the watch sends bookmarks
	lastArrival  time.Time          // when something last arrived
	since        time.Time          // when the watch was opened or has caught up
	closed       time.Time          // since when no watch has been live

	began   time.Time     // when the span began
	busy    time.Duration // time of the span spent on reading
	reading time.Time     // since when an object is being read; zero for none
	took    time.Duration // time to read the last object
	ended   time.Time     // when it had been read
	behind  bool          // reading took nearly all of the last span: the objects that are read now may be old
}

// begin is called before a request. The context ends if nothing arrives for too long, or with end.
func (c *watchLiveness) begin(ctx context.Context) (limited context.Context, end func()) {
	limited, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt, c.lastArrival = cancel, c.clock.Now()
	return limited, sync.OnceFunc(func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.attempt, c.streams, c.open = nil, false, false
		if c.live {
			c.live, c.closed = false, c.clock.Now()
			c.report(false)
		}
	})
}

// opened records that the request has opened a watch, and whether the watch streams a listing first. A server that can stream
// listings sends bookmarks.
func (c *watchLiveness) opened(lists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastArrival = c.clock.Now()
	c.streams, c.open, c.hasBookmarks, c.since = lists, !lists, lists, c.lastArrival
}

// listed records that a listing is complete, and reports whether a watch is open that continues from it.
func (c *watchLiveness) listed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams {
		c.streams, c.open, c.since = false, true, c.clock.Now()
	}
	return c.open
}

// settle makes a watch live once it has settled. It is called regularly.
func (c *watchLiveness) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update(c.clock.Now())
	if c.open && !c.live && !c.behind && c.clock.Since(c.since) >= settling {
		c.live = true
		c.report(true)
	}
}

// noteArrival records that an object has arrived, and returns a func to call when the object has been read.
func (c *watchLiveness) noteArrival() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	came := c.clock.Now()
	if gap := came.Sub(c.ended); c.took >= slow && gap <= framing*c.took {
		c.busy += gap // time to find the end of the object
	}
	c.lastArrival, c.reading = came, came
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		now := c.clock.Now()
		c.busy += now.Sub(policy.Latest(came, c.began))
		c.reading, c.took, c.ended = time.Time{}, now.Sub(came), now
		c.update(now)
	}
}

// update ends a span that is over. A listing is never behind: it is read as fast as it arrives.
func (c *watchLiveness) update(now time.Time) {
	took := now.Sub(c.began)
	if took >= 0 && took < span { // after a clock was set back, a new span begins
		return
	}
	was, busy := c.behind, c.busy
	if !c.reading.IsZero() {
		busy += now.Sub(policy.Latest(c.reading, c.began))
	}
	c.behind = c.open && busy > took*4/5
	switch {
	case c.behind && c.live:
		c.live, c.closed = false, now
		c.report(false)
	case was && !c.behind:
		c.since = now
	}
	c.began, c.busy = now, 0
}

// mark records that the watch has sent a bookmark.
func (c *watchLiveness) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hasBookmarks, c.lastArrival = true, c.clock.Now()
}

// doubt returns why changes may have been missed; nil if they were not. It ends a request that has received nothing for too long.
func (c *watchLiveness) doubt() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	limit := silence
	if c.open && !c.hasBookmarks {
		limit = longSilence
	}
	quiet := c.attempt != nil && elapsed(now, c.lastArrival) > limit
	if quiet {
		c.attempt()
	}
	switch {
	case c.open && quiet:
		return fmt.Errorf("the watch has received nothing for %s", limit)
	case !c.open && elapsed(now, c.closed) > outOfTouch:
		return fmt.Errorf("the watch has been interrupted for %s", elapsed(now, c.closed).Truncate(time.Second))
	}
	return nil
}

// mute ends the calls of tell.
func (c *watchLiveness) mute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report = func(bool) {}
}

// cut ends the current listing or watch.
func (c *watchLiveness) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt != nil {
		c.attempt()
	}
}
