// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sunset-k8s/sunset/test/faults/schedule"
)

func TestSeedGivesTheSameScheduleAgain(t *testing.T) {
	draw := func(seed uint64) string { return schedule.Draw(rand.New(rand.NewPCG(seed, 0)), true).String() }
	first, again, another := draw(1), draw(1), draw(2)
	if again != first {
		t.Error("the same seed gives two different schedules")
	}
	if another == first {
		t.Error("two seeds give the same schedule")
	}
}
