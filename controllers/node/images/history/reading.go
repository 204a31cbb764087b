package history

import "time"

// Reading is what the clocks said at one moment. Take it before the runtime is asked, never after.
type Reading struct {
	// Wall is the time that people and rules know. It may step in any direction.
	Wall time.Time
	// BootID names the boot of the node. Boot times of different boots have nothing to do with each other. When it is empty,
	// nothing is known, and no time counts.
	BootID string
	// Boot is the time since the node was booted, also while it was suspended (CLOCK_BOOTTIME). It does not step.
	Boot time.Duration
}

// Clock reads the clocks. It is safe for concurrent use.
type Clock func() Reading

// since gives the time that has passed since another reading; false if nobody can tell, as they are not of one boot.
func (r Reading) since(before Reading) (time.Duration, bool) {
	if r.BootID == "" || r.BootID != before.BootID {
		return 0, false
	}
	return r.Boot - before.Boot, true
}

// plain is the reading without the monotonic clock of the process, which would hide steps of the wall clock.
func (r Reading) plain() Reading {
	r.Wall = r.Wall.Round(0).UTC()
	return r
}
