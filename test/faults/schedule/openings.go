// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"
)

// frozen is a freeze that begins some time after the start of a schedule. The zero value is none.
type frozen struct {
	after, lasts time.Duration
	all          bool // of all policies
}

func (f frozen) spec(began time.Time) string {
	from := began.Add(f.after)
	return fmt.Sprintf("[{from: %q, to: %q, allPolicies: %v}]", from.UTC().Format(time.RFC3339), from.Add(f.lasts).UTC().Format(time.RFC3339), f.all)
}

// windows draws windows: seldom, because a policy with windows may be closed at all times.
func (d *drawing) windows() string {
	if d.chance(85) {
		return ""
	}
	return pick(d, everyTwoMinutes, `[{schedule: "* * * * *", duration: 1m}]`, `[{schedule: "1-59/2 * * * *", duration: 1m, timeZone: Asia/Kathmandu}]`)
}

const everyTwoMinutes = `[{schedule: "*/2 * * * *", duration: 1m}]`

func (d *drawing) freezes() frozen {
	if d.chance(75) {
		return frozen{}
	}
	return frozen{after: d.while(length), lasts: pick(d, 2*time.Second, 5*time.Second, 9*time.Second), all: d.chance(30)}
}
