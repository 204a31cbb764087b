// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

const tenYears = 10 * 365 * 24 * time.Hour

// TestF21AClockThatIsTenYearsOff sets the clock of Sunset's machine ten years ahead or back. Sunset deletes nothing until the
// clock is right, and then only due objects.
func TestF21AClockThatIsTenYearsOff(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": tenYears, "behind": -tenYears} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			s := scenario.New(t, scenario.Options{})
			p := s.Policy("previews", previews("Enforce", "5s"))
			young := s.Policy("others", labelled("other", "Enforce", "1h"))
			due, waits := s.ConfigMap("due", preview), s.ConfigMap("waits", map[string]string{"env": "other"})
			clock := build.NewClock(t)
			clock.Step(by)
			s.Sunset(scenario.Start{Clock: clock})
			counted(s, young, 1)
			tells(s, p, v1alpha1.ConditionEnforcing, "Stale", "clock skew") // also if the clock is behind, so that no object seems to be due
			s.Stays(6*time.Second, due, waits)
			clock.Step(-by)
			s.Touch(due) // triggers a check of the clock, which otherwise happens once a minute
			s.Gone(due)
			s.Stays(time.Second, waits)
			s.Calm()
		})
	}
}

// TestF21AClockThatStepsWhileItRuns steps the clock two hours ahead, so that everything seems due, then back to before
// Sunset's start, and then to the right time.
func TestF21AClockThatStepsWhileItRuns(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("Enforce", "1h"))
	waits := s.ConfigMap("waits", preview)
	clock := build.NewClock(t)
	s.Sunset(scenario.Start{Clock: clock})
	counted(s, p, 1)
	clock.Step(2 * time.Hour)
	tells(s, p, v1alpha1.ConditionEnforcing, "Stale", "clock skew")
	s.Stays(3*time.Second, waits)
	clock.Step(-4 * time.Hour)
	s.Stays(3*time.Second, waits)
	clock.Step(2 * time.Hour)
	s.Stays(3*time.Second, waits)
	s.Edit(p, enforces)
	s.Gone(waits)
	s.Calm()
}

// TestF21AClockThatDrifts lets the clock gain a quarter of a second per second. When it is five seconds ahead, Sunset deletes
// nothing any more.
func TestF21AClockThatDrifts(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("Enforce", "0s"))
	clock := build.NewClock(t)
	s.Sunset(scenario.Start{Clock: clock})
	s.Gone(s.ConfigMap("before", preview))
	clock.Drift(250 * time.Millisecond)
	s.Gone(s.ConfigMap("a-little", preview))
	s.Eventually(func() error {
		if by := clock.Offset(); by < 5*time.Second {
			return tooLittle(by)
		}
		return nil
	})
	due := s.ConfigMap("due", preview)
	tells(s, p, v1alpha1.ConditionEnforcing, "Stale", "clock skew")
	s.Stays(3*time.Second, due)
	clock.Drift(0)
	clock.Step(-clock.Offset())
	s.Gone(due)
	s.Calm()
}

type tooLittle time.Duration

func (by tooLittle) Error() string {
	return "the clock is only " + time.Duration(by).String() + " ahead"
}
