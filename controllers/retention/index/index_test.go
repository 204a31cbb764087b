// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// now is when every test begins.
var now = fixture.Now

// namespaces are the known namespaces, unless a test uses others.
var namespaces = map[string]policy.Namespace{"team-a": {Labels: labels.Set{"tier": "ci"}}, "team-b": {Labels: labels.Set{"tier": "prod"}}}

// policyOf returns a policy with one rule, for the namespaces with this tier label; all if it is empty.
func policyOf(r *policy.Rule, selector string) *policy.Policy {
	selects := labels.Everything()
	if selector != "" {
		selects = labels.SelectorFromSet(labels.Set{"tier": selector})
	}
	return &policy.Policy{Name: r.ID.Policy, Mode: r.Mode, Namespaces: selects, Rules: []*policy.Rule{r}}
}

// snapshotOf returns a snapshot with a policy for all namespaces for each rule.
func snapshotOf(rules ...*policy.Rule) *policy.Snapshot {
	var policies []*policy.Policy
	for _, r := range rules {
		policies = append(policies, policyOf(r, ""))
	}
	return policy.NewSnapshot(policies, namespaces, policy.DefaultProtection())
}

// draft is a row under construction.
type draft struct {
	policy.Subject
	Layout *index.Columns
	Facts  []policy.Facts
}

// columns has one layout for each list of columns: only rows with the same layout can be compared.
var columns = map[string]*index.Columns{
	"": index.NewColumns(), "a": index.NewColumns("a"), "b": index.NewColumns("b"), "a b": index.NewColumns("a", "b"), "b a": index.NewColumns("b", "a"),
}

// row returns a Job of team-a at version 1 that finished at a time; its only column is a.
func row(uid string, finished time.Time, options ...func(*draft)) *index.FactRow {
	r := &draft{
		Subject: policy.Subject{Namespace: "team-a", Name: uid, UID: types.UID(uid), ResourceVersion: "1", Created: now.Add(-1000 * time.Hour)},
		Layout:  columns["a"],
		Facts:   []policy.Facts{{Selected: true, Eligible: true, Start: finished}},
	}
	for _, o := range options {
		o(r)
	}
	return index.NewFactRow(r.Subject, r.Layout, r.Facts...)
}

func in(namespace string) func(*draft) { return func(r *draft) { r.Namespace = namespace } }
func at(version string) func(*draft)   { return func(r *draft) { r.ResourceVersion = version } }
func flags(f policy.Flags) func(*draft) {
	return func(r *draft) { r.Flags = f }
}

// under gives a row other columns, each with the facts of the first one.
func under(names string) func(*draft) {
	return func(r *draft) {
		r.Layout = columns[names]
		r.Facts = slices.Repeat(r.Facts[:1], len(r.Layout.Keys()))
	}
}

func notEligible(r *draft) { r.Facts[0].Eligible = false }
func notSelected(r *draft) { r.Facts[0] = policy.Facts{Marked: r.Facts[0].Marked} }

// harness is an index with a current listing under one rule.
type harness struct {
	*index.Index
	t        *testing.T
	listing  index.Listing
	snapshot *policy.Snapshot
	wakes    int
}

// SetSnapshot remembers the snapshot.
func (w *harness) SetSnapshot(b *policy.Snapshot, now time.Time) {
	w.snapshot = b
	w.Index.SetSnapshot(b, now)
}

// has reports whether there are facts about a rule, evaluated with the last snapshot.
func (w *harness) has(r *policy.Rule) bool { return w.Has(w.snapshot, r) }

