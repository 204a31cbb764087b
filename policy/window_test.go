// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// window is a window in UTC, or in a zone.
func window(schedule, duration string, zone ...string) v1alpha1.Window {
	w := v1alpha1.Window{Schedule: schedule, Duration: duration}
	if len(zone) > 0 {
		w.TimeZone = zone[0]
	}
	return w
}

// loadedWindows loads windows of policy p, which must be valid.
func loadedWindows(list ...v1alpha1.Window) *policy.Windows {
	d := fine()
	d.Metadata.Name, d.Spec.Windows = "p", list
	p := d.Load(policy.DefaultProtection())
	if len(p.Problems) > 0 {
		panic(p.Problems[0].String())
	}
	return p.Windows
}

func open(windows ...*policy.Windows) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Rule.Windows = append(r.Rule.Windows, windows...) }
}

func frozen(freezes ...policy.Freeze) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Rule.Freezes = append(r.Rule.Freezes, freezes...) }
}

// startsAt makes a subject due at a time.
func startsAt(at time.Time) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Facts.Start, r.Rule.TTL = at, 0 }
}

func moment(t testing.TB, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	expect.NoError(t, err)
	return parsed
}

// TestWindowsAtDaylightSavingTime: schedules have the times of the CronJob controller, and durations are elapsed time. In Berlin,
// clocks go from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October.
func TestWindowsAtDaylightSavingTime(t *testing.T) {
	const berlin = "Europe/Berlin"
	for name, test := range map[string]struct {
		windows             []v1alpha1.Window
		from, opens, closes string
	}{
		"a winter night":                          {[]v1alpha1.Window{window("0 22 * * *", "8h", berlin)}, "2026-01-15T12:00:00Z", "2026-01-15T21:00:00Z", "2026-01-16T05:00:00Z"},
		"a summer night":                          {[]v1alpha1.Window{window("0 22 * * *", "8h", berlin)}, "2026-07-15T12:00:00Z", "2026-07-15T20:00:00Z", "2026-07-16T04:00:00Z"},
		"the shorter night ends at 07:00":         {[]v1alpha1.Window{window("0 22 * * *", "8h", berlin)}, "2026-03-28T12:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"},
		"the longer night ends at 05:00":          {[]v1alpha1.Window{window("0 22 * * *", "8h", berlin)}, "2026-10-24T12:00:00Z", "2026-10-24T20:00:00Z", "2026-10-25T04:00:00Z"},
		"a start in the skipped hour is left out": {[]v1alpha1.Window{window("30 2 * * *", "1h", berlin)}, "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z", "2026-03-30T01:30:00Z"},
		"a start in the repeated hour occurs twice, and both windows touch": {[]v1alpha1.Window{window("30 2 * * *", "1h", berlin)},
			"2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"},
		"a start after a change of half an hour is left out": {[]v1alpha1.Window{window("0 2 * * *", "1h", "Australia/Lord_Howe")},
			"2026-04-04T00:00:00Z", "2026-04-05T15:30:00Z", "2026-04-05T16:30:00Z"},
		"a leap day":                      {[]v1alpha1.Window{window("0 0 29 2 *", "1d")}, "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"},
		"a leap day after eight years":    {[]v1alpha1.Window{window("0 0 29 2 *", "1d")}, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z", "2104-03-01T00:00:00Z"},
		"windows that overlap":            {[]v1alpha1.Window{window("0 22 * * *", "4h"), window("0 1 * * *", "3h")}, "2026-03-01T12:00:00Z", "2026-03-01T22:00:00Z", "2026-03-02T04:00:00Z"},
		"windows that touch":              {[]v1alpha1.Window{window("0 1 * * *", "3h"), window("0 22 * * *", "3h")}, "2026-03-01T12:00:00Z", "2026-03-01T22:00:00Z", "2026-03-02T04:00:00Z"},
		"a duration of more than a day":   {[]v1alpha1.Window{window("0 20 * * 5", "2d10h")}, "2026-03-04T00:00:00Z", "2026-03-06T20:00:00Z", "2026-03-09T06:00:00Z"},
		"a macro":                         {[]v1alpha1.Window{window("@daily", "1h")}, "2026-03-01T12:00:00Z", "2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z"},
		"it is open already":              {[]v1alpha1.Window{window("0 22 * * *", "8h")}, "2026-03-01T23:00:00Z", "2026-03-01T23:00:00Z", "2026-03-02T06:00:00Z"},
		"it is open in its first moment":  {[]v1alpha1.Window{window("0 22 * * *", "8h")}, "2026-03-01T22:00:00Z", "2026-03-01T22:00:00Z", "2026-03-02T06:00:00Z"},
		"it is closed in its last second": {[]v1alpha1.Window{window("0 22 * * *", "8h")}, "2026-03-01T05:59:59Z", "2026-03-01T22:00:00Z", "2026-03-02T06:00:00Z"},
		"the second before that is open":  {[]v1alpha1.Window{window("0 22 * * *", "8h")}, "2026-03-01T05:59:58Z", "2026-03-01T05:59:58Z", "2026-03-01T06:00:00Z"},
		"touching windows have no last second": {[]v1alpha1.Window{window("0 1 * * *", "3h"), window("0 22 * * *", "3h")}, "2026-03-02T00:59:59Z",
			"2026-03-02T00:59:59Z", "2026-03-02T04:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			w, from := loadedWindows(test.windows...), moment(t, test.from)
			// A subject that is due since long ago is deleted as soon as the windows allow it.
			evaluations := evaluations(says("a", open(w), startsAt(moment(t, "2020-06-01T00:00:00Z"))))
			v, _ := policy.Decide(policy.Subject{}, evaluations, from)
			opens := from
			if v.Action == policy.Wait {
				expect.Equal(t, "reason", policy.Deferred, v.Reason)
				opens = v.Due
			}
			expect.Equal(t, "opens", test.opens, opens.Format(time.RFC3339))
			expect.Equal(t, "closes", test.closes, w.Closing(opens).Format(time.RFC3339))
		})
	}
}

