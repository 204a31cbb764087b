// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// marks makes a rule one without startTime.
func marks(r *policy.Rule) { r.Mark = "mark" }

// marked adds a mark to a row, and unmarked an empty one.
func marked(since time.Time) func(*draft) {
	return func(r *draft) { r.Facts[0].Marked, r.Facts[0].Start = true, since }
}

func unmarked(r *draft) { marked(time.Time{})(r) }

func broken(r *draft) {
	r.Facts[0].Eligible, r.Facts[0].Err = false, errFailed
}

// doubted gives a row the error of a rule that reads references while they are unknown.
func doubted(r *draft) {
	r.Facts[0].Eligible, r.Facts[0].Err = false, errDoubted
}

// quiet sets a time before which the subject of a row is not deleted.
func quiet(until time.Time) func(*draft) {
	return func(r *draft) { r.Facts[0].NotBefore = until }
}

// x returns a version of the only subject of these tests.
func x(version int, options ...func(*draft)) *index.FactRow {
	return row("x", time.Time{}, append([]func(*draft){unmarked, at(fmt.Sprint(version))}, options...)...)
}

// TestSinceWhenItIsEligible runs steps a minute apart. The first step is at now.
func TestSinceWhenItIsEligible(t *testing.T) {
	long := now.Add(-50 * time.Hour)
	minute := func(n int) time.Time { return now.Add(time.Duration(n) * time.Minute) }
	watched := func(r *index.FactRow) func(*harness, time.Time) {
		return func(w *harness, now time.Time) { w.Apply(w.listing.ID, r, now) }
	}
	listed := func(rows ...*index.FactRow) func(*harness, time.Time) {
		return func(w *harness, now time.Time) { w.Replace(w.listing, rows, now) }
	}
	read := func(r *index.FactRow) func(*harness, time.Time) {
		return func(w *harness, now time.Time) { w.Refresh(w.listing.ID, r, now) }
	}
	relaid := func(r *index.FactRow) func(*harness, time.Time) {
		return func(w *harness, now time.Time) { w.ReplaceNamespace(w.replaceNamespace(), []*index.FactRow{r}, now) }
	}
	doubt := func(w *harness, _ time.Time) { w.MarkIncomplete(w.listing.ID) }
	type steps []func(*harness, time.Time)
	tests := map[string]struct {
		steps     steps
		since     time.Time
		estimated bool
	}{
		"seen for the first time":                           {steps{watched(x(1))}, now, true},
		"seen for the first time, with a mark":              {steps{watched(x(1, marked(long)))}, long, false},
		"listed for the first time":                         {steps{listed(x(1))}, now, true},
		"listed for the first time, with a mark":            {steps{listed(x(1, marked(long)))}, long, false},
		"marked in the future":                              {steps{watched(x(1, marked(minute(99))))}, minute(99), false},
		"changed, not marked yet":                           {steps{watched(x(1)), watched(x(2))}, now, true},
		"changed, listed again":                             {steps{watched(x(1)), listed(x(2))}, now, true},
		"marked since it was seen":                          {steps{watched(x(1)), watched(x(2, marked(now)))}, now, false},
		"marked later":                                      {steps{watched(x(1)), watched(x(2, marked(minute(5))))}, minute(5), false},
		"marked from before it was seen":                    {steps{watched(x(1)), watched(x(2, marked(long)))}, now, true},
		"marked, and changed":                               {steps{watched(x(1, marked(long))), watched(x(2, marked(long)))}, long, false},
		"the mark is moved back":                            {steps{watched(x(1, marked(now))), watched(x(2, marked(long)))}, now, true},
		"the mark is moved ahead":                           {steps{watched(x(1, marked(long))), watched(x(2, marked(now)))}, now, false},
		"the mark is moved back from the future":            {steps{watched(x(1, marked(minute(99)))), watched(x(2, marked(long)))}, minute(1), true},
		"marked again after that":                           {steps{watched(x(1, marked(minute(99)))), watched(x(2, marked(long))), watched(x(3, marked(minute(1))))}, minute(1), false},
		"the mark is taken off in the future":               {steps{watched(x(1, marked(minute(99)))), watched(x(2))}, minute(1), true},
		"the mark is taken off":                             {steps{watched(x(1, marked(long))), watched(x(2))}, long, true},
		"not eligible, but marked":                          {steps{watched(x(1, marked(long), notEligible))}, long, false},
		"eligible again, not marked":                        {steps{watched(x(1, notEligible)), watched(x(2))}, minute(1), true},
		"eligible again, with the old mark":                 {steps{watched(x(1, marked(long))), watched(x(2, marked(long), notEligible)), watched(x(3, marked(long)))}, minute(2), true},
		"selected again, with an old mark":                  {steps{watched(x(1, notSelected)), watched(x(2, marked(long)))}, minute(1), true},
		"eligible again, listed":                            {steps{watched(x(1, marked(long), notEligible)), listed(x(2, marked(long)))}, minute(1), true},
		"eligible again, read live":                         {steps{watched(x(1, marked(long), notEligible)), read(x(2, marked(long)))}, minute(1), true},
		"eligible again, marked since":                      {steps{watched(x(1, notEligible)), watched(x(2, marked(minute(1))))}, minute(1), false},
		"an evaluation error in between":                    {steps{watched(x(1, marked(long))), watched(x(2, marked(long), broken)), watched(x(3, marked(long)))}, minute(2), true},
		"changes may have been missed":                      {steps{watched(x(1, marked(long))), doubt, listed(x(2, marked(long)))}, minute(2), true},
		"the version is unchanged, so no change was missed": {steps{watched(x(1, marked(long))), doubt, listed(x(1, marked(long)))}, long, false},
		"no change was missed, not marked yet":              {steps{watched(x(1)), doubt, listed(x(1))}, now, true},
		"changes were missed, not marked yet":               {steps{watched(x(1)), doubt, listed(x(2))}, minute(2), true},
		"changes of other objects may have been missed":     {steps{listed(), doubt, listed(x(2, marked(long)))}, long, false},
		"deleted and re-created, with a mark":               {steps{watched(x(1)), listed(), watched(x(2, marked(long)))}, long, false},
		"listed again, and no change was missed":            {steps{watched(x(1, marked(long))), listed(x(2, marked(long)))}, long, false},
		"references unknown since it was listed":            {steps{listed(x(1, marked(long), doubted))}, long, false},
		"references become known, with the old mark":        {steps{listed(x(1, marked(long), doubted)), watched(x(1, marked(long), quiet(minute(1))))}, long, false},
		"changed while references are unknown, then known":  {steps{listed(x(1, marked(long), doubted)), watched(x(2, marked(long), doubted)), watched(x(2, marked(long)))}, long, false},
		"references become known, not marked":               {steps{listed(x(1, doubted)), watched(x(1))}, minute(1), true},
		"references become known, and there is one":         {steps{listed(x(1, marked(long), doubted)), watched(x(1, marked(long), notEligible)), watched(x(1, marked(long)))}, minute(2), true},
		"references unknown, and the mark is moved back":    {steps{listed(x(1, marked(now), doubted)), watched(x(2, marked(long)))}, now, true},
		"references unknown, and changes were missed":       {steps{listed(x(1, marked(long), doubted)), doubt, listed(x(2, marked(long), doubted)), watched(x(2, marked(long)))}, minute(3), true},
		"references unknown, and no change was missed":      {steps{listed(x(1, marked(long), doubted)), doubt, listed(x(1, marked(long), doubted)), watched(x(1, marked(long)))}, long, false},
		"references unknown again":                          {steps{listed(x(1, marked(long))), watched(x(1, marked(long), doubted))}, long, false},
		"references unknown again, then known":              {steps{listed(x(1, marked(long))), watched(x(1, marked(long), doubted)), watched(x(1, marked(long)))}, minute(2), true},
		"references unknown again for longer":               {steps{listed(x(1, marked(long))), watched(x(1, marked(long), doubted)), watched(x(2, marked(long), doubted)), watched(x(2, marked(long)))}, minute(3), true},
		"references unknown after there was one":            {steps{listed(x(1, marked(long), notEligible)), watched(x(1, marked(long), doubted)), watched(x(1, marked(long)))}, minute(2), true},
		"marked again after references were unknown":        {steps{listed(x(1, marked(long))), watched(x(1, marked(long), doubted)), watched(x(1, marked(long))), watched(x(2, marked(minute(2))))}, minute(2), false},
		"a reference appeared and disappeared unseen":       {steps{listed(x(1, marked(long), quiet(minute(1)))), watched(x(1, marked(long), quiet(minute(2))))}, minute(1), true},
		"an earlier end of the quiet period":                {steps{listed(x(1, marked(long), quiet(minute(2)))), watched(x(1, marked(long), quiet(minute(1))))}, long, false},
		"the same quiet period":                             {steps{listed(x(1, marked(long), quiet(minute(1)))), watched(x(2, marked(long), quiet(minute(1))))}, long, false},
		"its namespace is listed again":                     {steps{watched(x(1)), relaid(x(1, under("a b")))}, now, true},
		"its namespace is listed again, with marks":         {steps{watched(x(1, marked(long))), relaid(x(2, marked(long), under("a b")))}, long, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &harness{listing: index.Listing{ID: 1, Kind: fixture.Jobs, Layout: columns["a"]}}
			w.Index = index.New(fixture.Jobs.GroupKind(), func() {})
			w.SetSnapshot(snapshotOf(fixture.Rule("a", marks)), now)
			w.Replace(w.listing, nil, now)
			if _, synced := w.Len(); !synced {
				t.Fatal("not synced")
			}
			for i, step := range test.steps {
				step(w, minute(i))
			}
			w.Scan(func(_ policy.Subject, evaluations []policy.Evaluation) {
				expect.Equal(t, "since", test.since, evaluations[0].Facts.Start)
				expect.Equal(t, "estimated", test.estimated, evaluations[0].Facts.Estimated)
			})
			expect.Equal(t, "consistent", nil, w.Consistent())
		})
	}
}