// newHarness creates an index of the rules; the current listing has a column for each key.
func newHarness(t *testing.T, rules []*policy.Rule, rows ...*index.FactRow) *harness {
	var names []string
	for _, r := range rules {
		names = append(names, r.Key)
	}
	w := &harness{t: t, listing: index.Listing{ID: 1, Kind: fixture.Jobs, Layout: columns[strings.Join(names, " ")]}}
	w.Index = index.New(fixture.Jobs.GroupKind(), func() { w.wakes++ })
	w.SetSnapshot(snapshotOf(rules...), now)
	w.Replace(w.listing, rows, now)
	w.wakes = 0
	t.Cleanup(func() {
		if err := w.Consistent(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func oneRule(options ...func(*policy.Rule)) []*policy.Rule {
	return []*policy.Rule{fixture.Rule("a", options...)}
}

// take calls TakeDue until no more subjects are due, and returns the UIDs in order.
func (w *harness) take(at time.Time) []string {
	var taken []string
	for {
		due, _, ok := w.Next()
		if !ok || due.After(at) {
			return taken
		}
		w.TakeDue(at, func(s policy.Subject, _ policy.RuleID) { taken = append(taken, string(s.UID)) })
	}
}

// reason returns the reason of the verdict about a subject; empty if it is unknown.
func (w *harness) reason(uid string, at time.Time) policy.Reason {
	j, _ := w.Claim(types.UID(uid), at)
	w.Release(types.UID(uid), at)
	return j.Verdict.Reason
}

var never = []string(nil)

func TestIndexIgnoresOtherListings(t *testing.T) {
	current, other := index.Listing{ID: 1, Kind: fixture.Jobs, Layout: columns["a"]}, index.Listing{ID: 2, Kind: fixture.Jobs, Layout: columns["a"]}
	due := now.Add(-2 * time.Hour)
	tests := map[string]struct {
		change func(w *harness)
		want   []string
	}{
		"no change":                            {func(*harness) {}, []string{"known"}},
		"a new subject":                        {func(w *harness) { w.Apply(current.ID, row("new", due), now) }, []string{"known", "new"}},
		"a new subject of another listing":     {func(w *harness) { w.Apply(other.ID, row("new", due), now) }, []string{"known"}},
		"a changed subject":                    {func(w *harness) { w.Apply(current.ID, row("known", now, at("2")), now) }, never},
		"a changed subject of another listing": {func(w *harness) { w.Apply(other.ID, row("known", now, at("2")), now) }, []string{"known"}},
		"a deleted subject":                    {func(w *harness) { w.Forget(current.ID, "known", now) }, never},
		"a deleted subject of another listing": {func(w *harness) { w.Forget(other.ID, "known", now) }, []string{"known"}},
		"a deleted subject that was unknown":   {func(w *harness) { w.Forget(current.ID, "unknown", now) }, []string{"known"}},
		"unsynced":                             {func(w *harness) { w.MarkIncomplete(current.ID) }, never},
		"another listing is unsynced":          {func(w *harness) { w.MarkIncomplete(other.ID) }, []string{"known"}},
		"a new listing":                        {func(w *harness) { w.Replace(other, []*index.FactRow{row("listed", due)}, now) }, []string{"listed"}},
		"a new listing without the subject":    {func(w *harness) { w.Replace(other, nil, now) }, never},
		"a new listing after Unsync": {func(w *harness) {
			w.MarkIncomplete(current.ID)
			w.Replace(other, []*index.FactRow{row("listed", due)}, now)
		}, []string{"listed"}},
		"a late change of the previous listing": {func(w *harness) {
			w.Replace(other, []*index.FactRow{row("listed", due)}, now)
			w.Apply(current.ID, row("listed", now, at("0")), now)
			w.Forget(current.ID, "listed", now)
			w.MarkIncomplete(current.ID)
		}, []string{"listed"}},
		"a change while unsynced": {func(w *harness) {
			w.MarkIncomplete(current.ID)
			w.Apply(current.ID, row("new", due), now)
		}, never},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), row("known", due))
			test.change(w)
			got := w.take(now)
			slices.Sort(got)
			expect.Equal(t, "due", test.want, got)
		})
	}
}

func TestIndexIsEmptyBeforeFirstListing(t *testing.T) {
	x := index.New(fixture.Jobs.GroupKind(), func() {})
	x.SetSnapshot(snapshotOf(fixture.Rule("a")), now)
	x.Apply(1, row("early", now.Add(-2*time.Hour)), now)
	if n, synced := x.Len(); n != 0 || synced {
		t.Errorf("%d subjects, synced %v; want none", n, synced)
	}
	if due, _, ok := x.Next(); ok {
		t.Errorf("a subject is due at %s", due)
	}
}

