package build

import (
	"testing"
	"time"
)

// Clock is the clock of a Clocked controller. It starts with the machine's time and rate.
type Clock struct{}

// NewClock makes a clock, for one replica or for several.
func NewClock(t testing.TB) *Clock { return &Clock{} }

// Step sets the clock ahead of where it is, or back. The monotonic clock does not step, as on a real machine.
func (c *Clock) Step(by time.Duration) {}

// Drift makes the clock, the monotonic one too, gain what is given in every second from now on, or lose it. It does not step.
func (c *Clock) Drift(perSecond time.Duration) {}

// Offset is how much the clock is ahead of the machine's now.
func (c *Clock) Offset() time.Duration { return 0 }

// Env is what the environment of a Clocked controller must hold.
func (c *Clock) Env() string { return "" }
