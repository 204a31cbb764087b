// SPDX-License-Identifier: Apache-2.0

package history

import "time"

// Reading is the state of the clocks at one moment. Take it before the request to the runtime, never after.
type Reading struct {
	// Wall is the wall clock, which people and rules use. It may step in any direction.
	Wall time.Time
	// BootID identifies the boot of the node. Boot times of different boots cannot be compared. If it is empty the boot is
	// unknown, and no time counts.
	BootID string
	// Boot is the time since the node was booted, including the time in which it was suspended (CLOCK_BOOTTIME). It does not
	// step.
	Boot time.Duration
}

// Clock reads the clocks. It is safe for concurrent use.
type Clock func() Reading

// since returns the time that has passed since another reading; false if that is unknown, because they are not from the same
// boot.
func (r Reading) since(before Reading) (time.Duration, bool) {
	if r.BootID == "" || r.BootID != before.BootID {
		return 0, false
	}
	return r.Boot - before.Boot, true
}

// uptimeSince returns how long the node is known to have been on since another reading. After a reboot it does not include the time
// before it.
func (r Reading) uptimeSince(before Reading) time.Duration {
	if passed, ok := r.since(before); ok {
		return passed
	}
	return r.Boot
}

// plain returns the reading without the monotonic clock of the process, which would hide steps of the wall clock.
func (r Reading) plain() Reading {
	r.Wall = r.Wall.Round(0).UTC()
	return r
}