func TestLenAndHas(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now), row("y", now))
	n, synced := w.Len()
	expect.Equal(t, "subjects", 2, n)
	expect.Equal(t, "synced", true, synced)
	expect.Equal(t, "has facts", true, w.has(fixture.Rule("a")))
	expect.Equal(t, "has facts evaluated with another snapshot", false, w.Has(snapshotOf(fixture.Rule("a")), fixture.Rule("a")))
	expect.Equal(t, "has facts of another rule", false, w.has(fixture.Rule("b")))
	w.MarkIncomplete(w.listing.ID)
	_, synced = w.Len()
	expect.Equal(t, "synced after Unsync", false, synced)
	expect.Equal(t, "has facts after Unsync", false, w.has(fixture.Rule("a")))
}

func TestDueInOrder(t *testing.T) {
	const count = 40
	var rows []*index.FactRow
	var want []string
	for i := range count {
		// 7 and 40 are coprime: every minute occurs once, in a scrambled order.
		minute := i * 7 % count
		rows = append(rows, row(fmt.Sprintf("m%02d", minute), now.Add(time.Duration(minute)*time.Minute)))
		want = append(want, fmt.Sprintf("m%02d", i))
	}
	w := newHarness(t, oneRule(), rows...)
	for i := range count {
		due := now.Add(time.Hour + time.Duration(i)*time.Minute)
		next, _, ok := w.Next()
		expect.Equal(t, "next", due, next)
		expect.Equal(t, "scheduled", true, ok)
		expect.Equal(t, "one nanosecond earlier", never, w.take(due.Add(-1)))
		expect.Equal(t, "due", want[i:i+1], w.take(due))
	}
	_, _, ok := w.Next()
	expect.Equal(t, "scheduled after all were taken", false, ok)
}

func TestTakeDueIsBoundedAndComplete(t *testing.T) {
	const count = 3*index.TakeAtMost + 1
	var rows []*index.FactRow
	for i := range count {
		rows = append(rows, row(fmt.Sprintf("%04d", i), now.Add(-2*time.Hour-time.Duration(i))))
	}
	w := newHarness(t, oneRule(), rows...)
	var calls []int
	taken := map[types.UID]bool{}
	last := time.Time{}
	for due, _, ok := w.Next(); ok && !due.After(now); due, _, ok = w.Next() {
		if due.Before(last) {
			t.Fatalf("%s after %s", due, last)
		}
		last = due
		before := len(taken)
		w.TakeDue(now, func(s policy.Subject, _ policy.RuleID) { taken[s.UID] = true })
		calls = append(calls, len(taken)-before)
	}
	expect.Equal(t, "calls", []int{index.TakeAtMost, index.TakeAtMost, index.TakeAtMost, 1}, calls)
	expect.Equal(t, "taken", count, len(taken))
}

// TestTakeDueWaitsForPartsOfAMicrosecond: rows have less exact times than rules, and Next is never too early.
func TestTakeDueWaitsForPartsOfAMicrosecond(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now.Add(time.Nanosecond)))
	exact := now.Add(time.Hour + time.Nanosecond)
	due, _, _ := w.Next()
	if due.Before(exact) || due.Sub(exact) >= time.Microsecond {
		t.Errorf("Next returns %s for a subject that is due at %s", due, exact)
	}
	expect.Equal(t, "before", never, w.take(exact.Add(-1)))
	expect.Equal(t, "then", []string{"x"}, w.take(due))
}

func TestTakeDueSaysWhichRuleDecides(t *testing.T) {
	w := newHarness(t, []*policy.Rule{fixture.Rule("a"), fixture.Rule("b", fixture.TTL(2*time.Hour))}, row("x", now, under("a b")))
	w.TakeDue(now.Add(2*time.Hour), func(_ policy.Subject, id policy.RuleID) {
		expect.Equal(t, "rule", policy.RuleID{Policy: "b", Rule: "b"}, id)
	})
}

func TestTakeDueLeavesOutTakenSubjects(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now))
	later := now.Add(2 * time.Hour)
	expect.Equal(t, "first", []string{"x"}, w.take(later))
	expect.Equal(t, "second", never, w.take(later))
}

