package referrers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// outOfTouch is for how long there may be no watch before what happens counts as unseen. A watch that has come to its
	// end is taken up again within milliseconds.
	outOfTouch = 5 * time.Second
	// silence is for how long a listing may say nothing, and a watch that has sent bookmarks: they come each minute.
	silence = 90 * time.Second
	// longSilence is for how long any other watch may: none is asked to last for more than ten minutes.
	longSilence = 11 * time.Minute
	// span is how long a watch is looked at to see whether reading what it tells takes longer than what happens.
	span = time.Second
	// framing bounds how long the stream needs to find the end of an object, in times of what reading the object took: an object of
	// 256 KiB took 0.5 ms to find and 0.12 ms to read. A longer gap is waiting. Objects that took less than slow are found at once.
	framing = 5
	slow    = 100 * time.Microsecond
	// settling is for how long a new watch may still be telling what happened before it was there.
	settling = time.Second
)

// elapsed is how much time may have passed since then, by the monotonic or by the wall clock, or by how far they have come
// apart, whichever says most: the one stands still while a machine is suspended, the other can be set, either way. A clock
// that is set by little makes little of it, unlike lease.Elapsed: doubt is dear here.
func elapsed(now, then time.Time) time.Duration {
	monotonic, wall := now.Sub(then), now.Round(0).Sub(then.Round(0))
	return max(monotonic, wall.Abs(), (wall - monotonic).Abs())
}

// contact is whether what happens to the objects of a kind reaches us. A watch that is open and says nothing may be frozen,
// which nobody would notice otherwise. One that has just been opened tells what happened before, or that it cannot: until it
// has settled it counts for nothing.
//
// So does one that tells more than can be read in time, until that has been caught up with.
//
// What it cannot see is an API server that answers and is behind the others.
type contact struct {
	clock clock.PassiveClock
	tell  func(live bool) // whether what happens is told as it happens, when that changes

	mu      sync.Mutex
	attempt context.CancelFunc // ends the listing or watch under way; nil for none
	streams bool               // a watch is open that still gives a listing
	open    bool               // one is that tells what happens
	live    bool               // it has settled
	marked  bool               // it sends bookmarks
	heard   time.Time          // when something came
	since   time.Time          // when it was opened
	closed  time.Time          // since when no watch has been live

	began   time.Time     // of the span
	busy    time.Duration // of it, with reading what came
	reading time.Time     // since when an object is being read; zero for none
	took    time.Duration // reading the latest, until ended
	ended   time.Time
	behind  bool // nearly all of the latest span: what is read now may have been told long ago
}

// begin is called before something is asked for. The context ends when nothing has come for too long, or with end.
func (c *contact) begin(ctx context.Context) (limited context.Context, end func()) {
	limited, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt, c.heard = cancel, c.clock.Now()
	return limited, sync.OnceFunc(func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.attempt, c.streams, c.open = nil, false, false
		if c.live {
			c.live, c.closed = false, c.clock.Now()
			c.tell(false)
		}
	})
}

// opened says that what was begun is a watch, which is there now, and whether it streams a listing first: a server that can
// do so sends bookmarks.
func (c *contact) opened(lists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = c.clock.Now()
	c.streams, c.open, c.marked, c.since = lists, !lists, lists, c.heard
}

// listed says that a listing is complete, and reports whether a watch is open that goes on from there.
func (c *contact) listed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams {
		c.streams, c.open, c.since = false, true, c.clock.Now()
	}
	return c.open
}

// settle is called now and then.
func (c *contact) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look(c.clock.Now())
	if c.open && !c.live && !c.behind && c.clock.Since(c.since) >= settling {
		c.live = true
		c.tell(true)
	}
}

// hear says that something has come, and gives what to call when it has been read.
func (c *contact) hear() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	came := c.clock.Now()
	if gap := came.Sub(c.ended); c.took >= slow && gap <= framing*c.took {
		c.busy += gap // with finding where the object ends
	}
	c.heard, c.reading = came, came
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		now := c.clock.Now()
		c.busy += now.Sub(later(came, c.began))
		c.reading, c.took, c.ended = time.Time{}, now.Sub(came), now
		c.look(now)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// look ends a span that is over. A listing is read as fast as it comes, which says nothing.
func (c *contact) look(now time.Time) {
	took := now.Sub(c.began)
	if took >= 0 && took < span { // a clock that was set back begins again
		return
	}
	was, busy := c.behind, c.busy
	if !c.reading.IsZero() {
		busy += now.Sub(later(c.reading, c.began))
	}
	c.behind = c.open && busy > took*4/5
	switch {
	case c.behind && c.live:
		c.live, c.closed = false, now
		c.tell(false)
	case was && !c.behind:
		c.since = now
	}
	c.began, c.busy = now, 0
}

// mark says that the watch has sent a bookmark.
func (c *contact) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marked, c.heard = true, c.clock.Now()
}

// doubt is why changes may have been missed; nil when there is no reason. It ends what has said nothing for too long.
func (c *contact) doubt() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	limit := silence
	if c.open && !c.marked {
		limit = longSilence
	}
	quiet := c.attempt != nil && elapsed(now, c.heard) > limit
	if quiet {
		c.attempt()
	}
	switch {
	case c.open && quiet:
		return fmt.Errorf("its watch has received nothing for %s", limit)
	case !c.open && elapsed(now, c.closed) > outOfTouch:
		return fmt.Errorf("it has not been watched for %s", elapsed(now, c.closed).Truncate(time.Second))
	}
	return nil
}

// mute makes it tell nothing any more.
func (c *contact) mute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell = func(bool) {}
}

// cut ends what is under way.
func (c *contact) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt != nil {
		c.attempt()
	}
}
