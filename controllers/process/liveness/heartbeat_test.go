// SPDX-License-Identifier: Apache-2.0

package liveness_test

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/process/liveness"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestHeartbeat(t *testing.T) {
	for name, test := range map[string]struct {
		loop func(*liveness.Heartbeat, *testingclock.FakePassiveClock)
		ok   bool
	}{
		"not begun": {func(_ *liveness.Heartbeat, c *testingclock.FakePassiveClock) { step(c, time.Hour) }, true},
		"a step at the limit": {func(p *liveness.Heartbeat, c *testingclock.FakePassiveClock) {
			p.Beat()
			step(c, liveness.Limit)
		}, true},
		"no step for too long": {func(p *liveness.Heartbeat, c *testingclock.FakePassiveClock) {
			p.Beat()
			step(c, liveness.Limit+time.Second)
		}, false},
		"a step after the limit": {func(p *liveness.Heartbeat, c *testingclock.FakePassiveClock) {
			p.Beat()
			step(c, time.Hour)
			p.Beat()
		}, true},
		"ended": {func(p *liveness.Heartbeat, c *testingclock.FakePassiveClock) {
			p.Beat()
			p.Stop()
			step(c, time.Hour)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := testingclock.NewFakePassiveClock(fixture.Now)
			p := liveness.New("the loops", c)
			test.loop(p, c)
			if err := p.Check(nil); (err == nil) != test.ok {
				t.Errorf("Check: %v", err)
			}
		})
	}
	var nobody *liveness.Heartbeat
	nobody.Beat()
	nobody.Stop()
}

func step(c *testingclock.FakePassiveClock, by time.Duration) { c.SetTime(c.Now().Add(by)) }