// TestDeferredIsSpread: what becomes due while windows are closed is deleted in the first half of the next window, in order.
func TestDeferredIsSpread(t *testing.T) {
	night := loadedWindows(window("0 22 * * *", "8h")) // 16 hours are spread over the first 4 of a night
	freeze := policy.Freeze{By: "p", From: moment(t, "2026-03-10T00:00:00Z"), To: moment(t, "2026-03-20T00:00:00Z")}
	short := policy.Freeze{By: "p", From: moment(t, "2026-03-10T12:00:00Z"), To: moment(t, "2026-03-10T13:00:00Z")}
	always := policy.Freeze{By: "p", From: moment(t, "1970-01-01T00:00:00Z"), To: moment(t, "9999-12-31T23:59:59Z")}
	for name, test := range map[string]struct {
		as        func(*policy.Evaluation)
		due, want string
	}{
		"due when the window closes":        {open(night), "2026-03-01T06:00:00Z", "2026-03-01T22:00:00Z"},
		"due at noon":                       {open(night), "2026-03-01T12:00:00Z", "2026-03-01T23:12:00Z"},
		"due when the window opens":         {open(night), "2026-03-01T22:00:00Z", "2026-03-02T01:12:00Z"},
		"due in the window, in the spread":  {open(night), "2026-03-02T00:00:00Z", "2026-03-02T01:36:00Z"},
		"due after the spread":              {open(night), "2026-03-02T02:00:00Z", "2026-03-02T02:00:00Z"},
		"due late in the window":            {open(night), "2026-03-02T05:00:00Z", "2026-03-02T05:00:00Z"},
		"due before a freeze":               {frozen(freeze), "2026-03-09T00:00:00Z", "2026-03-09T00:00:00Z"},
		"due in the middle of a freeze":     {frozen(freeze), "2026-03-15T00:00:00Z", "2026-03-20T10:54:33Z"},
		"a day after a freeze":              {frozen(freeze), "2026-03-21T00:00:00Z", "2026-03-21T00:00:00Z"},
		"due in a freeze of an hour":        {frozen(short), "2026-03-10T12:30:00Z", "2026-03-10T13:15:00Z"},
		"an hour after a freeze of an hour": {frozen(short), "2026-03-10T14:00:00Z", "2026-03-10T14:00:00Z"},
		"due in a freeze without an end":    {frozen(always), "2026-03-15T00:00:00Z", "9999-12-31T23:59:59Z"}, // the last time that RFC 3339 can write
		"a freeze without an end, windows":  {func(r *policy.Evaluation) { open(loadedWindows(window("0 2 * * *", "4h")))(r); frozen(always)(r) }, "2026-03-15T00:00:00Z", "9999-12-31T23:59:59Z"},
		"a freeze and windows":              {func(r *policy.Evaluation) { open(night)(r); frozen(freeze)(r) }, "2026-03-15T00:00:00Z", "2026-03-20T22:58:55Z"},
	} {
		t.Run(name, func(t *testing.T) {
			due := moment(t, test.due)
			v, _ := policy.Decide(policy.Subject{}, evaluations(says("a", test.as, startsAt(due))), due.Add(-time.Hour))
			expect.Equal(t, "due", test.want, v.Due.Format(time.RFC3339))
			expect.Equal(t, "reason", policy.Waiting, v.Reason)
		})
	}
}

