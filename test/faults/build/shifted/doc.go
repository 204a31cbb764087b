// SPDX-License-Identifier: Apache-2.0

// Package shifted is a clock that another process sets: it can step, as when an administrator sets the machine's clock, and
// it can run too fast or too slow.
//
// It promises: a step moves only the wall clock, never the monotonic clock that Go keeps in a [time.Time]. A drift moves
// both, and timers too. A change applies from the moment when the call returned, also for a suspended process.
//
// Without [Variable] in the environment, it is the machine's clock.
package shifted
