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

// marking makes a rule one that marks, under its own name; the object is not marked and not seen eligible yet.
func marking(r *policy.Evaluation) {
	r.Rule.Mark = r.Rule.ID.Rule
	r.Facts.Marked = true
	r.Facts.Start = time.Time{}
}

// markedAt has the object marked.
func markedAt(at time.Time) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) {
		marking(r)
		r.Facts.Start = at
	}
}

// estimated has Sunset see the object eligible since an hour, and nothing on the object says so.
func estimated(r *policy.Evaluation) {
	marking(r)
	r.Facts.Start, r.Facts.Estimated = started, true
}

func unapproved(r *policy.Evaluation)    { r.Rule.Unapproved = true }
func suspendedHere(r *policy.Evaluation) { r.Rule.Suspended = true }
func newest(r *policy.Evaluation)        { r.Standing.Newest = true }
func excess(r *policy.Evaluation)        { r.Standing.Excess = true }

// changed are the facts of a marked object of which something else is wrong.
func changed(change func(*policy.Facts)) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { change(&r.Facts) }
}

func noLonger(f *policy.Facts)         { f.Eligible = false }
func notAnyMore(f *policy.Facts)       { f.Selected, f.Eligible = false, false }
func failing(f *policy.Facts)          { f.Eligible, f.Err = false, errRandom }
func inDoubt(f *policy.Facts)          { f.Eligible, f.Err = false, errDoubted }
func notGathered(r *policy.Evaluation) { r.Known = false }

func TestParseMarks(t *testing.T) {
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		text string
		want map[string]time.Time
	}{
		"one":                        {`{"a":"2026-03-01T12:00:00Z"}`, map[string]time.Time{"a": at}},
		"in another time zone":       {`{"a":"2026-03-01T14:00:00+02:00"}`, map[string]time.Time{"a": at}},
		"a fraction of a second":     {`{"a":"2026-03-01T12:00:00.5Z"}`, map[string]time.Time{"a": at.Add(time.Second / 2)}},
		"two":                        {`{"a":"2026-03-01T12:00:00Z","b":"2026-03-01T12:00:01Z"}`, map[string]time.Time{"a": at, "b": at.Add(time.Second)}},
		"one of two is no time":      {`{"a":"2026-03-01T12:00:00Z","b":"yesterday"}`, map[string]time.Time{"a": at}},
		"a time without a zone":      {`{"a":"2026-03-01T12:00:00"}`, map[string]time.Time{}},
		"an empty object":            {`{}`, map[string]time.Time{}},
		"null":                       {`null`, map[string]time.Time{}},
		"nothing":                    {``, nil},
		"no JSON":                    {`a=2026-03-01T12:00:00Z`, nil},
		"cut off":                    {`{"a":"2026-03-01T12:00:00Z"`, nil},
		"a list":                     {`["2026-03-01T12:00:00Z"]`, nil},
		"one of another type: none":  {`{"a":"2026-03-01T12:00:00Z","b":1772366400}`, nil},
		"something behind the end":   {`{"a":"2026-03-01T12:00:00Z"} x`, nil},
		"very deep":                  {strings.Repeat(`{"a":`, 20_000), nil},
		"a day that is not":          {`{"a":"2026-02-30T12:00:00Z"}`, map[string]time.Time{}},
		"more than a year has":       {`{"a":"12026-03-01T12:00:00Z"}`, map[string]time.Time{}},
		"the names are case matters": {`{"A":"2026-03-01T12:00:00Z"}`, map[string]time.Time{"A": at}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "parse marks", test.want, policy.ParseMarks(test.text))
		})
	}
}