// TestSpreadOfSeveralRules: what becomes due by one rule while the windows of another are closed is spread too.
func TestSpreadOfSeveralRules(t *testing.T) {
	night := loadedWindows(window("0 22 * * *", "8h"))
	evening := loadedWindows(window("0 20 * * *", "8h")) // 16 hours are spread from 20:00 to 24:00
	freeze := policy.Freeze{By: "p", From: moment(t, "2026-03-01T10:00:00Z"), To: moment(t, "2026-03-01T14:00:00Z")}
	due := func(at string) func(*policy.Evaluation) { return startsAt(moment(t, at)) }
	for name, test := range map[string]struct {
		evaluations []policy.Evaluation
		want        string
	}{
		"due at noon by the rule without windows":       {evaluations(says("a", open(night), due("2026-02-20T00:00:00Z")), says("b", of("q"), due("2026-03-01T12:00:00Z"))), "2026-03-01T23:12:00Z"},
		"in the spread of the other":                    {evaluations(says("a", open(night), due("2026-02-20T00:00:00Z")), says("b", of("q"), due("2026-03-02T00:00:00Z"))), "2026-03-02T01:36:00Z"},
		"after the spread of the other":                 {evaluations(says("a", open(night), due("2026-02-20T00:00:00Z")), says("b", of("q"), due("2026-03-02T03:00:00Z"))), "2026-03-02T03:00:00Z"},
		"in the freeze of the other":                    {evaluations(says("a", frozen(freeze), due("2026-02-20T00:00:00Z")), says("b", of("q"), due("2026-03-01T12:00:00Z"))), "2026-03-01T15:00:00Z"},
		"both have windows: the later time applies":     {evaluations(says("a", open(night), due("2026-02-20T00:00:00Z")), says("b", of("q"), open(evening), due("2026-03-01T12:00:00Z"))), "2026-03-01T23:12:00Z"},
		"by the rule with windows later":                {evaluations(says("a", open(night), due("2026-03-01T12:00:00Z")), says("b", of("q"), due("2026-02-20T00:00:00Z"))), "2026-03-01T23:12:00Z"},
		"a rule that does not find it eligible":         {evaluations(says("a", due("2026-03-01T12:00:00Z")), says("b", of("q"), open(night), func(r *policy.Evaluation) { r.Facts.Eligible = false })), "2026-03-01T12:00:00Z"},
		"above the capacity of the rule without a TTL":  {evaluations(says("a", open(night), due("2026-02-20T00:00:00Z")), says("b", of("q"), excess, ttl(-1))), "2026-03-01T22:00:00Z"},
		"above the capacity, and due later by the rule": {evaluations(says("a", open(night), due("2026-02-20T00:00:00Z")), says("b", of("q"), excess, due("2026-03-03T00:00:00Z"))), "2026-03-01T22:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := policy.Decide(policy.Subject{}, test.evaluations, moment(t, "2026-03-01T08:00:00Z"))
			expect.Equal(t, "due", test.want, v.Due.Format(time.RFC3339))
			expect.Equal(t, "is deleted then", policy.Delete, decided(test.evaluations, v.Due).Action)
			expect.Equal(t, "is not deleted before", policy.Wait, decided(test.evaluations, v.Due.Add(-time.Nanosecond)).Action)
		})
	}
}

