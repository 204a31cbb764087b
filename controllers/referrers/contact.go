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
	silence = 3 * time.Minute
	// longSilence is for how long any other watch may: none is asked to last for more than ten minutes.
	longSilence = 11 * time.Minute
)

// contact is whether what happens to the objects of a kind reaches us. A watch that is open and says nothing may be frozen,
// which nobody would notice otherwise.
//
// What it cannot see is an API server that answers and is behind the others.
type contact struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	attempt context.CancelFunc // ends the listing or watch under way; nil for none
	open    bool               // a watch is
	marked  bool               // it sends bookmarks
	heard   time.Time          // when something came
	closed  time.Time          // since when no watch is open
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
		c.attempt = nil
		if c.open {
			c.open, c.closed = false, c.clock.Now()
		}
	})
}

// opened says that what was begun is a watch, which is there now, and whether it streams a listing first: a server that can
// do so sends bookmarks.
func (c *contact) opened(lists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.marked, c.heard = true, lists, c.clock.Now()
}

// hear says that something has come.
func (c *contact) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = c.clock.Now()
}

// mark says that the watch has sent a bookmark.
func (c *contact) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marked, c.heard = true, c.clock.Now()
}

func (c *contact) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
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
	quiet := c.attempt != nil && now.Sub(c.heard) > limit
	if quiet {
		c.attempt()
	}
	switch {
	case c.open && quiet:
		return fmt.Errorf("its watch has said nothing for %s", limit)
	case !c.open && now.Sub(c.closed) > outOfTouch:
		return fmt.Errorf("it has not been watched for %s", now.Sub(c.closed).Truncate(time.Second))
	}
	return nil
}

// cut ends what is under way.
func (c *contact) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt != nil {
		c.attempt()
	}
}
