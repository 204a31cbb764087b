// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"
	"testing/synctest"
)

// TestSharedLock checks the limit, exclusive tests, and subtests that share the place of their parent.
func TestSharedLock(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		h := &sharedLock{places: 2}
		came := map[string]bool{}
		enter := func(test string, alone bool) {
			go func() {
				h.acquire(test, alone)
				h.mu.Lock()
				defer h.mu.Unlock()
				came[test] = true
			}()
			synctest.Wait()
		}
		are := func(want bool, tests ...string) {
			t.Helper()
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, test := range tests {
				if came[test] != want {
					t.Errorf("%s is inside: %v", test, came[test])
				}
			}
		}
		leave := func(guest string) {
			h.release(guest)
			synctest.Wait()
		}
		enter("A", false)
		enter("B", false)
		enter("C", false)
		are(true, "A", "B")
		are(false, "C")
		enter("A/part", false)
		are(true, "A/part")

		enter("X", true)
		leave("B")
		are(false, "X", "C") // C waits for X, which waits for A
		leave("A")
		are(false, "X")
		leave("A") // the place of A/part
		are(true, "X")
		are(false, "C")
		enter("X/part", true)
		are(true, "X/part")
		leave("X")
		leave("X")
		are(true, "C")
	})
}
