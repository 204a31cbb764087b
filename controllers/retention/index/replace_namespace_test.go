// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// ownRule returns a rule of a RetentionPolicy of team-a.
func ownRule(key string) *policy.Rule {
	return fixture.Rule(key, func(r *policy.Rule) { r.Namespace, r.ID.Policy = "team-a", "team-a/own" })
}

// snapshotWithOwn has rule a everywhere and rule b in team-a.
func snapshotWithOwn() *policy.Snapshot {
	own := ownRule("b")
	return policy.NewSnapshot([]*policy.Policy{
		policyOf(fixture.Rule("a"), ""), {Name: own.ID.Policy, Namespace: "team-a", Mode: own.Mode, Rules: []*policy.Rule{own}},
	}, namespaces, policy.DefaultProtection())
}

// replaceNamespace returns the current listing after team-a was listed for its own rule.
func (w *harness) replaceNamespace() index.Listing {
	w.listing.Layouts = map[string]*index.Columns{"team-a": columns["a b"]}
	return w.listing
}

func TestReplaceNamespace(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	tests := map[string]struct {
		listed *index.FactRow // a row of team-a; x is known at version 9 without facts about its own rule
		want   policy.Reason
	}{
		"the same version":                       {row("x", due, at("9"), under("a b")), policy.Expired},
		"a newer version":                        {row("x", due, at("10"), under("a b")), policy.Expired},
		"a newer version, not due":               {row("x", now, at("10"), under("a b")), policy.Waiting},
		"an older version":                       {row("x", due, at("8"), under("a b")), policy.Stale},
		"a version that cannot be compared":      {row("x", due, at("new"), under("a b")), policy.Stale},
		"a subject that the index does not know": {row("y", due, at("9"), under("a b")), policy.Stale},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), row("x", due, at("9")), row("z", due, in("team-b")))
			w.SetSnapshot(snapshotWithOwn(), now)
			expect.Equal(t, "reason before", policy.Stale, w.reason("x", now))
			expect.Equal(t, "has facts before", false, w.has(ownRule("b")))
			w.ReplaceNamespace(w.replaceNamespace(), []*index.FactRow{test.listed}, now)
			expect.Equal(t, "reason", test.want, w.reason("x", now))
			expect.Equal(t, "reason elsewhere", policy.Expired, w.reason("z", now))
			expect.Equal(t, "has facts", test.want != policy.Stale, w.has(ownRule("b")))
			lacking := w.Lacking(w.listing.ID, w.listing.Layouts)
			expect.Equal(t, "lacks facts", test.want == policy.Stale, len(lacking) == 1)
			n, _ := w.Len()
			expect.Equal(t, "subjects", 2, n)
		})
	}
}

// TestTransientErrorsAreEvaluatedAgain: a namespace with such a row is listed again, even if it has no rule of its own.
// Only that row is evaluated again.
func TestTransientErrorsAreEvaluatedAgain(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now, failing).EvaluateAgain(true), row("y", now), row("z", now, in("team-b")))
	lacking := func() []string { return w.Lacking(w.listing.ID, nil) }
	expect.Equal(t, "namespaces to list", []string{"team-a"}, lacking())
	knows := func(r *index.FactRow) bool { return w.Knows(r.Subject(), columns["a"]) }
	expect.Equal(t, "knows a row with a transient error", false, knows(row("x", now)))
	expect.Equal(t, "knows a row without an error", true, knows(row("y", now)))
	expect.Equal(t, "knows another version", false, knows(row("y", now, at("2"))))
	expect.Equal(t, "knows an unknown subject", false, knows(row("none", now)))
	expect.Equal(t, "knows columns that it does not have", false, w.Knows(row("y", now).Subject(), columns["a b"]))
	w.ReplaceNamespace(w.listing, []*index.FactRow{row("x", now)}, now)
	expect.Equal(t, "namespaces to list in the end", nil, lacking())
	expect.Equal(t, "knows the row in the end", true, knows(row("x", now)))
	w.Apply(w.listing.ID, row("y", now, at("2"), failing).EvaluateAgain(true), now)
	w.Forget(w.listing.ID, "y", now)
	expect.Equal(t, "namespaces to list after the deletion", nil, lacking())
}

