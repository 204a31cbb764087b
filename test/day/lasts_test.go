// SPDX-License-Identifier: Apache-2.0

//go:build !race

package day_test

import "time"

// lasts is the part of a day that the test simulates: all clock changes are in the first hours, and windows open every two or three.
var lasts = 12 * time.Hour
