// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestStalls: a request counts as late by the stall in which or right after which it was noticed.
func TestStalls(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	s := &stalls{}
	s.note(at(1000), at(1040)) // a check is a little late
	s.note(at(2000), at(3000))
	s.note(at(7000), at(7500))
	s.note(at(7530), at(7600)) // soon after the one before
	s.note(at(9000), at(20_000))
	for ms, want := range map[int]int{1500: 0, 2400: 400, 3000: 1000, 3040: 1040, 3200: 0, 7100: 100, 7510: 510, 7600: 600, 7700: 700, 7800: 0, 10_000: 1000, 20_000: 5000} {
		expect.Equal(t, at(ms).String(), time.Duration(want)*time.Millisecond, s.before(at(ms)))
	}
}