func TestClaim(t *testing.T) {
	tests := map[string]struct {
		row  *index.FactRow
		want policy.Reason
	}{
		"due":                      {row("x", now.Add(-time.Hour)), policy.Expired},
		"due in one nanosecond":    {row("x", now.Add(-time.Hour+1)), policy.Waiting},
		"held":                     {row("x", now.Add(-time.Hour), flags(policy.IsHeld)), policy.Held},
		"terminating":              {row("x", now.Add(-time.Hour), flags(policy.IsTerminating)), policy.Terminating},
		"uncounted":                {row("x", now.Add(-time.Hour), flags(policy.IsUncounted)), policy.Uncounted},
		"not eligible":             {row("x", now.Add(-time.Hour), notEligible), policy.NotEligible},
		"not selected":             {row("x", now.Add(-time.Hour), func(r *draft) { r.Facts[0].Selected = false }), policy.NotSelected},
		"in a protected namespace": {row("x", now.Add(-time.Hour), in("kube-system")), policy.NotSelected},
		"in an unknown namespace":  {row("x", now.Add(-time.Hour), in("unborn")), policy.Stale},
		"without facts":            {row("x", now.Add(-time.Hour), under("")), policy.Stale},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), test.row)
			j, ok := w.Claim("x", now)
			expect.Equal(t, "known", true, ok)
			expect.Equal(t, "reason", test.want, j.Verdict.Reason)
			expect.Equal(t, "permit", test.want == policy.Expired, j.Permit.Valid())
			_, _, scheduled := w.Next()
			expect.Equal(t, "scheduled", test.want == policy.Expired || test.want == policy.Waiting, scheduled)
		})
	}
}

func TestClaimUnknown(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now))
	j, ok := w.Claim("y", now.Add(time.Hour))
	expect.Equal(t, "known", false, ok)
	expect.Equal(t, "permit", false, j.Permit.Valid())
}

func TestClaimNamesTheEvaluatedVersion(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now, at("7")))
	j, _ := w.Claim("x", now.Add(time.Hour))
	expect.Equal(t, "version", "7", j.Permit.Subject().ResourceVersion)
	expect.Equal(t, "due", now.Add(time.Hour), j.Permit.Due())
}

func TestRuleWithoutFactsKeepsSubjects(t *testing.T) {
	due := now.Add(-2 * time.Hour)
	tests := map[string]struct {
		added *policy.Rule
		want  policy.Reason
	}{
		"an enforced rule without facts keeps":       {fixture.Rule("b"), policy.Stale},
		"a suspended rule without facts keeps":       {fixture.Rule("b", fixture.Mode(v1alpha1.Suspend)), policy.Stale},
		"a dry run without facts does not decide":    {fixture.Rule("b", fixture.Mode(v1alpha1.DryRun)), policy.Expired},
		"a rule with the same key has facts already": {fixture.Rule("b", func(r *policy.Rule) { r.Key = "a" }), policy.Expired},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), row("x", due))
			w.SetSnapshot(snapshotOf(fixture.Rule("a"), test.added), now)
			expect.Equal(t, "reason", test.want, w.reason("x", now))
			expect.Equal(t, "taken", test.want == policy.Expired, len(w.take(now)) == 1)

			w.Replace(index.Listing{ID: 2, Kind: fixture.Jobs, Layout: columns["b a"]},
				[]*index.FactRow{row("x", due, under("b a"))}, now)
			if test.added.Mode == v1alpha1.Enforce {
				expect.Equal(t, "reason with facts", policy.Expired, w.reason("x", now))
			}
		})
	}
}

func TestReconsider(t *testing.T) {
	due := now.Add(time.Hour)
	tests := map[string]struct {
		change func(w *harness)
		want   []string
	}{
		"still due":          {func(*harness) {}, []string{"x"}},
		"due later":          {func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.TTL(2*time.Hour))), due) }, never},
		"kept":               {func(w *harness) { w.MarkIncomplete(w.listing.ID) }, never},
		"forgotten":          {func(w *harness) { w.Forget(w.listing.ID, "x", now) }, never},
		"deleted":            {func(w *harness) { w.MarkGone(row("x", now).Subject(), now) }, never},
		"still scheduled":    {func(w *harness) { w.Reconsider("x", due) }, []string{"x"}},
		"changed since then": {func(w *harness) { w.Apply(w.listing.ID, row("x", now.Add(time.Minute), at("2")), due) }, never},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), row("x", now))
			w.take(due)
			test.change(w)
			w.Reconsider("x", due)
			expect.Equal(t, "due", test.want, w.take(due))
		})
	}
}

