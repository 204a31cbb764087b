// SPDX-License-Identifier: Apache-2.0

// Package lease tracks when leadership was last confirmed.
//
// It promises that Check fails for a leader that cannot renew its lease, well before another process can become the leader. It
// refuses to elect a leader: client-go does that.
package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// TrackedLock is a leader election lock that records when it was last renewed.
type TrackedLock struct {
	resourcelock.Interface
	clock   clock.PassiveClock
	margin  time.Duration
	renewed atomic.Pointer[time.Time]
	holder  atomic.Pointer[string] // as last read; nil if unknown
}

// Watch wraps a lock. margin is how long after a renewal leadership still counts; it must be shorter than the lease.
func Watch(lock resourcelock.Interface, c clock.PassiveClock, margin time.Duration) *TrackedLock {
	return &TrackedLock{Interface: lock, clock: c, margin: margin}
}

// Get implements resourcelock.Interface.
func (l *TrackedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.holder.Store(nil)
	if err == nil {
		l.holder.Store(&record.HolderIdentity)
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *TrackedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.note(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface. It refuses to release a lease that another process holds. client-go would do so if
// a leader has lost its lease and does not know the new holder.
func (l *TrackedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if holder := l.holder.Load(); record.HolderIdentity == "" && (holder == nil || *holder != l.Identity()) {
		l.renewed.Store(nil)
		return errors.New("this process does not hold the lease")
	}
	return l.note(record, func() error { return l.Interface.Update(ctx, record) })
}

// note records the time before the request, because other processes may count the lease from then on. A release counts from
// then on too: another process may become the leader before the response arrives.
func (l *TrackedLock) note(record resourcelock.LeaderElectionRecord, write func() error) error {
	before := l.clock.Now()
	if record.HolderIdentity != l.Identity() {
		l.renewed.Store(nil)
		return write()
	}
	err := write()
	if err == nil {
		l.renewed.Store(&before)
	}
	return err
}

// Check returns nil while leadership is certain. For a nil TrackedLock it always returns nil: leader election is disabled.
func (l *TrackedLock) Check() error {
	if l == nil {
		return nil
	}
	renewed := l.renewed.Load()
	if renewed == nil {
		return fmt.Errorf("not the leader")
	}
	if Elapsed(l.clock.Now(), *renewed) > l.margin {
		return fmt.Errorf("this replica has not confirmed its leadership for %s", l.margin)
	}
	return nil
}

// Elapsed returns the time since then: the maximum of the monotonic time and the wall time. The monotonic clock stops while a
// machine is suspended, and the wall clock can be set. If then is in the future by the wall clock, Elapsed returns the longest
// duration.
func Elapsed(now, then time.Time) time.Duration {
	wall := now.Round(0).Sub(then.Round(0))
	if wall < 0 {
		return math.MaxInt64
	}
	return max(wall, now.Sub(then))
}