func decided(evaluations []policy.Evaluation, now time.Time) policy.Verdict {
	v, _ := policy.Decide(policy.Subject{}, evaluations, now)
	return v
}

// TestSpreadOfSeveralWindows: if windows of a policy and of an override apply, Sunset deletes what becomes due while one of
// them is closed in the first half of the time in which both are open. An override that opens with the policy, and was closed like it, does not
// change the spread. No object misses that time because its place in the windows of the override is at a time at
// which those of the policy are closed.
func TestSpreadOfSeveralWindows(t *testing.T) {
	nights := loadedWindows(window("0 22 * * 1-5", "8h"))
	weekends := loadedWindows(window("0 0 * * 6", "2d")) // with nights, from 00:00 to 06:00 on Saturdays: the time from Monday, 22:00, is spread over 3 hours
	halves := loadedWindows(window("0 0 * * *", "12h"), window("0 12 * * *", "12h"))
	parts := loadedWindows(window("0 21 * * *", "3h"), window("0 23 * * *", "3h"))
	for name, test := range map[string]struct {
		override  *policy.Windows
		due, want string
	}{
		"due when both close":            {weekends, "2026-02-28T06:00:00Z", "2026-03-07T00:00:00Z"},
		"due in a window of the policy":  {weekends, "2026-03-02T23:00:00Z", "2026-03-07T00:06:49Z"},
		"due on Wednesday":               {weekends, "2026-03-04T12:00:00Z", "2026-03-07T01:27:41Z"},
		"due right before both open":     {weekends, "2026-03-06T23:59:00Z", "2026-03-07T02:57:30Z"},
		"due in the second half":         {weekends, "2026-03-07T04:00:00Z", "2026-03-07T04:00:00Z"},
		"due in the last second":         {weekends, "2026-03-07T05:59:59Z", "2026-03-14T00:00:00Z"},
		"due when one closes":            {weekends, "2026-03-07T06:00:00Z", "2026-03-14T00:00:00Z"},
		"the same windows":               {nights, "2026-03-02T12:00:00Z", "2026-03-03T01:10:36Z"},
		"windows that are always open":   {halves, "2026-03-03T07:00:00Z", "2026-03-03T22:12:00Z"},
		"windows that overlap":           {parts, "2026-03-03T07:00:00Z", "2026-03-03T22:57:43Z"},
		"due in the second half of both": {parts, "2026-03-03T01:00:00Z", "2026-03-03T01:56:29Z"},
	} {
		t.Run(name, func(t *testing.T) {
			due := moment(t, test.due)
			subject := evaluations(says("a", open(nights, test.override), startsAt(due)))
			expect.Equal(t, "due", test.want, decided(subject, due.Add(-time.Hour)).Due.Format(time.RFC3339))
			expect.Equal(t, "is deleted then", policy.Delete, decided(subject, moment(t, test.want)).Action)
		})
	}
}

