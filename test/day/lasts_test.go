//go:build !race

package day_test

import "time"

// lasts is how much of a day is lived through.
const lasts = 24 * time.Hour
