// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestApplyReevaluatesTheSameVersion: a version may be evaluated again, because its facts may depend on other
// objects.
func TestApplyReevaluatesTheSameVersion(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("x", due))
	w.Apply(w.listing.ID, row("x", due, notEligible), now)
	expect.Equal(t, "kept", policy.NotEligible, w.reason("x", now))
	expect.Equal(t, "taken", never, w.take(now))
	w.Apply(w.listing.ID, row("x", due), now)
	expect.Equal(t, "due after the second change", policy.Expired, w.reason("x", now))
	expect.Equal(t, "taken then", []string{"x"}, w.take(now))
}

// TestApplyOfUnchangedFactsTakesNothing: the caller that took the subject may have reasons to wait.
func TestApplyOfUnchangedFactsTakesNothing(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("x", due))
	expect.Equal(t, "taken", []string{"x"}, w.take(now))
	version := w.Version()
	w.Apply(w.listing.ID, row("x", due), now)
	expect.Equal(t, "taken again", never, w.take(now))
	expect.Equal(t, "version", version, w.Version())
	w.Apply(w.listing.ID, row("x", due.Add(1)), now)
	expect.Equal(t, "taken when its facts change", []string{"x"}, w.take(now))
}

// TestDeletionUnderWayOutlivesOtherFacts: the facts about a version may change while it is being deleted.
func TestDeletionUnderWayOutlivesOtherFacts(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(keep(1)), row("x", due), row("y", due.Add(1)))
	w.take(now)
	j, _ := w.Claim("x", now)
	expect.Equal(t, "may be deleted", true, j.Permit.Valid())
	w.Apply(w.listing.ID, row("x", due, notEligible), now)
	w.Apply(w.listing.ID, row("x", now), now)
	expect.Equal(t, "the newest without it", policy.KeptNewest, w.reason("y", now))
	w.MarkGone(j.Permit.Subject(), now)
	w.Apply(w.listing.ID, row("x", due), now)
	_, known := w.Claim("x", now)
	expect.Equal(t, "is evaluated after its deletion", false, known)
	expect.Equal(t, "consistent", nil, w.Consistent())
}

// TestApplyWhileANamespaceIsListed: a row that is evaluated again has the layout of the known row, even if the
// listing has another one.
func TestApplyWhileANamespaceIsListed(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("x", due))
	w.SetSnapshot(snapshotWithOwn(), now)
	w.Apply(w.listing.ID, row("x", due, at("2"), under("a b")), now)
	expect.Equal(t, "due", policy.Expired, w.reason("x", now))
	w.Apply(w.listing.ID, row("x", due, at("2"), notEligible, under("a b")), now)
	expect.Equal(t, "evaluated again", policy.NotEligible, w.reason("x", now))
}
