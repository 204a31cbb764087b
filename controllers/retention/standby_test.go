// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// onStandby runs a test with a harness that watches, and leads after the test has called lead.
func onStandby(t *testing.T, options retention.Options, test func(t *testing.T, w *harness, lead func())) {
	beforeStart(t, logr.Discard(), options, func(t *testing.T, w *harness, start func()) {
		watched := make(chan error)
		go func() { watched <- w.Watch(w.ctx) }()
		synctest.Wait()
		test(t, w, start)
		w.cancel()
		expect.NoError(t, <-watched)
	})
}

func TestStandbyDeletesNothing(t *testing.T) {
	onStandby(t, retention.Options{}, func(t *testing.T, w *harness, lead func()) {
		rules, programs := snapshotOf(fixture.Rule("a"))
		w.UseOnStandby(rules, programs)
		synctest.Wait()
		w.source(0).list(row("x", w.began.Add(-2*time.Hour)))
		bubble.Pass(time.Hour)
		expect.Equal(t, "deleted on standby", []string{}, w.removed())
		expect.Equal(t, "leads on standby", false, w.Began())
		lead()
		bubble.Pass(time.Hour)
		expect.Equal(t, "deleted by the rules of the standby", []string{}, w.removed())
		expect.Equal(t, "leads", true, w.Began())
		w.use(fixture.Rule("a"))
		expect.Equal(t, "deleted by the leader", []string{"x"}, w.removed())
		expect.Equal(t, "lists", 1, len(w.sources))
	})
}

// TestLeaderReadsWhatItKnewOnStandby: what a standby knows may have been deleted and counted by the previous leader.
func TestLeaderReadsWhatItKnewOnStandby(t *testing.T) {
	old := func(w *harness, options ...func(*draft)) *draft {
		return row("x", w.began.Add(-2*time.Hour), options...)
	}
	never := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	failures := 3
	tests := map[string]struct {
		read        func(w *harness) (*draft, error)
		synchronize func(context.Context) error
		cold        bool // the leader was no standby
		reads       int  // 0: the object is not read
		recorded    int  // how often, at any version
		deleted     []string
	}{
		"the object exists":      {read: func(w *harness) (*draft, error) { return old(w), nil }, synchronize: never, reads: 1, recorded: 1, deleted: []string{"x@1"}},
		"the object has changed": {read: func(w *harness) (*draft, error) { return old(w, version(2)), nil }, synchronize: never, reads: 2, recorded: 1, deleted: []string{"x@2"}},
		"the object is gone":     {read: func(*harness) (*draft, error) { return nil, nil }, synchronize: never, reads: 1},
		"the watch is up to date": {
			read: func(*harness) (*draft, error) { return nil, errors.New("not read") }, recorded: 1, deleted: []string{"x@1"},
		},
		"the watch is up to date after some errors": {
			read: func(w *harness) (*draft, error) { return old(w), nil }, reads: 1, recorded: 1, deleted: []string{"x@1"},
			synchronize: func(context.Context) error {
				if failures--; failures >= 0 {
					return errors.New("not reached")
				}
				return nil
			},
		},
		"the leader was no standby": {
			read: func(*harness) (*draft, error) { return nil, errors.New("not read") }, synchronize: never, cold: true, recorded: 1, deleted: []string{"x@1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			records := newLedgerFake()
			run := func(t *testing.T, w *harness, lead func()) {
				rules, programs := snapshotOf(fixture.Rule("counted", fixture.Counted))
				if test.cold {
					lead()
				}
				w.UseOnStandby(rules, programs)
				synctest.Wait()
				s := w.source(0)
				s.read = func(policy.Subject) (*draft, error) { return test.read(w) }
				s.set(func() { s.synchronize = test.synchronize })
				s.list(old(w))
				if !test.cold {
					lead()
				}
				w.use(fixture.Rule("counted", fixture.Counted))
				bubble.Pass(10 * time.Second)
				expect.Equal(t, "reads", test.reads, s.reads)
				expect.Equal(t, "recorded", test.recorded, records.writes)
				expect.Equal(t, "deleted", test.deleted, w.attempted())
			}
			if test.cold {
				beforeStart(t, logr.Discard(), retention.Options{Ledger: records}, run)
				return
			}
			onStandby(t, retention.Options{Ledger: records}, run)
		})
	}
}

// TestUnreadableObjectIsNotRecorded: while the object cannot be read, nothing about it is recorded.
func TestUnreadableObjectIsNotRecorded(t *testing.T) {
	records := newLedgerFake()
	onStandby(t, retention.Options{Ledger: records}, func(t *testing.T, w *harness, lead func()) {
		rules, programs := snapshotOf(fixture.Rule("counted", fixture.Counted))
		w.UseOnStandby(rules, programs)
		synctest.Wait()
		s := w.source(0)
		s.set(func() { s.synchronize = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() } })
		s.list(row("x", w.began.Add(-2*time.Hour)))
		lead()
		w.use(fixture.Rule("counted", fixture.Counted))
		bubble.Pass(time.Minute)
		expect.Equal(t, "recorded", 0, len(records.recorded))
		s.sink.Forget("uid-x") // the event of its deletion arrives
		bubble.Pass(time.Minute)
		expect.Equal(t, "deleted", []string(nil), w.attempted())
		if s.reads < 2 || s.reads > 200 {
			t.Errorf("read %d times within a minute", s.reads)
		}
	})
}