// TestMarkSurvivesARestart: the first listing has missed no changes.
func TestMarkSurvivesARestart(t *testing.T) {
	long := now.Add(-50 * time.Hour)
	w := newHarness(t, oneRule(marks), x(1, marked(long)))
	j, _ := w.Claim("x", now)
	expect.Equal(t, "reason", policy.Expired, j.Verdict.Reason)
	expect.Equal(t, "start", long, w.startOf("x"))
}

// startOf returns when a subject started by the first rule.
func (w *harness) startOf(name string) (start time.Time) {
	w.Scan(func(s policy.Subject, evaluations []policy.Evaluation) {
		if s.Name == name {
			start = evaluations[0].Facts.Start
		}
	})
	return start
}

func TestSubjectToMarkIsTakenAtOnce(t *testing.T) {
	later := now.Add(500 * time.Millisecond)
	const mark = `{"mark":"2026-03-01T12:00:01Z"}`
	long := now.Add(-50 * time.Hour)
	kept := func(r *policy.Rule) { r.Suspended = true }
	unapproved := func(r *policy.Rule) { r.Unapproved = true }
	tests := map[string]struct {
		rule   func(*policy.Rule) // besides marks
		row    *index.FactRow
		taken  []string
		valid  bool
		writes string
	}{
		"eligible and not marked":            {nil, x(1), []string{"x"}, true, mark},
		"eligible and marked":                {nil, x(1, marked(now)), never, false, ""},
		"marked and not eligible":            {nil, x(1, marked(long), notEligible), []string{"x"}, true, ""},
		"neither marked nor eligible":        {nil, x(1, notEligible), never, false, ""},
		"held":                               {nil, x(1, flags(policy.IsHeld)), []string{"x"}, true, mark},
		"terminating":                        {nil, x(1, flags(policy.IsTerminating)), never, false, ""},
		"a dry run":                          {fixture.Mode(v1alpha1.DryRun), x(1), never, false, ""},
		"suspended":                          {fixture.Mode(v1alpha1.Suspend), x(1), never, false, ""},
		"suspended by the namespace":         {kept, x(1), never, false, ""},
		"not approved":                       {unapproved, x(1), never, false, ""},
		"in a namespace yet unknown":         {nil, x(1, in("unborn")), never, false, ""},
		"in a protected namespace":           {nil, x(1, in("kube-system")), never, false, ""},
		"among the newest":                   {keep(1), x(1), []string{"x"}, true, mark},
		"without any facts":                  {nil, x(1, under("")), never, false, ""},
		"an evaluation error, and marked":    {nil, x(1, marked(long), broken), []string{"x"}, true, ""},
		"references unknown, and marked":     {nil, x(1, marked(long), doubted), never, false, ""},
		"references unknown, and not marked": {nil, x(1, doubted), never, false, ""},
		"in its quiet period":                {nil, x(1, quiet(now.Add(time.Minute))), []string{"x"}, true, mark},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := []func(*policy.Rule){marks}
			if test.rule != nil {
				options = append(options, test.rule)
			}
			w := newHarness(t, oneRule(options...), test.row)
			w.SetSnapshot(snapshotOf(fixture.Rule("a", options...)), now)
			expect.Equal(t, "taken", test.taken, w.take(later))
			j, _ := w.Claim("x", later)
			expect.Equal(t, "has a mark to write", test.valid, j.Marking.Valid())
			expect.Equal(t, "annotation", test.writes, j.Marking.Annotation())
			expect.Equal(t, "may be deleted", false, j.Permit.Valid())
			if test.valid {
				expect.Equal(t, "version", "1", j.Marking.Subject().ResourceVersion)
				w.Reconsider("x", later)
				expect.Equal(t, "taken after Reconsider", []string{"x"}, w.take(later))
				expect.Equal(t, "taken soon afterwards", never, w.take(later.Add(index.MarkAgain-1)))
				expect.Equal(t, "taken if it is still not marked", []string{"x"}, w.take(later.Add(index.MarkAgain)))
			}
		})
	}
}

