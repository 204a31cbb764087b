// Package liveness knows whether loops still turn.
//
// It promises that a loop which waits in bounded steps, as for an API server that does not answer, is never taken for a dead
// one. It refuses to say what a loop should have done: only that it has not come round.
package liveness

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Limit is how long a loop may take for a step. The steps of Sunset's take a minute at most, with every wait in them.
const Limit = 5 * time.Minute

// Heartbeat is the sign of life of one loop, which beats at every step. A nil Heartbeat takes beats too. It may be used by any number
// of goroutines.
type Heartbeat struct {
	name  string
	clock clock.PassiveClock
	last  atomic.Pointer[time.Time] // nil before the first beat, and after the end
}

// New makes the pulse of a loop that has not begun.
func New(name string, c clock.PassiveClock) *Heartbeat { return &Heartbeat{name: name, clock: c} }

// Name is what the loop does.
func (p *Heartbeat) Name() string { return p.name }

// Beat says that the loop has made a step.
func (p *Heartbeat) Beat() {
	if p != nil {
		now := p.clock.Now()
		p.last.Store(&now)
	}
}

// Stop says that the loop has ended as it should.
func (p *Heartbeat) Stop() {
	if p != nil {
		p.last.Store(nil)
	}
}

// Check fails once a loop that has begun has not beaten for longer than Limit. The time that the machine was suspended does
// not count. It is a healthz.Checker.
func (p *Heartbeat) Check(*http.Request) error {
	last := p.last.Load()
	if last == nil {
		return nil
	}
	if silent := p.clock.Now().Sub(*last); silent > Limit {
		return fmt.Errorf("%s have not made a step for %s", p.name, silent.Round(time.Second))
	}
	return nil
}
