// Package lease knows how long ago leadership was last confirmed.
//
// It promises that a leader which cannot renew its lease stops being one, for Check, well before another can take over.
// It refuses to elect: client-go does.
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

// TrackedLock is a leader election lock that remembers when it was last renewed.
type TrackedLock struct {
	resourcelock.Interface
	clock   clock.PassiveClock
	margin  time.Duration
	renewed atomic.Pointer[time.Time]
	holder  atomic.Pointer[string] // as last read; nil if nothing was
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

// Update implements resourcelock.Interface. It refuses to release a lease that another process holds: client-go does so when a
// leader has lost its lease without having seen who has it.
func (l *TrackedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if holder := l.holder.Load(); record.HolderIdentity == "" && (holder == nil || *holder != l.Identity()) {
		l.renewed.Store(nil)
		return errors.New("this process does not hold the lease")
	}
	return l.note(record, func() error { return l.Interface.Update(ctx, record) })
}

// note takes the time before the request: from then on, at the latest, others count the lease. A release counts from then on too, as
// another process may lead before the answer comes.
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

// Check returns nil while leadership is certain. A nil Lock is always certain: there is no election.
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

// Elapsed is how much time has passed since then, by the monotonic clock or by the wall clock, whichever says more: the
// one stands still while a machine is suspended, the other can be set. Then in the future counts as long ago.
func Elapsed(now, then time.Time) time.Duration {
	wall := now.Round(0).Sub(then.Round(0))
	if wall < 0 {
		return math.MaxInt64
	}
	return max(wall, now.Sub(then))
}