func TestMarkGone(t *testing.T) {
	later := now.Add(3 * time.Hour)
	tests := map[string]struct {
		version string // the deleted version
		then    func(w *harness)
		known   bool
	}{
		"not evaluated again":               {"1", func(*harness) {}, false},
		"another version was deleted":       {"0", func(*harness) {}, true},
		"the same version is seen again":    {"1", func(w *harness) { w.Apply(w.listing.ID, row("x", now), now) }, false},
		"a newer version is evaluated":      {"1", func(w *harness) { w.Apply(w.listing.ID, row("x", now, at("2")), now) }, true},
		"listed at the same version":        {"1", func(w *harness) { w.Replace(w.listing, []*index.FactRow{row("x", now)}, now) }, false},
		"listed at a newer version":         {"1", func(w *harness) { w.Replace(w.listing, []*index.FactRow{row("x", now, at("2"))}, now) }, true},
		"the rules change":                  {"1", func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.TTL(time.Minute))), now) }, false},
		"taken, deleted, then reconsidered": {"1", func(w *harness) { w.Reconsider("x", later) }, false},
		"forgotten":                         {"1", func(w *harness) { w.Forget(w.listing.ID, "x", now) }, false},
		"forgotten and seen again": {"1", func(w *harness) {
			w.Forget(w.listing.ID, "x", now)
			w.Apply(w.listing.ID, row("x", now), now)
		}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), row("x", now))
			w.MarkGone(row("x", now, at(test.version)).Subject(), now)
			test.then(w)
			_, known := w.Claim("x", later)
			expect.Equal(t, "known", test.known, known)
			expect.Equal(t, "taken", test.known, len(w.take(later)) == 1)
			shown := 0
			w.Scan(func(policy.Subject, []policy.Evaluation) { shown++ })
			expect.Equal(t, "shown", test.known, shown == 1)
		})
	}
}

func TestRefresh(t *testing.T) {
	tests := map[string]struct {
		read    *index.FactRow
		listing uint64
		want    policy.Reason
	}{
		"newer":                   {row("x", now.Add(time.Hour), at("10")), 1, policy.Waiting},
		"newer, and kept":         {row("x", now, at("10"), notEligible), 1, policy.NotEligible},
		"the same":                {row("x", now.Add(time.Hour), at("9")), 1, policy.Expired},
		"older":                   {row("x", now.Add(time.Hour), at("8")), 1, policy.Expired},
		"of another listing":      {row("x", now.Add(time.Hour), at("10")), 2, policy.Expired},
		"that cannot be compared": {row("x", now.Add(time.Hour), at("new")), 1, policy.Expired},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), row("x", now, at("9")))
			w.Refresh(test.listing, test.read, now)
			expect.Equal(t, "reason", test.want, w.reason("x", now.Add(time.Hour)))
		})
	}
}

func TestRefreshBringsBackNobody(t *testing.T) {
	w := newHarness(t, oneRule())
	w.Refresh(w.listing.ID, row("x", now), now)
	n, _ := w.Len()
	expect.Equal(t, "subjects", 0, n)
}

