// SPDX-License-Identifier: Apache-2.0

package shifted_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/build/shifted"
)

const year = 365 * 24 * time.Hour

func TestSetClockKeepsItsMonotonicTime(t *testing.T) {
	now := time.Now()
	for _, by := range []time.Duration{0, 1, -1, time.Second, -time.Second, 1500 * time.Millisecond, 10 * year, -10 * year, 200 * year, -150 * year} {
		set := shifted.Set(now, by)
		if moved := set.Round(0).Sub(now.Round(0)); moved != by {
			t.Errorf("Set by %s moved the wall clock by %s", by, moved)
		}
		if passed := set.Sub(now); passed != 0 && by.Abs() < 100*year {
			t.Errorf("Set by %s moved the monotonic clock by %s", by, passed)
		}
	}
	if bare := now.Round(0); !shifted.Set(bare, time.Hour).Equal(bare.Add(time.Hour)) {
		t.Error("Set without a monotonic clock returned the wrong time")
	}
}

func TestPageOfTwo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	setter, err := shifted.Open(path)
	expect.NoError(t, err)
	reader, err := shifted.Open(path)
	expect.NoError(t, err)
	setter.Step(time.Hour)
	setter.Step(-10 * time.Minute)
	if step, gained := reader.Read(time.Now()); step != 50*time.Minute || gained != 0 {
		t.Errorf("step %s, gained %s", step, gained)
	}
	setter.Drift(500 * time.Millisecond)
	now := time.Now()
	if _, gained := reader.Read(now.Add(10 * time.Second)); gained < 5*time.Second || gained > 6*time.Second {
		t.Errorf("gained %s in ten seconds", gained)
	}
	setter.Drift(0)
	_, before := reader.Read(time.Now())
	if _, after := reader.Read(time.Now().Add(time.Hour)); after != before {
		t.Errorf("the clock still gains: %s and then %s", before, after)
	}
}

// TestClockOfTheEnvironment checks that the clock runs fast, and its timers too.
func TestClockOfTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	setter, err := shifted.Open(path)
	expect.NoError(t, err)
	t.Setenv(shifted.Variable, path)
	c := shifted.RealClock{}
	setter.Step(time.Hour)
	if ahead := time.Until(c.Now().Round(0)); ahead < 59*time.Minute {
		t.Errorf("the clock is ahead by %s", ahead)
	}
	setter.Drift(99 * time.Second)
	began, timer := time.Now(), c.NewTimer(time.Second)
	<-timer.C()
	timer.Reset(time.Second)
	<-timer.C()
	if took := time.Since(began); took < 20*time.Millisecond || took > time.Second {
		t.Errorf("two seconds took %s, want about 20ms", took)
	}
}
