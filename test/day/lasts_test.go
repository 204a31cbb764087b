// SPDX-License-Identifier: Apache-2.0

//go:build !race

package day_test

import (
	"time"

	"github.com/sunset-k8s/sunset/test/long"
)

// lasts returns the part of a day that the test simulates. The clocks change in the first hours, and windows open every two or three hours.
func lasts() time.Duration {
	if long.Enabled() {
		return 24 * time.Hour
	}
	return 12 * time.Hour
}