func TestSetSnapshot(t *testing.T) {
	due := now.Add(time.Hour)
	invalid := func(r *policy.Rule) { r.Problems = []policy.Problem{{Path: "spec"}} }
	tests := map[string]struct {
		before, after *policy.Snapshot
		want          time.Time // zero for never
	}{
		"the same":                             {snapshotOf(fixture.Rule("a")), snapshotOf(fixture.Rule("a")), due},
		"a longer TTL":                         {snapshotOf(fixture.Rule("a")), snapshotOf(fixture.Rule("a", fixture.TTL(3*time.Hour))), now.Add(3 * time.Hour)},
		"a shorter TTL":                        {snapshotOf(fixture.Rule("a")), snapshotOf(fixture.Rule("a", fixture.TTL(time.Minute))), now.Add(time.Minute)},
		"suspended":                            {snapshotOf(fixture.Rule("a")), snapshotOf(fixture.Rule("a", fixture.Mode(v1alpha1.Suspend))), time.Time{}},
		"a dry run":                            {snapshotOf(fixture.Rule("a")), snapshotOf(fixture.Rule("a", fixture.Mode(v1alpha1.DryRun))), time.Time{}},
		"enforced":                             {snapshotOf(fixture.Rule("a", fixture.Mode(v1alpha1.DryRun))), snapshotOf(fixture.Rule("a")), due},
		"resumed":                              {snapshotOf(fixture.Rule("a", fixture.Mode(v1alpha1.Suspend))), snapshotOf(fixture.Rule("a")), due},
		"made invalid":                         {snapshotOf(fixture.Rule("a")), snapshotOf(fixture.Rule("a", invalid)), time.Time{}},
		"fixed":                                {snapshotOf(fixture.Rule("a", invalid)), snapshotOf(fixture.Rule("a")), due},
		"no rules":                             {snapshotOf(fixture.Rule("a")), snapshotOf(), time.Time{}},
		"rules for the first time":             {snapshotOf(), snapshotOf(fixture.Rule("a")), due},
		"another rule keeps":                   {snapshotOf(fixture.Rule("a")), snapshotOf(fixture.Rule("a"), fixture.Rule("b", fixture.Mode(v1alpha1.Suspend), func(r *policy.Rule) { r.Key = "a" })), time.Time{}},
		"another rule is deleted":              {snapshotOf(fixture.Rule("a"), fixture.Rule("b", fixture.TTL(5*time.Hour), func(r *policy.Rule) { r.Key = "a" })), snapshotOf(fixture.Rule("a")), due},
		"a namespace gets labels":              {tiered("ci", "prod"), tiered("ci", "ci"), due},
		"a namespace loses labels":             {tiered("ci", "ci"), tiered("ci", "prod"), time.Time{}},
		"a namespace becomes known":            {tiered("", ""), tiered("", "ci"), due},
		"a selected namespace becomes known":   {tiered("ci", ""), tiered("ci", "ci"), due},
		"a namespace becomes unknown":          {tiered("", "ci"), tiered("", ""), time.Time{}},
		"an expression that was not evaluated": {snapshotOf(fixture.Rule("a")), snapshotOf(fixture.Rule("a", func(r *policy.Rule) { r.Key = "new" })), time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule())
			w.SetSnapshot(test.before, now)
			w.Replace(w.listing, []*index.FactRow{row("x", now)}, now)
			w.SetSnapshot(test.after, now)
			if test.want.IsZero() {
				expect.Equal(t, "due in a year", never, w.take(now.Add(8760*time.Hour)))
				return
			}
			expect.Equal(t, "due one nanosecond earlier", never, w.take(test.want.Add(-1)))
			expect.Equal(t, "due", []string{"x"}, w.take(test.want))
		})
	}
}

// tiered has a policy for the namespaces of a tier, empty for all. team-a has a tier too, empty if it is unknown.
func tiered(selects, teamA string) *policy.Snapshot {
	known := map[string]policy.Namespace{"team-b": {}}
	if teamA != "" {
		known["team-a"] = policy.Namespace{Labels: labels.Set{"tier": teamA}}
	}
	return policy.NewSnapshot([]*policy.Policy{policyOf(fixture.Rule("a"), selects)}, known, policy.DefaultProtection())
}

func TestNamespaceThatComesAndGoes(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now))
	due := now.Add(time.Hour)
	w.SetSnapshot(tiered("", ""), now)
	expect.Equal(t, "due while the namespace is unknown", never, w.take(due))
	w.SetSnapshot(tiered("", "ci"), due)
	expect.Equal(t, "due when it is known again", []string{"x"}, w.take(due))
}

func TestHeldNamespaceKeepsWhatIsInside(t *testing.T) {
	hold := func(held bool) *policy.Snapshot {
		known := map[string]policy.Namespace{"team-a": {Held: held}, "team-b": {}}
		return policy.NewSnapshot([]*policy.Policy{policyOf(fixture.Rule("a"), "")}, known, policy.DefaultProtection())
	}
	w := newHarness(t, oneRule(), row("x", now), row("y", now, in("team-b")))
	due := now.Add(time.Hour)
	w.SetSnapshot(hold(true), now)
	expect.Equal(t, "due in the other namespace", []string{"y"}, w.take(due))
	flags := map[string]policy.Flags{}
	w.Scan(func(s policy.Subject, _ []policy.Evaluation) { flags[s.Name] = s.Flags })
	expect.Equal(t, "flags", map[string]policy.Flags{"x": policy.IsHeld, "y": 0}, flags)
	w.SetSnapshot(hold(false), due)
	expect.Equal(t, "due after the hold is removed", []string{"x"}, w.take(due))
}

