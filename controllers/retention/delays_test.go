// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestDelays: after ten seconds of failed attempts, Delays names the obstacle and the policy, until the
// obstacle ends.
func TestDelays(t *testing.T) {
	fails := func(result retention.Result) func(w *harness) {
		return func(w *harness) {
			w.outcome = func(policy.DeletePermit) retention.Outcome {
				return retention.Outcome{Result: result, Err: fmt.Errorf("at %s", time.Since(w.began))}
			}
		}
	}
	for name, test := range map[string]struct {
		begin func(w *harness)
		want  string // the reason; empty for none
	}{
		"the namespace is terminating": {func(w *harness) {
			w.check = func(string) error { return fmt.Errorf("%w: team-a is terminating", preflight.ErrNamespace) }
		}, "NamespaceInDoubt"},
		"the permission is missing":              {fails(retention.Denied), "Denied"},
		"an admission webhook denies the DELETE": {fails(retention.Refused), "Refused"},
		"an admission webhook fails":             {fails(retention.Unadmitted), "Failing"},
		"the API server does not answer":         {fails(retention.Failed), "Failing"},
		"the API server is busy":                 {fails(retention.Busy), "Failing"},
		"the checks take too long":               {func(w *harness) { w.ages = map[string]time.Duration{"a": 2 * time.Second} }, "Failing"},
		"the permissions are unknown":            {func(w *harness) { w.permit = func(*policy.Rule) error { return errors.New("no answer") } }, "Failing"},
		"the obstacle concerns all namespaces":   {func(w *harness) { w.check = func(string) error { return errors.New("clock skew") } }, ""}, // PreflightError reports it
		"no obstacle":                            {func(*harness) {}, ""},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			delays := func() (all []retention.Delay) {
				for _, k := range w.Kinds() {
					all = append(all, k.Delays(w.clock.Now())...)
					if (k.Delayed > 0) != (len(all) > 0) {
						t.Errorf("%d objects are delayed: %v", k.Delayed, all)
					}
					expect.Equal(t, "objects with obstacles", k.Delayed, len(k.Obstacles()))
				}
				return all
			}
			w.set(func() { test.begin(w) })
			w.listed(rows("x", 3, w.began.Add(-time.Hour))...)
			bubble.Pass(retention.DelayedAfter - time.Second)
			expect.Equal(t, "delays early", nil, delays())
			bubble.Pass(11 * time.Second)
			first := delays()
			if test.want == "" {
				expect.Equal(t, "delays", nil, first)
				return
			}
			if len(first) != 1 || first[0].Policy != "a" || first[0].Namespace != "team-a" || first[0].Reason != test.want || first[0].Message == "" {
				t.Errorf("delays: %+v, want one with reason %s", first, test.want)
			}
			bubble.Pass(time.Minute) // without permission one object is attempted at a time, in any order
			all := delays()
			if len(all) != 1 || all[0].Name != "x00000" {
				t.Errorf("delays: %+v, want the first object", all)
			}
			bubble.Pass(2 * time.Minute)
			expect.Equal(t, "delays later", all, delays())
			bubble.Pass(10 * time.Minute)
			if message := delays()[0].Message; strings.HasPrefix(message, "at ") == (message == all[0].Message) {
				t.Errorf("the message is %q after ten minutes, and was %q", message, all[0].Message)
			}
			w.set(func() { w.outcome, w.check, w.permit, w.ages = nil, nil, nil, nil })
			bubble.Pass(10 * time.Minute)
			expect.Equal(t, "delays at the end", nil, delays())
			expect.Equal(t, "removed", 3, len(w.removed()))
		})
	}
}

// TestDelaysWithLedger: attempts that only record an object again do not end the obstacle of the DELETE before.
func TestDelaysWithLedger(t *testing.T) {
	inBubble(t, retention.Options{Ledger: newLedgerFake()}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(0, retention.Refused, false))
		w.listedBy(fixture.Rule("a", fixture.Counted), row("x", w.began.Add(-time.Hour)))
		bubble.Pass(time.Minute)
		expect.Equal(t, "delayed", 1, w.Kinds()[0].Delayed)
		w.set(func() { w.outcome = nil })
		bubble.Pass(20 * time.Minute)
		expect.Equal(t, "delayed at the end", 0, w.Kinds()[0].Delayed)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

// TestObstacleThatPassesIsNoDelay: a short obstacle is not a delay, and another short one after it is not either.
func TestObstacleThatPassesIsNoDelay(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		doubt := func(err error) { w.set(func() { w.check = func(string) error { return err } }) }
		inDoubt := fmt.Errorf("%w: team-a is terminating", preflight.ErrNamespace)
		doubt(inDoubt)
		w.listed(row("x", w.began.Add(-time.Hour)))
		bubble.Pass(time.Second)
		doubt(errors.New("clock skew"))
		bubble.Pass(time.Minute)
		doubt(inDoubt)
		bubble.Pass(time.Second)
		expect.Equal(t, "delayed", 0, w.Kinds()[0].Delayed)
	})
}

// TestDelaysVersion: the version of Delays increases when another obstacle replaces the one of an object, and not at each attempt.
func TestDelaysVersion(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		version := func() uint64 { return w.Kinds()[0].DelaysVersion }
		w.onEachDelete(after(0, retention.Denied, false))
		w.listed(row("x", w.began.Add(-time.Hour)))
		bubble.Pass(time.Minute)
		denied := version()
		bubble.Pass(time.Minute)
		expect.Equal(t, "version after more attempts", denied, version())
		w.onEachDelete(after(0, retention.Failed, false))
		bubble.Pass(time.Minute)
		if failing := version(); failing == denied {
			t.Errorf("the version is still %d after another failure", failing)
		}
	})
}

// TestDelaysAreBoundedPerNamespace: many failing objects need little memory, and do not hide those of another
// namespace.
func TestDelaysAreBoundedPerNamespace(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(0, retention.Refused, false))
		w.listed(append(rows("x", 500, w.began.Add(-time.Hour)), row("y", w.began.Add(-time.Hour), in("team-b")))...)
		bubble.Pass(time.Minute)
		k := w.Kinds()[0]
		expect.Equal(t, "delayed", 101, k.Delayed)
		expect.Equal(t, "delays", 2, len(k.Delays(w.clock.Now())))
		w.set(func() { w.outcome = nil })
		bubble.Pass(20 * time.Minute)
		expect.Equal(t, "delayed at the end", 0, w.Kinds()[0].Delayed)
		expect.Equal(t, "removed", 501, len(w.removed()))
	})
}
