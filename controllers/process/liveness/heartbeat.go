// SPDX-License-Identifier: Apache-2.0

// Package liveness checks whether loops still make progress.
//
// It promises that the check does not fail for a loop that waits in bounded steps, for example for an API server that does not
// respond. It refuses to check what a loop does: it only checks that the loop continues.
package liveness

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Limit is how long one step of a loop may take. The steps of Sunset's loops take at most a minute, including all waits.
const Limit = 5 * time.Minute

// Heartbeat tracks the progress of one loop, which calls Beat at every step. Beat and Stop of a nil Heartbeat do nothing. It is
// safe for concurrent use.
type Heartbeat struct {
	name  string
	clock clock.PassiveClock
	last  atomic.Pointer[time.Time] // nil before the first beat, and after the end
}

// New returns the Heartbeat of a loop that has not begun. The name is a plural, such as "deletions".
func New(name string, c clock.PassiveClock) *Heartbeat { return &Heartbeat{name: name, clock: c} }

// Name returns the name of the loop.
func (p *Heartbeat) Name() string { return p.name }

// Beat records that the loop has made a step.
func (p *Heartbeat) Beat() {
	if p != nil {
		now := p.clock.Now()
		p.last.Store(&now)
	}
}

// Stop records that the loop has ended normally.
func (p *Heartbeat) Stop() {
	if p != nil {
		p.last.Store(nil)
	}
}

// Check returns an error if the loop has begun and made no step for longer than Limit. Time in which the machine was suspended
// does not count. It is a healthz.Checker.
func (p *Heartbeat) Check(*http.Request) error {
	last := p.last.Load()
	if last == nil {
		return nil
	}
	if silent := p.clock.Now().Sub(*last); silent > Limit {
		return fmt.Errorf("%s have made no progress for %s", p.name, silent.Round(time.Second))
	}
	return nil
}
