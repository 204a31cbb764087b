// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// marking makes a rule that marks, with its own name as mark; the object has no mark and is not eligible yet.
func marking(r *policy.Evaluation) {
	r.Rule.Mark = r.Rule.ID.Rule
	r.Facts.Marked = true
	r.Facts.Start = time.Time{}
}

// markedAt marks the object at a time.
func markedAt(at time.Time) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) {
		marking(r)
		r.Facts.Start = at
	}
}

// estimated is an object that Sunset saw eligible an hour ago, without a mark.
func estimated(r *policy.Evaluation) {
	marking(r)
	r.Facts.Start, r.Facts.Estimated = started, true
}

// movedTo makes the start of a marked object later, as the condition of a claim does.
func movedTo(start time.Time) func(*policy.Evaluation) {
	return changed(func(f *policy.Facts) { f.EarlierMark, f.Start = f.Start, start })
}

func unapproved(r *policy.Evaluation)    { r.Rule.Unapproved = true }
func suspendedHere(r *policy.Evaluation) { r.Rule.Suspended = true }
func newest(r *policy.Evaluation)        { r.Rank.Newest = true }
func excess(r *policy.Evaluation)        { r.Rank.Excess = true }

// changed changes the facts.
func changed(change func(*policy.Facts)) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { change(&r.Facts) }
}

func noLonger(f *policy.Facts)         { f.Eligible = false }
func notAnyMore(f *policy.Facts)       { f.Selected, f.Eligible = false, false }
func failing(f *policy.Facts)          { f.Eligible, f.Err = false, errRandom }
func inDoubt(f *policy.Facts)          { f.Eligible, f.Err = false, errDoubted }
func notGathered(r *policy.Evaluation) { r.Known = false }

// keptSince sets MarksSince.
func keptSince(at time.Time) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Rule.MarksSince = at }
}

func TestParseMarks(t *testing.T) {
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		text string
		want map[string]time.Time
	}{
		"one":                           {`{"a":"2026-03-01T12:00:00Z"}`, map[string]time.Time{"a": at}},
		"in another time zone":          {`{"a":"2026-03-01T14:00:00+02:00"}`, map[string]time.Time{"a": at}},
		"a fraction of a second":        {`{"a":"2026-03-01T12:00:00.5Z"}`, map[string]time.Time{"a": at.Add(time.Second / 2)}},
		"two":                           {`{"a":"2026-03-01T12:00:00Z","b":"2026-03-01T12:00:01Z"}`, map[string]time.Time{"a": at, "b": at.Add(time.Second)}},
		"one of two is not a time":      {`{"a":"2026-03-01T12:00:00Z","b":"yesterday"}`, map[string]time.Time{"a": at}},
		"a time without a zone":         {`{"a":"2026-03-01T12:00:00"}`, map[string]time.Time{}},
		"an empty object":               {`{}`, map[string]time.Time{}},
		"null":                          {`null`, map[string]time.Time{}},
		"an empty text":                 {``, nil},
		"not JSON":                      {`a=2026-03-01T12:00:00Z`, nil},
		"incomplete JSON":               {`{"a":"2026-03-01T12:00:00Z"`, nil},
		"a list":                        {`["2026-03-01T12:00:00Z"]`, nil},
		"one of another type: no marks": {`{"a":"2026-03-01T12:00:00Z","b":1772366400}`, nil},
		"text after the end":            {`{"a":"2026-03-01T12:00:00Z"} x`, nil},
		"deep nesting":                  {strings.Repeat(`{"a":`, 20_000), nil},
		"a date that does not exist":    {`{"a":"2026-02-30T12:00:00Z"}`, map[string]time.Time{}},
		"a year with five digits":       {`{"a":"12026-03-01T12:00:00Z"}`, map[string]time.Time{}},
		"names are case-sensitive":      {`{"A":"2026-03-01T12:00:00Z"}`, map[string]time.Time{"A": at}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "parse marks", test.want, policy.ParseMarks(test.text))
		})
	}
}