func TestSetSnapshotEvaluatesOnlyChanges(t *testing.T) {
	// The first due subject is in team-a, which has its own rule. If it were evaluated again, it would be first again and
	// wake the owner.
	bookWith := func(d time.Duration) *policy.Snapshot {
		return policy.NewSnapshot([]*policy.Policy{
			policyOf(fixture.Rule("a"), "ci"),
			policyOf(fixture.Rule("b", fixture.TTL(d), func(r *policy.Rule) { r.Key = "a" }), "prod"),
		}, namespaces, policy.DefaultProtection())
	}
	w := newHarness(t, oneRule())
	w.SetSnapshot(bookWith(5*time.Hour), now)
	w.Replace(w.listing, []*index.FactRow{row("x", now), row("y", now, in("team-b"))}, now)
	w.wakes = 0
	w.SetSnapshot(bookWith(6*time.Hour), now)
	expect.Equal(t, "wakes", 0, w.wakes)
	expect.Equal(t, "due first", []string{"x"}, w.take(now.Add(6*time.Hour-1)))
	expect.Equal(t, "due next", []string{"y"}, w.take(now.Add(6*time.Hour)))
}

func TestWake(t *testing.T) {
	tests := map[string]struct {
		change func(w *harness)
		want   bool
	}{
		"an earlier subject":                 {func(w *harness) { w.Apply(w.listing.ID, row("y", now.Add(-time.Minute)), now) }, true},
		"a later subject":                    {func(w *harness) { w.Apply(w.listing.ID, row("y", now.Add(time.Minute)), now) }, false},
		"a subject that is never due":        {func(w *harness) { w.Apply(w.listing.ID, row("y", now, notEligible), now) }, false},
		"a subject that is forgotten":        {func(w *harness) { w.Forget(w.listing.ID, "x", now) }, false},
		"a subject that becomes due earlier": {func(w *harness) { w.Apply(w.listing.ID, row("x", now.Add(-time.Minute), at("2")), now) }, true},
		"a shorter TTL":                      {func(w *harness) { w.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.TTL(time.Minute))), now) }, true},
		"a listing":                          {func(w *harness) { w.Replace(w.listing, []*index.FactRow{row("x", now)}, now) }, true},
		"a subject that is reconsidered": {func(w *harness) {
			w.take(now.Add(2 * time.Hour))
			w.wakes = 0
			w.Reconsider("x", now.Add(2*time.Hour))
		}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), row("x", now))
			test.change(w)
			expect.Equal(t, "woken", test.want, w.wakes > 0)
		})
	}
}

func TestScan(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now), row("y", now, in("team-b")), row("z", now, in("kube-system")))
	w.SetSnapshot(policy.NewSnapshot([]*policy.Policy{
		policyOf(fixture.Rule("a"), ""), policyOf(fixture.Rule("b"), "prod"), policyOf(fixture.Rule("c", fixture.Mode(v1alpha1.DryRun)), "ci"),
	}, namespaces, policy.DefaultProtection()), now)
	got := map[string][]string{}
	w.Scan(func(s policy.Subject, evaluations []policy.Evaluation) {
		got[s.Name] = []string{}
		for _, r := range evaluations {
			got[s.Name] = append(got[s.Name], fmt.Sprintf("%s known=%v eligible=%v", r.Rule.ID, r.Known, r.Facts.Eligible))
		}
	})
	expect.Equal(t, "shown", map[string][]string{
		"x": {"a/a known=true eligible=true", "c/c known=false eligible=false"},
		"y": {"a/a known=true eligible=true", "b/b known=false eligible=false"},
		"z": {},
	}, got)
}

func TestScanNamespaces(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now), row("y", now, in("team-b")), row("z", now, in("kube-system")))
	for name, test := range map[string]struct{ in, want []string }{
		"one":                 {[]string{"team-b"}, []string{"y"}},
		"two, and an unknown": {[]string{"team-b", "kube-system", "unknown"}, []string{"y", "z"}},
		"an unknown":          {[]string{"unknown"}, nil},
		"none":                {nil, nil},
	} {
		var got []string
		w.ScanNamespaces(sets.New(test.in...), func(s policy.Subject, _ []policy.Evaluation, _ policy.Was) { got = append(got, s.Name) })
		slices.Sort(got)
		expect.Equal(t, name, test.want, got)
	}
}