// TestMarkIsMovedWhenItsStartIsNear: a mark whose start is far ahead is moved later, without a change of the subject.
func TestMarkIsMovedWhenItsStartIsNear(t *testing.T) {
	start := now.Add(time.Hour)
	near := start.Add(-30 * time.Second)
	later := func(r *draft) { marked(start)(r); r.Facts[0].EarlierMark = now.Add(-time.Hour) }
	for name, test := range map[string]struct {
		rule  func(*policy.Rule) // besides marks
		row   *index.FactRow
		taken []string
	}{
		"waiting":               {nil, x(1, later), []string{"x"}},
		"with a ledger":         {fixture.Counted, x(1, later), []string{"x"}},
		"held":                  {nil, x(1, later, flags(policy.IsHeld)), []string{"x"}},
		"kept among the newest": {keep(1), x(1, later), []string{"x"}},
		"a dry run":             {fixture.Mode(v1alpha1.DryRun), x(1, later), never},
	} {
		t.Run(name, func(t *testing.T) {
			options := []func(*policy.Rule){marks}
			if test.rule != nil {
				options = append(options, test.rule)
			}
			w := newHarness(t, oneRule(options...), test.row)
			expect.Equal(t, "taken before", never, w.take(near.Add(-1)))
			expect.Equal(t, "taken", test.taken, w.take(near))
			if j, _ := w.Claim("x", near); test.taken != nil {
				expect.Equal(t, "annotation", `{"mark":"2026-03-01T13:00:00Z"}`, j.Marking.Annotation())
			}
		})
	}
}

