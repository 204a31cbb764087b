// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestWindowsThatNeverOpenTogether: the subject is kept, and evaluated again when the windows that were tried are over.
func TestWindowsThatNeverOpenTogether(t *testing.T) {
	w := newHarness(t, oneRule(fixture.OpenAt("3", "9")), row("x", now))
	tried, _, ok := w.Next()
	if !ok || tried.Before(now.Add(policy.Week)) {
		t.Fatalf("evaluated again at %s, %v", tried, ok)
	}
	expectTaken(t, "then", w.taken(tried))
	next, _, ok := w.Next()
	if !ok || !next.After(tried) {
		t.Errorf("evaluated again at %s, %v; the last time was %s", next, ok, tried)
	}
	j, _ := w.Peek("x", tried)
	expect.Equal(t, "reason", policy.NoCommonWindow, j.Verdict.Reason)
}

// TestMissedSubjectsAreTakenInTheirOrder: subjects that missed a window are all due at the next opening. Those whose time to live
// started first are taken first.
func TestMissedSubjectsAreTakenInTheirOrder(t *testing.T) {
	opens := time.Date(now.Year(), now.Month(), now.Day()+1, 3, 0, 0, 0, time.UTC)
	var rows []*index.FactRow
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("x", i))
		rows = append(rows, row(want[i], now.Add(-policy.Week).Add(time.Duration(i)*time.Millisecond)))
	}
	rand.New(rand.NewSource(1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	w := newHarness(t, oneRule(fixture.OpenAt("3")), rows...)
	due, _, _ := w.Next()
	expect.Equal(t, "due", opens, due)
	expect.Equal(t, "taken", want, w.taken(opens))
}
