// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// NodeClock returns the clocks of this node, with now as the wall clock. It returns an error if the kernel does not report the
// ID or the time of the boot.
func NodeClock(now func() time.Time) (Clock, error) {
	id, err := os.ReadFile(bootIDFile)
	if err != nil {
		return nil, fmt.Errorf("read the boot ID: %w", err)
	}
	bootID := strings.TrimSpace(string(id))
	if bootID == "" {
		return nil, fmt.Errorf("%s is empty", bootIDFile)
	}
	if _, err := sinceBoot(); err != nil {
		return nil, fmt.Errorf("read CLOCK_BOOTTIME: %w", err)
	}
	return func() Reading {
		boot, err := sinceBoot() // first: a pause before the wall clock is read makes images younger
		if err != nil {
			return Reading{Wall: now()}
		}
		return Reading{Wall: now(), BootID: bootID, Boot: boot}
	}, nil
}

func sinceBoot() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}
