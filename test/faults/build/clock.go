// SPDX-License-Identifier: Apache-2.0

package build

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/build/shifted"
)

// Clock is the clock of a Clocked controller. It starts with the machine's time and rate.
type Clock struct {
	path string
	mu   sync.Mutex // held while the page is written
	page *shifted.Page
}

// NewClock creates a clock, for one replica or for several.
func NewClock(t testing.TB) *Clock {
	t.Helper()
	c := &Clock{path: filepath.Join(t.TempDir(), "clock")}
	var err error
	if c.page, err = shifted.Open(c.path); err != nil {
		t.Fatal(err)
	}
	return c
}

// Step moves the clock ahead, or back. As on a real machine, the monotonic clock does not step.
func (c *Clock) Step(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page.Step(by)
}

// Drift makes the clock, including the monotonic one, gain or lose the given duration in each second from now on. It does not
// step.
func (c *Clock) Drift(perSecond time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page.Drift(perSecond)
}

// Offset returns how far the clock is ahead of the machine's now.
func (c *Clock) Offset() time.Duration {
	step, gained := c.page.Read(time.Now())
	return step + gained
}

// Env returns the variable for the environment of a Clocked controller.
func (c *Clock) Env() string { return shifted.Variable + "=" + c.path }