func TestEligibleSincePatchOf(t *testing.T) {
	const nothing = "nothing is written"
	const first, both = `{"a":"2026-03-01T12:00:00Z"}`, `{"a":"2026-03-01T12:00:00Z","b":"2026-03-01T11:00:00Z"}`
	since := markedAt(started)
	tests := map[string]struct {
		flags       policy.Flags
		evaluations []policy.Evaluation
		want        string
	}{
		"no rule":                                                  {0, nil, nothing},
		"a rule with a startTime":                                  {0, evaluations(says("a")), nothing},
		"newly eligible":                                           {0, evaluations(says("a", estimated)), first},
		"held: its TTL starts nevertheless":                        {policy.IsHeld, evaluations(says("a", estimated)), first},
		"newly eligible, and terminating":                          {policy.IsTerminating, evaluations(says("a", estimated)), nothing},
		"marked":                                                   {0, evaluations(says("a", since)), nothing},
		"a correct mark does not change":                           {0, evaluations(says("a", estimated), says("b", since)), both},
		"a mark in the future does not change":                     {0, evaluations(says("a", markedAt(now.Add(hour)))), nothing},
		"no longer eligible":                                       {0, evaluations(says("a", since, changed(noLonger))), ""},
		"no longer eligible, and terminating":                      {policy.IsTerminating, evaluations(says("a", since, changed(noLonger))), nothing},
		"no longer selected":                                       {0, evaluations(says("a", since, changed(notAnyMore))), ""},
		"an error, and marked":                                     {0, evaluations(says("a", since, changed(failing))), ""},
		"not eligible and not marked":                              {0, evaluations(says("a", marking, changed(noLonger))), nothing},
		"an error, and not marked":                                 {0, evaluations(says("a", marking, changed(failing))), nothing},
		"one is removed and one stays":                             {0, evaluations(says("a", since, changed(noLonger)), says("b", since)), `{"b":"2026-03-01T11:00:00Z"}`},
		"one is removed and one is added":                          {0, evaluations(says("a", estimated), says("b", since, changed(noLonger))), first},
		"a suspended rule writes nothing":                          {0, evaluations(says("a", estimated, suspended)), nothing},
		"nor does a rule that an override suspends":                {0, evaluations(says("a", estimated, suspendedHere)), nothing},
		"nor does a dry run":                                       {0, evaluations(says("a", estimated, dryRun)), nothing},
		"nor does a rule without a mode":                           {0, evaluations(says("a", estimated, mode(""))), nothing},
		"nor does a rule with an unknown mode":                     {0, evaluations(says("a", estimated, mode("enforce"))), nothing},
		"nor does a rule that waits for approval":                  {0, evaluations(says("a", estimated, unapproved)), nothing},
		"nor does an invalid rule":                                 {0, evaluations(says("a", estimated, invalid)), nothing},
		"nor does a rule without facts":                            {0, evaluations(says("a", estimated, notGathered)), nothing},
		"nor do these rules remove marks":                          {0, evaluations(says("a", since, dryRun, changed(noLonger)), says("b", since, suspended, changed(noLonger)), says("c", since, unapproved, changed(failing))), nothing},
		"a patch adds no mark for a dry run":                       {0, evaluations(says("a", estimated), says("b", estimated, dryRun)), first},
		"a patch keeps the mark of a suspended rule":               {0, evaluations(says("a", estimated), says("b", since, suspended)), both},
		"a patch keeps the mark of a dry run":                      {0, evaluations(says("a", estimated), says("b", since, dryRun)), both},
		"a patch keeps the mark of a rule that waits":              {0, evaluations(says("a", estimated), says("b", since, unapproved)), both},
		"a patch keeps the mark of a rule without facts":           {0, evaluations(says("a", estimated), says("b", since, changed(notAnyMore), notGathered)), both},
		"a patch removes the mark of an invalid rule":              {0, evaluations(says("a", estimated), says("b", since, invalid)), first},
		"references are unknown, and marked":                       {0, evaluations(says("a", since, changed(inDoubt))), nothing},
		"references are unknown, and not marked":                   {0, evaluations(says("a", marking, changed(inDoubt))), nothing},
		"unknown references: a patch that adds a mark keeps it":    {0, evaluations(says("a", estimated), says("b", since, changed(inDoubt))), both},
		"unknown references: a patch that removes a mark keeps it": {0, evaluations(says("a", since, changed(noLonger)), says("b", since, changed(inDoubt))), `{"b":"2026-03-01T11:00:00Z"}`},
		"unknown references: a patch adds no mark":                 {0, evaluations(says("a", estimated), says("b", marking, changed(inDoubt))), first},
		"a mark is added in a quiet period":                        {0, evaluations(says("a", estimated, notBefore(now.Add(hour)))), first},
		"a mark is moved to a later start":                         {0, evaluations(says("a", since, movedTo(now))), first},
		"a mark is moved slightly ahead, because clocks differ":    {0, evaluations(says("a", since, movedTo(now.Add(time.Second)))), `{"a":"2026-03-01T12:00:01Z"}`},
		"a mark is not moved far into the future":                  {0, evaluations(says("a", since, movedTo(now.Add(hour)))), nothing},
		"a dry run moves no mark":                                  {0, evaluations(says("a", since, movedTo(now), dryRun)), nothing},
		"a patch does not move marks of others":                    {0, evaluations(says("a", estimated), says("b", since, movedTo(now.Add(hour)))), both},
		"a patch does not move the mark of a dry run":              {0, evaluations(says("a", estimated), says("b", since, movedTo(now), dryRun)), both},
		"a later start that is before MarksSince is invalid too":   {0, evaluations(says("a", since, movedTo(started.Add(1)), keptSince(now))), first},
		"a later start that is after MarksSince is valid":          {0, evaluations(says("a", since, movedTo(started.Add(time.Minute)), keptSince(started.Add(1)))), `{"a":"2026-03-01T11:01:00Z"}`},
		"a patch keeps a fraction of a second":                     {0, evaluations(says("a", estimated), says("b", markedAt(started.Add(1)))), `{"a":"2026-03-01T12:00:00Z","b":"2026-03-01T11:00:00.000000001Z"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := policy.Subject{UID: "u", ResourceVersion: "7", Flags: test.flags}
			m := policy.EligibleSincePatchOf(s, test.evaluations, now)
			if needs := policy.NeedsEligibleSincePatch(s, test.evaluations, now); needs != m.Valid() {
				t.Errorf("needs a patch: %v, and the patch is valid: %v", needs, m.Valid())
			}
			got := nothing
			if m.Valid() {
				got = m.Annotation()
				if m.Subject() != s {
					t.Errorf("subject is %+v", m.Subject())
				}
			}
			expect.Equal(t, "annotation", test.want, got)
		})
	}
}

// TestNextEligibleSincePatch: when a mark must be moved to a start that is still too far ahead.
func TestNextEligibleSincePatch(t *testing.T) {
	ahead, since := now.Add(hour), markedAt(started)
	at := ahead.Add(-30 * time.Second)
	tests := map[string]struct {
		flags       policy.Flags
		evaluations []policy.Evaluation
		want        time.Time
	}{
		"no rule":                                {0, nil, time.Time{}},
		"a mark in the future":                   {0, evaluations(says("a", markedAt(ahead))), time.Time{}},
		"a start in the future":                  {0, evaluations(says("a", since, movedTo(ahead))), at},
		"a start in the future, and held":        {policy.IsHeld, evaluations(says("a", since, movedTo(ahead))), at},
		"a start in the future, and terminating": {policy.IsTerminating, evaluations(says("a", since, movedTo(ahead))), time.Time{}},
		"the first of two":                       {0, evaluations(says("a", since, movedTo(ahead.Add(1))), says("b", since, movedTo(ahead))), at},
		"a start that is near enough":            {0, evaluations(says("a", since, movedTo(now.Add(30*time.Second)))), time.Time{}},
		"a nanosecond too far":                   {0, evaluations(says("a", since, movedTo(now.Add(30*time.Second+1)))), now.Add(1)},
		"one is near enough, and one is not":     {0, evaluations(says("a", since, movedTo(now)), says("b", since, movedTo(ahead))), at},
		"no longer eligible":                     {0, evaluations(says("a", since, movedTo(ahead), changed(noLonger))), time.Time{}},
		"references are unknown":                 {0, evaluations(says("a", since, movedTo(ahead), changed(inDoubt))), time.Time{}},
		"a rule without facts moves no mark":     {0, evaluations(says("a", since, movedTo(ahead), notGathered)), time.Time{}},
		"nor does a dry run":                     {0, evaluations(says("a", since, movedTo(ahead), dryRun)), time.Time{}},
		"nor does a suspended rule":              {0, evaluations(says("a", since, movedTo(ahead), suspended)), time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := policy.NextEligibleSincePatch(policy.Subject{Flags: test.flags}, test.evaluations, now)
			expect.Equal(t, "next", test.want, got)
		})
	}
}

func TestNewMarkIsRoundedUp(t *testing.T) {
	tests := map[string]struct {
		now  time.Time
		want string
	}{
		"a whole second":                       {now, "12:00:00Z"},
		"a nanosecond more":                    {now.Add(1), "12:00:01Z"},
		"a nanosecond less":                    {now.Add(time.Second - 1), "12:00:01Z"},
		"another time zone":                    {now.In(time.FixedZone("", 3600)), "12:00:00Z"},
		"another time zone, and half a second": {now.Add(time.Second / 2).In(time.FixedZone("", 3600)), "12:00:01Z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := policy.EligibleSincePatchOf(policy.Subject{}, evaluations(says("a", estimated)), test.now).Annotation()
			if want := `{"a":"2026-03-01T` + test.want + `"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestEligibleSincePatchZeroPermitsNothing(t *testing.T) {
	if m := (policy.EligibleSincePatch{}); m.Valid() || m.Annotation() != "" {
		t.Error("the zero patch permits something")
	}
}

// TestEligibleSincePatchIsNotRepeated writes the patch and evaluates again. Then no further patch is needed, correct marks have not moved,
// and no object is due before its mark, or its creation, plus the TTL.
func TestEligibleSincePatchIsNotRepeated(t *testing.T) {
	written := 0
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		at := now.Add(time.Duration(r.Int63n(int64(hour))))
		for i := range w.evaluations {
			evaluation := &w.evaluations[i]
			if r.Intn(2) == 0 && evaluation.Facts.Err == nil {
				evaluation.Rule.Mark, evaluation.Facts.Marked = evaluation.Rule.ID.String(), true
				evaluation.Facts.Estimated = evaluation.Facts.Eligible && r.Intn(2) == 0
				if !evaluation.Facts.Estimated && evaluation.Facts.Eligible && !evaluation.Facts.Start.IsZero() && r.Intn(4) == 0 {
					evaluation.Facts.EarlierMark = evaluation.Facts.Start.Add(-time.Duration(r.Int63n(int64(hour))))
				}
			}
		}
		if !needsPatchOnlyWhenSaid(w, at) {
			return false
		}
		m := policy.EligibleSincePatchOf(w.subject, w.evaluations, at)
		if !m.Valid() {
			return !policy.NeedsEligibleSincePatch(w.subject, w.evaluations, at)
		}
		written++
		marks := policy.ParseMarks(m.Annotation())
		for i := range w.evaluations {
			evaluation := &w.evaluations[i]
			if evaluation.Rule.Mark == "" {
				continue
			}
			before, wasEstimated, earlier := evaluation.Facts.Start, evaluation.Facts.Estimated, evaluation.Facts.EarlierMark
			evaluation.Facts.Start, evaluation.Facts.EarlierMark = marks[evaluation.Rule.Mark], time.Time{}
			evaluation.Facts.Estimated = evaluation.Facts.Estimated && evaluation.Facts.Start.IsZero()
			switch {
			case evaluation.Facts.Start.IsZero():
			case !earlier.IsZero() && evaluation.Facts.Start.Equal(earlier):
				evaluation.Facts.Start, evaluation.Facts.EarlierMark = before, earlier
			case wasEstimated && evaluation.Facts.Start.Before(at), !wasEstimated && !evaluation.Facts.Start.Equal(before):
				return false
			}
		}
		return !policy.NeedsEligibleSincePatch(w.subject, w.evaluations, at)
	})
	if written < rounds()/20 {
		t.Errorf("only %d of %d cases have a patch", written, rounds())
	}
}

// needsPatchOnlyWhenSaid reports whether a patch becomes necessary at the time of NextEligibleSincePatch, and at no other time.
func needsPatchOnlyWhenSaid(w subjectCase, at time.Time) bool {
	needs := func(at time.Time) bool { return policy.NeedsEligibleSincePatch(w.subject, w.evaluations, at) }
	next := policy.NextEligibleSincePatch(w.subject, w.evaluations, at)
	if next.IsZero() {
		return needs(at) == needs(at.Add(policy.Week))
	}
	return next.After(at) && needs(next) && needs(next.Add(-1)) == needs(at)
}

func TestForgedMarkIsNeverBeforeCreation(t *testing.T) {
	created := now.Add(-hour + 1)
	for _, text := range []string{"0001-01-01T00:00:01Z", "1970-01-01T00:00:00Z", "0000-01-01T00:00:00-23:59"} {
		forged := policy.ParseMarks(`{"a":"` + text + `"}`)["a"]
		v, w := policy.Decide(policy.Subject{Created: created}, evaluations(says("a", markedAt(forged))), now)
		if v.Action != policy.Wait || !v.Due.Equal(created.Add(hour)) || w.Valid() {
			t.Errorf("%s: verdict %+v", text, v)
		}
	}
	for _, text := range []string{"9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-00:01"} {
		forged := policy.ParseMarks(`{"a":"` + text + `"}`)["a"]
		if v, _ := policy.Decide(policy.Subject{Created: created.Add(-policy.Week)}, evaluations(says("a", markedAt(forged))), now); v.Action == policy.Delete {
			t.Errorf("%s: verdict %+v", text, v)
		}
	}
}

// TestDistrustedNamespacesOfMarks: where the next leader must ignore marks.
func TestDistrustedNamespacesOfMarks(t *testing.T) {
	old := keptSince(started.Add(1))
	gap := changed(func(f *policy.Facts) { f.Outdated = true })
	here := []string{"team-a"}
	for name, test := range map[string]struct {
		flags      policy.Flags
		evaluation policy.Evaluation
		want       []string
	}{
		"not marked":                             {0, says("a", marking), nil},
		"marked":                                 {0, says("a", markedAt(started)), nil},
		"marked, and used again":                 {0, says("a", markedAt(started), changed(noLonger)), here},
		"marked before MarksSince":               {0, says("a", markedAt(started), old), here},
		"marked at MarksSince":                   {0, says("a", markedAt(started.Add(1)), old), nil},
		"marked before a later start":            {0, says("a", markedAt(started), movedTo(now)), here},
		"maybe used again since then":            {0, says("a", markedAt(started), gap), here},
		"estimated, because the mark is invalid": {0, says("a", estimated, gap), here},
		"estimated, without a mark":              {0, says("a", estimated), nil},
		"references are unknown":                 {0, says("a", markedAt(started), changed(inDoubt)), nil},
		"the mark of a suspended rule":           {0, says("a", markedAt(started), suspended), here},
		"being deleted, and used again":          {policy.IsTerminating, says("a", markedAt(started), changed(noLonger)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			stats := statsOf(policy.Subject{Namespace: "team-a", Flags: test.flags}, test.evaluation)
			var got []string
			if p := stats.Policies["p"]; p != nil && p.Rules["a"] != nil {
				got = p.Rules["a"].Distrusted.Namespaces()
			}
			expect.Equal(t, "namespaces", test.want, got, cmpopts.EquateEmpty())
		})
	}
}

// TestDistrustedNamespacesAreLimited: if there are too many namespaces, the list means all of them.
func TestDistrustedNamespacesAreLimited(t *testing.T) {
	for n, want := range map[int]int{v1alpha1.MaxDistrusted - 1: v1alpha1.MaxDistrusted - 1, v1alpha1.MaxDistrusted: v1alpha1.MaxDistrusted, v1alpha1.MaxDistrusted + 1: 1} {
		stats := policy.NewStats(now)
		for i := range n {
			stats.Add(policy.Subject{Namespace: fmt.Sprint("n", i)}, evaluations(says("a", markedAt(started), changed(noLonger))))
		}
		got := stats.Policies["p"].Rules["a"].Distrusted.Namespaces()
		if all := len(got) == 1 && got[0] == v1alpha1.AllNamespaces; len(got) != want || all != (want == 1) {
			t.Errorf("%d namespaces are listed as %d: %v", n, len(got), got)
		}
	}
}
