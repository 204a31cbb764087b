package pulse_test

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/pulse"
)

func TestPulse(t *testing.T) {
	for name, test := range map[string]struct {
		loop func(*pulse.Pulse, *testingclock.FakePassiveClock)
		ok   bool
	}{
		"not begun": {func(_ *pulse.Pulse, c *testingclock.FakePassiveClock) { step(c, time.Hour) }, true},
		"a step just in time": {func(p *pulse.Pulse, c *testingclock.FakePassiveClock) {
			p.Beat()
			step(c, pulse.Limit)
		}, true},
		"no step for too long": {func(p *pulse.Pulse, c *testingclock.FakePassiveClock) {
			p.Beat()
			step(c, pulse.Limit+time.Second)
		}, false},
		"it goes on after all": {func(p *pulse.Pulse, c *testingclock.FakePassiveClock) {
			p.Beat()
			step(c, time.Hour)
			p.Beat()
		}, true},
		"ended": {func(p *pulse.Pulse, c *testingclock.FakePassiveClock) {
			p.Beat()
			p.Stop()
			step(c, time.Hour)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := testingclock.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
			p := pulse.New("the loops", c)
			test.loop(p, c)
			if err := p.Check(nil); (err == nil) != test.ok {
				t.Errorf("Check: %v", err)
			}
		})
	}
	var nobody *pulse.Pulse
	nobody.Beat()
	nobody.Stop()
}

func step(c *testingclock.FakePassiveClock, by time.Duration) { c.SetTime(c.Now().Add(by)) }