// TestDeferralOfSeveralRules: a rule whose window is closed keeps the subject from other rules, if it finds the subject due.
func TestDeferralOfSeveralRules(t *testing.T) {
	night, never := loadedWindows(window("0 22 * * *", "8h")), loadedWindows(window("0 12 * * *", "1h"))
	freeze := policy.Freeze{By: "f", From: now.Add(-hour), To: now.Add(hour)}
	for name, test := range map[string]struct {
		evaluations []policy.Evaluation
		want        outcome
	}{
		"windows are closed":               {evaluations(says("a", open(night))), outcome{policy.Wait, policy.Deferred, "a"}},
		"those of another rule are closed": {evaluations(says("a"), says("b", open(night))), outcome{policy.Wait, policy.Deferred, "b"}},
		"those of a rule that does not find it eligible": {
			evaluations(says("a"), says("b", open(night), func(r *policy.Evaluation) { r.Facts.Eligible = false })), outcome{policy.Delete, policy.Expired, "a"}},
		"those of a dry run":    {evaluations(says("a"), says("b", open(night), of("dry"), dryRun)), outcome{policy.Delete, policy.Expired, "a"}},
		"it is not due":         {evaluations(says("a", open(night), ttl(policy.Day))), outcome{policy.Wait, policy.Waiting, "a"}},
		"another rule keeps it": {evaluations(says("a", open(night)), says("b", suspended)), outcome{policy.Keep, policy.IsSuspended, "b"}},
		"a freeze":              {evaluations(says("a", frozen(freeze))), outcome{policy.Wait, policy.Deferred, "a"}},
		"windows that never open at the same time":       {evaluations(says("a", open(night, never))), outcome{policy.Keep, policy.NoCommonWindow, "a"}},
		"those of two rules never do":                    {evaluations(says("a", open(night)), says("b", of("q"), open(never))), outcome{policy.Keep, policy.NoCommonWindow, "a"}},
		"those of two rules never do, and it is not due": {evaluations(says("a", open(night), ttl(policy.Day)), says("b", of("q"), open(never))), outcome{policy.Keep, policy.NoCommonWindow, "a"}},
		"above the capacity":                             {evaluations(says("a", open(night), excess, ttl(policy.Day))), outcome{policy.Wait, policy.Deferred, "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := policy.Decide(policy.Subject{}, test.evaluations, now)
			check(t, v, test.want)
			if v.Action == policy.Wait && !v.Due.After(now) {
				t.Errorf("it waits until %s, which is over", v.Due)
			}
			expect.Equal(t, "is decided again", v.Reason == policy.NoCommonWindow, v.Again.After(now.Add(policy.Week)))
		})
	}
}

// TestNextOpeningCounts: the due time of an object that missed a window is the opening of the next one, also when that is open.
func TestNextOpeningCounts(t *testing.T) {
	night := loadedWindows(window("0 22 * * *", "8h"))
	missed := evaluations(says("a", open(night), startsAt(moment(t, "2026-02-01T03:00:00Z"))))
	for _, when := range []string{"2026-03-01T12:00:00Z", "2026-03-01T22:00:00Z", "2026-03-02T03:00:00Z"} {
		v, _ := policy.Decide(policy.Subject{}, missed, moment(t, when))
		expect.Equal(t, when, "2026-03-01T22:00:00Z", v.Due.Format(time.RFC3339))
	}
}

var (
	schedules = []string{"0 22 * * 1-5", "30 2 * * *", "*/20 * * * *", "0 0 1 * *", "15 1-4 * * 0,6", "0 0 29 2 *", "59 23 31 12 *", "0 */6 * * *", "0 0 13 * 5"}
	zones     = []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu"}
	lengths   = []string{"1m", "10m", "45m", "1h", "8h", "1d", "30h", "3d"}
)

func randomWindows(r *rand.Rand) *policy.Windows {
	var list []v1alpha1.Window
	for range 1 + r.Intn(3) {
		list = append(list, window(schedules[r.Intn(len(schedules))], lengths[r.Intn(len(lengths))], zones[r.Intn(len(zones))]))
	}
	return loadedWindows(list...)
}

// near is a random time, often near a change to or from daylight saving time, or a leap day.
func near(t testing.TB, r *rand.Rand) time.Time {
	places := []string{"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z", "2028-02-29T00:00:00Z", "2026-04-04T15:00:00Z"}
	return moment(t, places[r.Intn(len(places))]).Add(time.Duration(r.Int63n(int64(96*time.Hour))) - 48*time.Hour).Truncate(time.Second)
}