// TestTimeToLiveStartsWithTheMark: the subject is not due before the mark is written, and is due exactly one TTL later.
func TestTimeToLiveStartsWithTheMark(t *testing.T) {
	w := newHarness(t, oneRule(marks), x(1))
	w.take(now)
	year := now.Add(8760 * time.Hour)
	expect.Equal(t, "unmarked", policy.Unmarked, w.reason("x", year))
	w.Apply(1, x(2, marked(now.Add(time.Second))), now.Add(time.Second))
	due, _, _ := w.Next()
	expect.Equal(t, "due", now.Add(time.Hour+time.Second), due)
}

// TestQuietPeriodDelaysDeletion: an expired subject is due at the end of the quiet period, and is scheduled for that
// time.
func TestQuietPeriodDelaysDeletion(t *testing.T) {
	over := now.Add(policy.QuietPeriod)
	for name, options := range map[string][]func(*policy.Rule){
		"its TTL has passed":           nil,
		"over capacity":                {room(0), fixture.TTL(policy.Week)},
		"with a ledger":                {fixture.Counted},
		"over capacity, without a TTL": {room(0)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, oneRule(options...), row("x", now.Add(-2*time.Hour), quiet(over)))
			w.SetSnapshot(snapshotOf(fixture.Rule("a", options...)), now)
			w.take(over.Add(-index.Ahead))
			expect.Equal(t, "before", policy.Waiting, w.reason("x", over.Add(-1)))
			due, _, _ := w.Next()
			expect.Equal(t, "next", over, due)
			expect.Equal(t, "taken", []string{"x"}, w.take(over))
			j, _ := w.Claim("x", over)
			expect.Equal(t, "may be deleted", true, j.Permit.Valid())
		})
	}
}
