// SPDX-License-Identifier: Apache-2.0

//go:build !race

package day_test

import "time"

// lasts is the part of a day that the test simulates.
const lasts = 24 * time.Hour