// TestDeferralProperties: for random windows and freezes, a deletion is never before the due time, and is allowed at its time. It
// is never sooner for a subject that is due later, at a later time, or with more windows or a freeze.
func TestDeferralProperties(t *testing.T) {
	r, earliest := rand.New(rand.NewSource(1)), moment(t, "2026-01-01T00:00:00Z")
	for round := range 40 {
		one, other := randomWindows(r), randomWindows(r)
		from := near(t, r)
		freeze := policy.Freeze{By: "f", From: from, To: from.Add(time.Duration(1+r.Intn(100)) * time.Hour)}
		deletes := func(due, now time.Time, more ...func(*policy.Evaluation)) time.Time {
			v, permit := policy.Decide(policy.Subject{}, evaluations(says("a", append([]func(*policy.Evaluation){open(one), startsAt(due)}, more...)...)), now)
			switch {
			case permit.Valid():
				return now
			case v.Reason == policy.NoCommonWindow:
				return moment(t, "9999-12-31T23:59:59Z")
			}
			return v.Due
		}
		for range 20 {
			due, when := near(t, r), near(t, r)
			later := due.Add(time.Duration(r.Int63n(int64(30 * time.Hour))))
			next := when.Add(time.Duration(r.Int63n(int64(30 * time.Hour))))
			deleted, narrower := deletes(due, when), deletes(due, when, open(other))
			describe := fmt.Sprintf("round %d: windows %s, due %s, at %s, deleted %s", round, one, due, when, deleted)
			switch {
			case deleted.Before(due), deleted.Before(when):
				t.Fatalf("%s: too early", describe)
			case !deletes(due, deleted).Equal(deleted):
				t.Fatalf("%s: the windows are closed then", describe)
			case !one.Open(deleted):
				t.Fatalf("%s: the windows close within a second", describe)
			case deletes(later, when).Before(deleted):
				t.Fatalf("%s: due at %s it is deleted sooner", describe, later)
			case deletes(due, next).Before(deleted):
				t.Fatalf("%s: at %s it is deleted sooner", describe, next)
			case narrower.Before(deleted):
				t.Fatalf("%s: with windows %s it is deleted sooner", describe, other)
			case narrower.Year() < 9999 && deletes(later, when, open(other)).Before(narrower):
				t.Fatalf("%s: with windows %s, it is deleted sooner than at %s if it is due at %s", describe, other, narrower, later)
			case deletes(due, when, frozen(freeze)).Before(deleted):
				t.Fatalf("%s: with a freeze %s it is deleted sooner", describe, freeze)
			}
			both := func(by time.Time) time.Time {
				return decided(evaluations(says("a", open(one), startsAt(due)), says("b", of("q"), startsAt(by))), earliest).Due
			}
			if by := both(later); both(later.Add(time.Hour)).Before(by) || by.Before(later) || !one.Open(by) {
				t.Fatalf("%s: if it is due at %s by another rule, it is deleted at %s", describe, later, by)
			}
		}
	}
}

// TestForecastOfADeferralIsExact: a subject waits until exactly the due time that was forecast.
func TestForecastOfADeferralIsExact(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 300 {
		w, due := randomWindows(r), near(t, r)
		subject := evaluations(says("a", open(w), startsAt(due)))
		v, _ := policy.Decide(policy.Subject{}, subject, due.Add(-time.Minute))
		before, _ := policy.Decide(policy.Subject{}, subject, v.Due.Add(-time.Nanosecond))
		then, _ := policy.Decide(policy.Subject{}, subject, v.Due)
		if before.Action == policy.Delete || !before.Due.Equal(v.Due) || then.Action != policy.Delete || !then.Due.Equal(v.Due) {
			t.Fatalf("windows %s, due %s: forecast %v, a moment earlier %v, then %v", w, due, v, before, then)
		}
	}
}

var openAtNoon = loadedWindows(window("0 11 * * *", "3h"))

// TestWindowsAndFreezesOnlyKeep: they never cause a deletion, and never make one earlier. The order of rules does not matter.
func TestWindowsAndFreezesOnlyKeep(t *testing.T) {
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		restricted := w.with(func(rule *policy.Rule) {
			if r.Intn(4) == 0 {
				rule.Freezes = []policy.Freeze{{By: "f", From: randomTime(r).Add(2 * hour), To: randomTime(r).Add(12 * hour)}}
			}
			if r.Intn(4) == 0 {
				rule.Windows = []*policy.Windows{openAtNoon}
			}
		})
		without, _ := w.decide(now)
		with, permit := restricted.decide(now)
		slices.Reverse(restricted.evaluations)
		reversed, _ := restricted.decide(now)
		return with == reversed && permit.Valid() == (with.Action == policy.Delete) &&
			(with.Action != policy.Delete || without.Action == policy.Delete) &&
			(with.Action == policy.Keep) == (without.Action == policy.Keep) && !with.Due.Before(without.Due)
	})
}
