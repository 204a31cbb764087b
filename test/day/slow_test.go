//go:build race

package day_test

import "time"

// lasts is how much of a day is lived through: under the race detector everything takes many times as long.
const lasts = 3 * time.Hour
