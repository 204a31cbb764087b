// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestExpected: a deletion is expected shortly before it is due, unless limits have no room for all that waits.
func TestExpected(t *testing.T) {
	limits := &policy.Limits{Max: 10, Window: time.Hour}
	for name, test := range map[string]struct {
		limits *policy.Limits
		fits   bool
		before time.Duration
		want   bool
	}{
		"without limits":           {nil, false, time.Second, true},
		"too early":                {nil, false, time.Minute, false},
		"limits that have room":    {limits, true, time.Second, true},
		"limits that have no room": {limits, false, time.Second, false},
	} {
		b := newLedgerFake()
		b.fits = test.fits
		runInBubble(t, name, retention.Options{Ledger: b, Archive: newArchiveFake()}, func(t *testing.T, w *harness) {
			snapshot, programs := snapshotOf(fixture.Rule("archives", fixture.Archiving))
			snapshot.Policy("archives").Limits = test.limits
			w.Use(snapshot, programs)
			bubble.Pass(time.Second)
			job := row("job", time.Now())
			w.source(0).list(job)
			bubble.Pass(time.Hour - test.before)
			i, got := w.Expected(fixture.Jobs, job.UID)
			if got != test.want || got && i.Subject.Name != "job" {
				t.Errorf("expected %t %+v, want %t", got, i.Subject, test.want)
			}
			_, other := w.Expected(fixture.Jobs, "uid-of-another")
			expect.Equal(t, "another object", false, other)
		})
	}
}
