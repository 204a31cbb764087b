// SPDX-License-Identifier: Apache-2.0

// Package wake lets loops wait for work or for a time, by a clock, and wakes them.
package wake

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Signal wakes one goroutine. The zero value is ready for use. It is safe for concurrent use, and must not be copied.
type Signal struct {
	once    sync.Once
	channel chan struct{}
}

// Send wakes the goroutine that waits, or the next one that does. It never blocks. Several calls before that count as one.
func (s *Signal) Send() {
	s.C()
	select {
	case s.channel <- struct{}{}:
	default:
	}
}

// C returns the channel that has an element after Send.
func (s *Signal) C() <-chan struct{} {
	s.once.Do(func() { s.channel = make(chan struct{}, 1) })
	return s.channel
}

// Wait waits for Send, but not longer than most. It returns false if ctx has ended.
func (s *Signal) Wait(ctx context.Context, c clock.Clock, most time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-s.C():
	case <-c.After(most):
	}
	return ctx.Err() == nil
}

// Broadcast wakes all goroutines that wait. The zero value is ready for use. It is safe for concurrent use, and must not be copied.
type Broadcast struct {
	mu   sync.Mutex
	next chan struct{} // nil if no goroutine waits
}

// Send wakes all goroutines that wait for the channels that C has returned so far.
func (b *Broadcast) Send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// C returns a channel that the next Send closes. To miss no change, call it before you read what Send is about, or hold
// the lock under which Send is called.
func (b *Broadcast) C() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Sleep waits until ctx ends, at most d.
func Sleep(ctx context.Context, c clock.Clock, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-c.After(d):
	}
}
