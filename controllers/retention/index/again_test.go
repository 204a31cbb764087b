package index_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestTheSameVersionIsJudgedByWhatItsFactsAreNow: the rules may be asked again about a version, as what they say need not
// depend on it alone.
func TestTheSameVersionIsJudgedByWhatItsFactsAreNow(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("x", due))
	w.Apply(w.listing.ID, row("x", due, notEligible), now)
	expect.Equal(t, "kept", policy.NotEligible, w.reason("x", now))
	expect.Equal(t, "taken", never, w.take(now))
	w.Apply(w.listing.ID, row("x", due), now)
	expect.Equal(t, "due again", policy.Expired, w.reason("x", now))
	expect.Equal(t, "taken then", []string{"x"}, w.take(now))
}

// TestWhatAnswersAsBeforeIsNotTakenAgain: it is with whoever has taken it, who may have reasons to wait.
func TestWhatAnswersAsBeforeIsNotTakenAgain(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("x", due))
	expect.Equal(t, "taken", []string{"x"}, w.take(now))
	version := w.Version()
	w.Apply(w.listing.ID, row("x", due), now)
	expect.Equal(t, "taken again", never, w.take(now))
	expect.Equal(t, "version", version, w.Version())
	w.Apply(w.listing.ID, row("x", due.Add(1)), now)
	expect.Equal(t, "taken when it answers otherwise", []string{"x"}, w.take(now))
}

// TestADeletionUnderWayOutlivesOtherFacts: whatever the rules say meanwhile of the version that is being deleted.
func TestADeletionUnderWayOutlivesOtherFacts(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(keep(1)), row("x", due), row("y", due.Add(1)))
	w.take(now)
	j, _ := w.Claim("x", now)
	expect.Equal(t, "may go", true, j.Permit.Valid())
	w.Apply(w.listing.ID, row("x", due, notEligible), now)
	w.Apply(w.listing.ID, row("x", now), now)
	expect.Equal(t, "the newest without it", policy.KeptNewest, w.reason("y", now))
	w.MarkGone(j.Permit.Subject(), now)
	w.Apply(w.listing.ID, row("x", due), now)
	_, known := w.Claim("x", now)
	expect.Equal(t, "is judged when it is gone", false, known)
	expect.Equal(t, "consistent", nil, w.Consistent())
}

// TestRowsAskedAgainWhileANamespaceIsListed have the layout of what is known, which need not be that of the listing yet.
func TestRowsAskedAgainWhileANamespaceIsListed(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("x", due))
	w.SetSnapshot(bookWithOwn(), now)
	w.Apply(w.listing.ID, row("x", due, at("2"), under("a b")), now)
	expect.Equal(t, "due", policy.Expired, w.reason("x", now))
	w.Apply(w.listing.ID, row("x", due, at("2"), notEligible, under("a b")), now)
	expect.Equal(t, "asked again", policy.NotEligible, w.reason("x", now))
}
