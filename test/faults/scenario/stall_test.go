// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestStalls: a request counts as late by the stalls of the last five seconds.
func TestStalls(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	s := &stalls{}
	s.note(at(1000), at(1040)) // a check is a little late
	s.note(at(2000), at(3000))
	s.note(at(7000), at(7500))
	for ms, want := range map[int]int{1500: 0, 2400: 400, 3000: 1000, 6900: 1000, 7100: 1000, 7500: 1000, 7800: 700, 8000: 500, 12600: 0} {
		expect.Equal(t, at(ms).String(), time.Duration(want)*time.Millisecond, s.before(at(ms)))
	}
}