// TestTransientErrorsAreNotCounted: an object that is not evaluated yet may be due, and an approval must not ignore it.
func TestTransientErrorsAreNotCounted(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now))
	w.SetSnapshot(snapshotWithOwn(), now)
	w.ReplaceNamespace(w.replaceNamespace(), []*index.FactRow{row("x", now, at("2"), under("a b"), failing).EvaluateAgain(true)}, now)
	expect.Equal(t, "has facts", false, w.has(ownRule("b")))
	expect.Equal(t, "reason", policy.EvaluationFailed, w.reason("x", now))
	w.ReplaceNamespace(w.replaceNamespace(), []*index.FactRow{row("x", now, at("2"), under("a b"))}, now)
	expect.Equal(t, "has facts in the end", true, w.has(ownRule("b")))
}

func TestReplaceNamespaceOfAnotherListing(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now))
	w.SetSnapshot(snapshotWithOwn(), now)
	other := w.replaceNamespace()
	other.ID++
	version := w.Version()
	w.ReplaceNamespace(other, []*index.FactRow{row("x", now, at("2"), under("a b"))}, now)
	expect.Equal(t, "reason", policy.Stale, w.reason("x", now))
	expect.Equal(t, "has facts", false, w.has(ownRule("b")))
	expect.Equal(t, "changed", false, w.Version() != version)
}

// TestRowsOfTwoLayouts: while a namespace is listed again, only some of its rows have facts about its own rule.
func TestRowsOfTwoLayouts(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("old", due), row("changed", due))
	w.SetSnapshot(snapshotWithOwn(), now)
	w.Apply(w.listing.ID, row("changed", due, at("2"), under("a b")), now)
	expect.Equal(t, "spaces", 2, w.Partitions())
	expect.Equal(t, "without facts", policy.Stale, w.reason("old", now))
	expect.Equal(t, "with facts", policy.Expired, w.reason("changed", now))
	expect.Equal(t, "due", []string{"changed"}, w.take(now))
	w.SetSnapshot(snapshotOf(fixture.Rule("a")), now)
	expect.Equal(t, "due without the own rule", 2, len(w.take(now)))
	w.SetSnapshot(snapshotWithOwn(), now)
	w.ReplaceNamespace(w.replaceNamespace(), []*index.FactRow{row("old", due, under("a b")), row("changed", due, at("2"), under("a b"))}, now)
	expect.Equal(t, "spaces in the end", 1, w.Partitions())
	expect.Equal(t, "reason", policy.Expired, w.reason("old", now))
}

// TestReplaceNamespaceIsNotUndoneByALateRow: the row was read before the namespace's rules changed, and arrives after the list.
func TestReplaceNamespaceIsNotUndoneByALateRow(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("x", due))
	w.SetSnapshot(snapshotWithOwn(), now)
	w.ReplaceNamespace(w.replaceNamespace(), []*index.FactRow{row("x", due, under("a b"))}, now)
	w.Apply(w.listing.ID, row("x", due), now)
	expect.Equal(t, "reason", policy.Expired, w.reason("x", now))
	w.Apply(w.listing.ID, row("x", due, at("2")), now) // a newer version is safe, even without the facts
	expect.Equal(t, "reason", policy.Stale, w.reason("x", now))
}

func TestReplaceNamespaceBringsNothingBack(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	w := newHarness(t, oneRule(), row("gone", due), row("leaving", due), row("left", due))
	w.SetSnapshot(snapshotWithOwn(), now)
	w.MarkGone(row("gone", due).Subject(), now)
	w.Forget(w.listing.ID, "left", now)
	w.ReplaceNamespace(w.replaceNamespace(), []*index.FactRow{row("gone", due, under("a b")), row("leaving", due, under("a b")), row("left", due, under("a b"))}, now)
	for uid, known := range map[types.UID]bool{"gone": false, "leaving": true, "left": false} {
		_, ok := w.Claim(uid, now)
		expect.Equal(t, string(uid)+" is known", known, ok)
	}
}
