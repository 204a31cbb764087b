// Package lease knows how long ago leadership was last confirmed.
//
// It promises that a leader which cannot renew its lease stops being one, for Check, well before another can take over.
// It refuses to elect: client-go does.
package lease

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// Lock is a leader election lock that remembers when it was last renewed.
type Lock struct {
	resourcelock.Interface
	clock   clock.PassiveClock
	margin  time.Duration
	renewed atomic.Pointer[time.Time]
}

// Watch wraps a lock. margin is how long after a renewal leadership still counts; it must be shorter than the lease.
func Watch(lock resourcelock.Interface, c clock.PassiveClock, margin time.Duration) *Lock {
	return &Lock{Interface: lock, clock: c, margin: margin}
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.note(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.note(record, func() error { return l.Interface.Update(ctx, record) })
}

// note takes the time before the request: from then on, at the latest, others count the lease.
func (l *Lock) note(record resourcelock.LeaderElectionRecord, write func() error) error {
	before := l.clock.Now()
	if err := write(); err != nil {
		return err
	}
	if record.HolderIdentity == l.Identity() {
		l.renewed.Store(&before)
	} else {
		l.renewed.Store(nil)
	}
	return nil
}

// Check returns nil while leadership is certain. A nil Lock is always certain: there is no election.
func (l *Lock) Check() error {
	if l == nil {
		return nil
	}
	renewed := l.renewed.Load()
	if renewed == nil {
		return fmt.Errorf("not the leader")
	}
	if Elapsed(l.clock.Now(), *renewed) > l.margin {
		return fmt.Errorf("leadership has not been confirmed for %s", l.margin)
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
