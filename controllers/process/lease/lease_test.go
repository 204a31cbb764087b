// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// margin is how long a renewal counts in these tests.
const margin = 10 * time.Second

// lock is a lock whose writes take a time and return an error that the test sets.
type lock struct {
	resourcelock.Interface
	clock *clocktesting.FakeClock
	err   error
	takes time.Duration

	holder string
}

func (l *lock) Identity() string { return "me" }

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, nil
}

func (l *lock) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	l.clock.Step(l.takes)
	if l.err == nil {
		l.holder = r.HolderIdentity
	}
	return l.err
}

func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Create(ctx, r)
}

// step is a write of the lock, or time that passes.
type step struct {
	create, update string // the holder written
	fails          bool
	takes          time.Duration
	passes         time.Duration
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		steps []step
		want  bool
	}{
		"never the leader":                       {nil, false},
		"created":                                {[]step{{create: "me"}}, true},
		"updated":                                {[]step{{update: "me"}}, true},
		"not created":                            {[]step{{create: "me", fails: true}}, false},
		"not updated":                            {[]step{{update: "me", fails: true}}, false},
		"up to the margin":                       {[]step{{update: "me"}, {passes: margin}}, true},
		"a nanosecond after the margin":          {[]step{{update: "me"}, {passes: margin + 1}}, false},
		"renewed in time":                        {[]step{{update: "me"}, {passes: 6 * time.Second}, {update: "me"}, {passes: 6 * time.Second}}, true},
		"renewed late":                           {[]step{{update: "me"}, {passes: time.Hour}, {update: "me"}}, true},
		"a renewal that failed":                  {[]step{{update: "me"}, {passes: 6 * time.Second}, {update: "me", fails: true}, {passes: 6 * time.Second}}, false},
		"a renewal counts from when it was sent": {[]step{{update: "me", takes: 4 * time.Second}, {passes: 6*time.Second + 1}}, false},
		"a slow renewal within the margin":       {[]step{{update: "me", takes: 4 * time.Second}, {passes: 6 * time.Second}}, true},
		"released":                               {[]step{{update: "me"}, {update: ""}}, false},
		"released without a response":            {[]step{{update: "me"}, {update: "", fails: true}}, false},
		"released and acquired again":            {[]step{{update: "me"}, {update: ""}, {update: "me"}}, true},
		"held by another process":                {[]step{{update: "me"}, {update: "you"}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(fixture.Now)
			inner := &lock{clock: clock}
			l := lease.Watch(inner, clock, margin)
			for _, s := range test.steps {
				play(t, l, inner, s)
			}
			if err := l.Check(); (err == nil) != test.want {
				t.Errorf("error %v", err)
			}
		})
	}
}

func play(t *testing.T, l *lease.TrackedLock, inner *lock, s step) {
	t.Helper()
	if s.passes > 0 {
		inner.clock.Step(s.passes)
		return
	}
	inner.err, inner.takes = nil, s.takes
	if s.fails {
		inner.err = errors.New("no answer")
	}
	if s.update == "" && s.create == "" { // client-go reads before it releases
		_, _, _ = l.Get(t.Context())
	}
	write, holder := l.Update, s.update
	if s.create != "" {
		write, holder = l.Create, s.create
	}
	if err := write(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: holder}); !errors.Is(err, inner.err) {
		t.Errorf("error %v, want %v", err, inner.err)
	}
}

// TestLeaseThatAnotherHoldsIsNotReleased: a leader without a connection does not know that another process is the leader, and
// client-go would release the lease anyway.
func TestLeaseThatAnotherHoldsIsNotReleased(t *testing.T) {
	inner := &lock{clock: clocktesting.NewFakeClock(time.Now())}
	l := lease.Watch(inner, inner.clock, margin)
	release := func() error { return l.Update(t.Context(), resourcelock.LeaderElectionRecord{}) }
	play(t, l, inner, step{update: "me"})
	inner.holder = "you"
	if release() == nil {
		t.Error("the lease was released without reading it")
	}
	_, _, _ = l.Get(t.Context())
	if err := release(); err == nil || inner.holder != "you" {
		t.Errorf("%q holds the lease after a release, error %v", inner.holder, err)
	}
	if l.Check() == nil {
		t.Error("still the leader")
	}
}

// answering is a lock whose writes take effect at once, and return when the test allows it.
type answering struct {
	*lock
	answer func() error
}

func (a *answering) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	_ = a.lock.Update(ctx, r)
	return a.answer()
}

// TestReleaseCountsFromWhenItIsSent: another process may become the leader before the response arrives.
func TestReleaseCountsFromWhenItIsSent(t *testing.T) {
	a := &answering{lock: &lock{clock: clocktesting.NewFakeClock(time.Now())}, answer: func() error { return nil }}
	l := lease.Watch(a, a.clock, margin)
	play(t, l, a.lock, step{update: "me"})
	_, _, _ = l.Get(t.Context())
	a.answer = func() error {
		if l.Check() == nil {
			t.Error("still the leader while a release is in flight")
		}
		return nil
	}
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Error(err)
	}
}

func TestCheckSucceedsWithoutLeaderElection(t *testing.T) {
	var l *lease.TrackedLock
	if err := l.Check(); err != nil {
		t.Error(err)
	}
}
