// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"testing"

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