// TestRulesWithTheSameExpressions: several policies share the facts, and the one that keeps the object longest decides.
func TestRulesWithTheSameExpressions(t *testing.T) {
	sameKey := func(r *policy.Rule) { r.Key = "a" }
	w := newHarness(t, oneRule(), row("x", now))
	w.SetSnapshot(snapshotOf(fixture.Rule("a"), fixture.Rule("b", sameKey, fixture.TTL(3*time.Hour)), fixture.Rule("c", sameKey)), now)
	expect.Equal(t, "after two hours", policy.Waiting, w.reason("x", now.Add(2*time.Hour)))
	expect.Equal(t, "after three hours", policy.Expired, w.reason("x", now.Add(3*time.Hour)))
}

func TestVersionChangesWithWhatScanShows(t *testing.T) {
	tests := map[string]struct {
		change func(w *harness)
		want   bool
	}{
		"no call":                       {func(*harness) {}, false},
		"reading":                       {func(w *harness) { w.Claim("x", now); w.Next(); w.Len() }, false},
		"taking":                        {func(w *harness) { w.take(now.Add(time.Hour)); w.Reconsider("x", now) }, false},
		"a change":                      {func(w *harness) { w.Apply(w.listing.ID, row("x", now, at("2")), now) }, true},
		"a change of another listing":   {func(w *harness) { w.Apply(9, row("x", now, at("2")), now) }, false},
		"a deletion":                    {func(w *harness) { w.MarkGone(row("x", now).Subject(), now) }, true},
		"a deletion of another version": {func(w *harness) { w.MarkGone(row("x", now, at("0")).Subject(), now) }, false},
		"a forgotten subject":           {func(w *harness) { w.Forget(w.listing.ID, "x", now) }, true},
		"a forgotten unknown subject":   {func(w *harness) { w.Forget(w.listing.ID, "y", now) }, false},
		"unsynced":                      {func(w *harness) { w.MarkIncomplete(w.listing.ID) }, true},
		"a listing":                     {func(w *harness) { w.Replace(w.listing, nil, now) }, true},
		"rules":                         {func(w *harness) { w.SetSnapshot(snapshotOf(), now) }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(), row("x", now))
			before := w.Version()
			test.change(w)
			expect.Equal(t, "changed", test.want, w.Version() != before)
		})
	}
}

func TestNamespacesThatAreGoneLeaveNothingBehind(t *testing.T) {
	w := newHarness(t, oneRule())
	for i := range 1000 {
		uid := fmt.Sprint("x", i)
		w.Apply(w.listing.ID, row(uid, now, in(fmt.Sprint("ci-", i))), now)
		w.Forget(w.listing.ID, types.UID(uid), now)
	}
	w.SetSnapshot(snapshotOf(fixture.Rule("a", fixture.TTL(time.Minute))), now)
	if n := w.Partitions(); n > 10 {
		t.Errorf("%d namespaces without a subject in memory", n)
	}
}

func TestKind(t *testing.T) {
	expect.Equal(t, "kind", fixture.Jobs.GroupKind(), newHarness(t, nil).Kind())
}

func TestPeekAt(t *testing.T) {
	w := newHarness(t, oneRule(), row("x", now.Add(-time.Hour)), row("y", now))
	target := func(uid, version string) policy.Target {
		return policy.Target{UID: types.UID(uid), ResourceVersion: version}
	}
	if v, ok := w.PeekAt(target("x", "1"), now); !ok || v.Reason != policy.Expired {
		t.Errorf("due subject: %+v, %v", v, ok)
	}
	if v, ok := w.PeekAt(target("y", "1"), now); !ok || v.Reason != policy.Waiting {
		t.Errorf("waiting subject: %+v, %v", v, ok)
	}
	for name, unknown := range map[string]policy.Target{"another version": target("x", "2"), "another subject": target("z", "1"), "an empty target": {}} {
		if v, ok := w.PeekAt(unknown, now); ok || v.Action != policy.Keep {
			t.Errorf("%s: %+v, %v", name, v, ok)
		}
	}
	w.MarkGone(policy.Subject{UID: "y", ResourceVersion: "1"}, now)
	if _, ok := w.PeekAt(target("y", "1"), now); ok {
		t.Error("a deleted subject is known")
	}
	w.MarkIncomplete(w.listing.ID)
	if v, ok := w.PeekAt(target("x", "1"), now); ok || v.Action != policy.Keep {
		t.Errorf("an unsynced index: %+v, %v", v, ok)
	}
}