func TestMarkingOf(t *testing.T) {
	const nothing = "nothing is written"
	const first, both = `{"a":"2026-03-01T12:00:00Z"}`, `{"a":"2026-03-01T12:00:00Z","b":"2026-03-01T11:00:00Z"}`
	since := markedAt(started)
	tests := map[string]struct {
		flags       policy.Flags
		evaluations []policy.Evaluation
		want        string
	}{
		"no rule":                                 {0, nil, nothing},
		"a rule with a startTime":                 {0, rulings(says("a")), nothing},
		"newly eligible":                          {0, rulings(says("a", estimated)), first},
		"held too, so that its time runs":         {policy.IsHeld, rulings(says("a", estimated)), first},
		"newly eligible, and terminating":         {policy.IsTerminating, rulings(says("a", estimated)), nothing},
		"marked":                                  {0, rulings(says("a", since)), nothing},
		"a mark that is right stays":              {0, rulings(says("a", estimated), says("b", since)), both},
		"a mark in the future stays":              {0, rulings(says("a", markedAt(now.Add(hour)))), nothing},
		"no longer eligible":                      {0, rulings(says("a", since, changed(noLonger))), ""},
		"no longer eligible, and terminating":     {policy.IsTerminating, rulings(says("a", since, changed(noLonger))), nothing},
		"no longer selected":                      {0, rulings(says("a", since, changed(notAnyMore))), ""},
		"nobody knows any more":                   {0, rulings(says("a", since, changed(failing))), ""},
		"not eligible and not marked":             {0, rulings(says("a", marking, changed(noLonger))), nothing},
		"an error, and not marked":                {0, rulings(says("a", marking, changed(failing))), nothing},
		"one goes and one stays":                  {0, rulings(says("a", since, changed(noLonger)), says("b", since)), `{"b":"2026-03-01T11:00:00Z"}`},
		"one goes and one comes":                  {0, rulings(says("a", estimated), says("b", since, changed(noLonger))), first},
		"a suspended rule writes nothing":         {0, rulings(says("a", estimated, suspended)), nothing},
		"nor does one that an override suspends":  {0, rulings(says("a", estimated, suspendedHere)), nothing},
		"nor does a dry run":                      {0, rulings(says("a", estimated, dryRun)), nothing},
		"nor one without a mode":                  {0, rulings(says("a", estimated, mode(""))), nothing},
		"nor one with a mode nobody knows":        {0, rulings(says("a", estimated, mode("enforce"))), nothing},
		"nor one that waits for approval":         {0, rulings(says("a", estimated, unapproved)), nothing},
		"nor one that is invalid":                 {0, rulings(says("a", estimated, invalid)), nothing},
		"nor one without facts":                   {0, rulings(says("a", estimated, notGathered)), nothing},
		"nor do they remove":                      {0, rulings(says("a", since, dryRun, changed(noLonger)), says("b", since, suspended, changed(noLonger)), says("c", since, unapproved, changed(failing))), nothing},
		"a dry run's mark is not made on the way": {0, rulings(says("a", estimated), says("b", estimated, dryRun)), first},
		"a suspended rule's mark stays":           {0, rulings(says("a", estimated), says("b", since, suspended)), both},
		"so does a dry run's":                     {0, rulings(says("a", estimated), says("b", since, dryRun)), both},
		"so does that of one that waits":          {0, rulings(says("a", estimated), says("b", since, unapproved)), both},
		"so does that of one without facts":       {0, rulings(says("a", estimated), says("b", since, changed(notAnyMore), notGathered)), both},
		"that of an invalid rule goes":            {0, rulings(says("a", estimated), says("b", since, invalid)), first},
		"references are unknown, and marked":      {0, rulings(says("a", since, changed(inDoubt))), nothing},
		"references are unknown, and not marked":  {0, rulings(says("a", marking, changed(inDoubt))), nothing},
		"their mark stays when another comes":     {0, rulings(says("a", estimated), says("b", since, changed(inDoubt))), both},
		"their mark stays when another goes":      {0, rulings(says("a", since, changed(noLonger)), says("b", since, changed(inDoubt))), `{"b":"2026-03-01T11:00:00Z"}`},
		"no mark of theirs is made on the way":    {0, rulings(says("a", estimated), says("b", marking, changed(inDoubt))), first},
		"a mark is written in a quiet period":     {0, rulings(says("a", estimated, notBefore(now.Add(hour)))), first},
		"a fraction of a second is not lost":      {0, rulings(says("a", estimated), says("b", markedAt(started.Add(1)))), `{"a":"2026-03-01T12:00:00Z","b":"2026-03-01T11:00:00.000000001Z"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := policy.Subject{UID: "u", ResourceVersion: "7", Flags: test.flags}
			m := policy.EligibleSincePatchOf(s, test.evaluations, now)
			if needs := policy.NeedsEligibleSincePatch(s, test.evaluations); needs != m.Valid() {
				t.Errorf("needs marking: %v, and the marking is %v", needs, m.Valid())
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

func TestANewMarkIsRoundedUp(t *testing.T) {
	tests := map[string]struct {
		now  time.Time
		want string
	}{
		"a whole second":              {now, "12:00:00Z"},
		"a nanosecond more":           {now.Add(1), "12:00:01Z"},
		"a nanosecond less":           {now.Add(time.Second - 1), "12:00:01Z"},
		"the clock of another place":  {now.In(time.FixedZone("", 3600)), "12:00:00Z"},
		"with half a second, another": {now.Add(time.Second / 2).In(time.FixedZone("", 3600)), "12:00:01Z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := policy.EligibleSincePatchOf(policy.Subject{}, rulings(says("a", estimated)), test.now).Annotation()
			if want := `{"a":"2026-03-01T` + test.want + `"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestTheZeroMarkingPermitsNothing(t *testing.T) {
	if m := (policy.EligibleSincePatch{}); m.Valid() || m.Annotation() != "" {
		t.Error("it does")
	}
}

// TestMarkingOnceIsEnough writes what MarkingOf gives and reads it again: then nothing is left to be written, nothing that
// was right has moved, and nothing is due before its mark, or its creation, plus the TTL.
func TestMarkingOnceIsEnough(t *testing.T) {
	written := 0
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		at := now.Add(time.Duration(r.Int63n(int64(hour))))
		for i := range w.evaluations {
			evaluation := &w.evaluations[i]
			if r.Intn(2) == 0 && evaluation.Facts.Err == nil {
				evaluation.Rule.Mark, evaluation.Facts.Marked = evaluation.Rule.ID.String(), true
				evaluation.Facts.Estimated = evaluation.Facts.Eligible && r.Intn(2) == 0
			}
		}
		m := policy.EligibleSincePatchOf(w.subject, w.evaluations, at)
		if !m.Valid() {
			return !policy.NeedsEligibleSincePatch(w.subject, w.evaluations)
		}
		written++
		marks := policy.ParseMarks(m.Annotation())
		for i := range w.evaluations {
			evaluation := &w.evaluations[i]
			if evaluation.Rule.Mark == "" {
				continue
			}
			before, wasEstimated := evaluation.Facts.Start, evaluation.Facts.Estimated
			evaluation.Facts.Start = marks[evaluation.Rule.Mark]
			evaluation.Facts.Estimated = evaluation.Facts.Estimated && evaluation.Facts.Start.IsZero()
			switch {
			case evaluation.Facts.Start.IsZero():
			case wasEstimated && evaluation.Facts.Start.Before(at), !wasEstimated && !evaluation.Facts.Start.Equal(before):
				return false
			}
		}
		return !policy.NeedsEligibleSincePatch(w.subject, w.evaluations)
	})
	if written < rounds/20 {
		t.Errorf("only %d of %d worlds are marked", written, rounds)
	}
}

func TestAForgedMarkIsNeverBeforeCreation(t *testing.T) {
	created := now.Add(-hour + 1)
	for _, text := range []string{"0001-01-01T00:00:01Z", "1970-01-01T00:00:00Z", "0000-01-01T00:00:00-23:59"} {
		forged := policy.ParseMarks(`{"a":"` + text + `"}`)["a"]
		v, w := policy.Decide(policy.Subject{Created: created}, rulings(says("a", markedAt(forged))), now)
		if v.Action != policy.Wait || !v.Due.Equal(created.Add(hour)) || w.Valid() {
			t.Errorf("%s: verdict %+v", text, v)
		}
	}
	for _, text := range []string{"9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-00:01"} {
		forged := policy.ParseMarks(`{"a":"` + text + `"}`)["a"]
		if v, _ := policy.Decide(policy.Subject{Created: created.Add(-policy.Week)}, rulings(says("a", markedAt(forged))), now); v.Action == policy.Delete {
			t.Errorf("%s: verdict %+v", text, v)
		}
	}
}

// TestWhereMarksAreDistrusted: where the next leader must not believe the mark that an object carries.
func TestWhereMarksAreDistrusted(t *testing.T) {
	old := func(r *policy.Evaluation) { r.Rule.MarksSince = started.Add(1) }
	gap := changed(func(f *policy.Facts) { f.Outdated = true })
	here := []string{"team-a"}
	for name, test := range map[string]struct {
		flags      policy.Flags
		evaluation policy.Evaluation
		want       []string
	}{
		"not marked":                        {0, says("a", marking), nil},
		"marked":                            {0, says("a", markedAt(started)), nil},
		"marked, and used again":            {0, says("a", markedAt(started), changed(noLonger)), here},
		"marked before marks were kept":     {0, says("a", markedAt(started), old), here},
		"marked when marks were first kept": {0, says("a", markedAt(started.Add(1)), old), nil},
		"used since by what nobody saw":     {0, says("a", markedAt(started), gap), here},
		"estimated, as the mark is void":    {0, says("a", estimated, gap), here},
		"estimated, as there is no mark":    {0, says("a", estimated), nil},
		"references are unknown":            {0, says("a", markedAt(started), changed(inDoubt)), nil},
		"nobody may remove the mark":        {0, says("a", markedAt(started), suspended), here},
		"being deleted, and used again":     {policy.IsTerminating, says("a", markedAt(started), changed(noLonger)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			stats := tallyOf(policy.Subject{Namespace: "team-a", Flags: test.flags}, test.evaluation)
			var got []string
			if p := stats.Policies["p"]; p != nil && p.Rules["a"] != nil {
				got = p.Rules["a"].Distrusted.Namespaces()
			}
			expect.Equal(t, "namespaces", test.want, got, cmpopts.EquateEmpty())
		})
	}
}

// TestMoreNamespacesThanAreListedAreAll: no namespace is left out for want of room.
func TestMoreNamespacesThanAreListedAreAll(t *testing.T) {
	for n, want := range map[int]int{v1alpha1.MaxDistrusted - 1: v1alpha1.MaxDistrusted - 1, v1alpha1.MaxDistrusted: v1alpha1.MaxDistrusted, v1alpha1.MaxDistrusted + 1: 1} {
		stats := policy.NewStats(now)
		for i := range n {
			stats.Add(policy.Subject{Namespace: fmt.Sprint("n", i)}, rulings(says("a", markedAt(started), changed(noLonger))))
		}
		got := stats.Policies["p"].Rules["a"].Distrusted.Namespaces()
		if all := len(got) == 1 && got[0] == v1alpha1.AllNamespaces; len(got) != want || all != (want == 1) {
			t.Errorf("%d namespaces are listed as %d: %v", n, len(got), got)
		}
	}
}
