// SPDX-License-Identifier: Apache-2.0

//go:build race

package day_test

import "time"

// lasts returns the part of a day that the test simulates. It is short because the race detector slows the test down.
func lasts() time.Duration { return 3 * time.Hour }
