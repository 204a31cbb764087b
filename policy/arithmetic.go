// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"time"
)

// Users can write any number. The functions of this file never overflow, and the comment of each says in which direction it
// rounds.

// lastTime is the last second that RFC 3339 can write. A later due time becomes this one, which means never.
var lastTime = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// addTime is start + span, and lastTime if that is later. The span is not negative.
func addTime(start time.Time, span time.Duration) time.Time {
	if start.After(lastTime) {
		return lastTime
	}
	if end := start.Add(span); end.Before(lastTime) {
		return end
	}
	return lastTime
}

// Latest is the latest of some times; zero if there are none.
func Latest(times ...time.Time) (latest time.Time) {
	for i, t := range times {
		if i == 0 || t.After(latest) {
			latest = t
		}
	}
	return latest
}

// Soonest is the earlier of two times; zero means never.
func Soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// RoundUp is the first multiple of a unit that is not earlier than t, in UTC.
func RoundUp(t time.Time, unit time.Duration) time.Time {
	down := t.UTC().Truncate(unit)
	if down.Before(t) {
		return down.Add(unit)
	}
	return down
}

// SumOrMost is the sum of two numbers, or the largest number if the sum is larger.
func SumOrMost(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// percentRoundedDown is percent, from 0 to 100, of n, which is not negative.
func percentRoundedDown(n, percent int64) int64 { return n/100*percent + n%100*percent/100 }

// percentRoundedUp is the same, rounded up.
func percentRoundedUp(n, percent int64) int64 { return n - percentRoundedDown(n, 100-percent) }
