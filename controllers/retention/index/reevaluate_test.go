// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
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

// TestSnapshotThatAffectsFewSubjects: only these move in the schedule, among many others.
func TestSnapshotThatAffectsFewSubjects(t *testing.T) {
	rows := []*index.FactRow{row("x", now, in("team-b")), row("y", now.Add(time.Second), in("team-b")), row("z", now, in("team-b"), notEligible)}
	for i := range 100 {
		rows = append(rows, row(fmt.Sprint("other-", i), now.Add(time.Duration(i)*time.Minute)))
	}
	w := newHarness(t, oneRule(), rows...)
	edit := func(ttl time.Duration) {
		other := fixture.Rule("b", fixture.TTL(ttl), func(r *policy.Rule) { r.Key = "a" })
		w.SetSnapshot(policy.NewSnapshot([]*policy.Policy{policyOf(fixture.Rule("a"), "ci"), policyOf(other, "prod")}, namespaces, policy.DefaultProtection()), now)
		expect.Equal(t, "consistent", nil, w.Consistent())
	}
	edit(10 * time.Hour)
	expect.Equal(t, "due after ten hours", never, w.take(now.Add(30*time.Minute)))
	w.wakes = 0
	edit(time.Minute)
	expect.Equal(t, "wakes its owner", true, w.wakes > 0)
	expect.Equal(t, "due after a minute", []string{"x", "y"}, w.take(now.Add(30*time.Minute)))
	edit(10 * time.Hour)
	expect.Equal(t, "due after ten hours again", never, w.take(now.Add(30*time.Minute)))
	expect.Equal(t, "due in all", 102, len(w.take(now.Add(11*time.Hour))))
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
