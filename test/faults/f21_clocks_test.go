package faults_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scene"
)

const tenYears = 10 * 365 * 24 * time.Hour

// The clock of Sunset's machine is ten years off. Nothing goes until it is set, and then nothing that is not due.
func TestF21AClockThatIsTenYearsOff(t *testing.T) {
	for name, by := range map[string]time.Duration{"ahead": tenYears, "behind": -tenYears} {
		t.Run(name, func(t *testing.T) {
			scene.Long(t)
			s := scene.New(t, scene.Options{})
			p := s.Policy("previews", previews("Enforce", "5s"))
			young := s.Policy("others", labelled("other", "Enforce", "1h"))
			due, waits := s.ConfigMap("due", preview), s.ConfigMap("waits", map[string]string{"env": "other"})
			clock := build.NewClock(t)
			clock.Step(by)
			s.Sunset(scene.Start{Clock: clock})
			counted(s, young, 1)
			tells(s, p, v1alpha1.ConditionEnforcing, "Stale", "clock skew") // though nothing seems to be due when it is behind
			s.Stays(6*time.Second, due, waits)
			clock.Step(-by)
			s.Touch(due) // something happens: else it looks at its clock once a minute
			s.Gone(due)
			s.Stays(time.Second, waits)
			s.Calm()
		})
	}
}

// While it runs the clock steps two hours ahead, so that everything seems due, back to before Sunset began, and to where it
// should be.
func TestF21AClockThatStepsWhileItRuns(t *testing.T) {
	scene.Long(t)
	s := scene.New(t, scene.Options{})
	p := s.Policy("previews", previews("Enforce", "1h"))
	waits := s.ConfigMap("waits", preview)
	clock := build.NewClock(t)
	s.Sunset(scene.Start{Clock: clock})
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

// The clock gains a quarter of a second in every second. By the time that it is five seconds ahead nothing goes any more.
func TestF21AClockThatDrifts(t *testing.T) {
	scene.Long(t)
	s := scene.New(t, scene.Options{})
	p := s.Policy("previews", previews("Enforce", "0s"))
	clock := build.NewClock(t)
	s.Sunset(scene.Start{Clock: clock})
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

func (by tooLittle) Error() string { return "the clock is " + time.Duration(by).String() + " ahead" }
