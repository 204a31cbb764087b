// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// open gives a rule a daily window. Tests begin at midnight.
func open(at string, lasts time.Duration) func(*policy.Rule) {
	hour, minute, _ := strings.Cut(at, ":")
	return opening(minute+" "+hour+" * * *", lasts)
}

// opening gives a rule a window.
func opening(schedule string, lasts time.Duration) func(*policy.Rule) {
	text := fmt.Sprintf(`{"metadata": {"name": "a"}, "spec": {"rules": [{}], "windows": [{"schedule": %q, "duration": %q}]}}`, schedule, lasts)
	d, err := policy.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	windows := d.Load(policy.DefaultProtection()).Windows
	return func(r *policy.Rule) { r.Windows = []*policy.Windows{windows} }
}

// midnight is when each bubble begins.
var midnight = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// frozenFor gives a rule a freeze that begins with the test.
func frozenFor(lasts time.Duration) func(*policy.Rule) {
	return func(r *policy.Rule) {
		r.Freezes = []policy.Freeze{{By: "f", From: midnight, To: midnight.Add(lasts)}}
	}
}

func TestDeferredUntilTheOpening(t *testing.T) {
	for name, test := range map[string]struct {
		rule func(*policy.Rule)
		due  time.Duration // after midnight
		want time.Duration // after midnight
	}{
		"due before the last window closed":  {open("0:30", time.Hour), -30 * 24 * time.Hour, 30 * time.Minute},
		"due since the last window closed":   {open("12:00", 4*time.Hour), 2 * time.Hour, 12*time.Hour + 54*time.Minute + 33*time.Second},
		"due within the window":              {open("0:30", time.Hour), 75 * time.Minute, 75 * time.Minute},
		"due in the last second of a window": {open("0:30", time.Hour), 90*time.Minute - time.Second + 1, 24*time.Hour + 30*time.Minute},
		"due when a freeze begins":           {frozenFor(10 * time.Minute), 0, 10 * time.Minute},
		"due in a freeze":                    {frozenFor(10 * time.Minute), 4 * time.Minute, 12 * time.Minute},
		"due when a freeze ends":             {frozenFor(10 * time.Minute), 10 * time.Minute, 15 * time.Minute},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.listedBy(fixture.Rule("a", fixture.TTL(0), test.rule), row("x", w.began.Add(test.due)))
			bubble.Pass(test.want - 1)
			expect.Equal(t, "removed one nanosecond early", none, w.removed())
			bubble.Pass(1)
			expect.Equal(t, "removed", []string{"x"}, w.removed())
		})
	}
}

// TestNothingIsSentAfterTheClosing: a backlog takes longer than the window is open. The rest waits for the next day.
func TestNothingIsSentAfterTheClosing(t *testing.T) {
	inBubble(t, retention.Options{MaxInFlight: 1}, func(t *testing.T, w *harness) {
		w.onEachDelete(func() retention.Outcome {
			time.Sleep(700 * time.Millisecond)
			return retention.Outcome{Result: retention.Removed}
		})
		w.listedBy(fixture.Rule("a", fixture.TTL(0), open("0:01", time.Minute)), rows("x", 200, w.began.Add(-48*time.Hour))...)
		bubble.Pass(119 * time.Second)
		sent := len(w.attempted())
		if sent < 75 || sent > 90 {
			t.Errorf("%d objects were deleted in 58 seconds, one after the other", sent)
		}
		bubble.Pass(24*time.Hour - 60*time.Second)
		expect.Equal(t, "deleted between the last second of the window and the next one", sent, len(w.attempted()))
		bubble.Pass(time.Second)
		if len(w.attempted()) == sent {
			t.Error("the rest does not continue at the next opening")
		}
	})
}

// TestPreflightUntilTheClosing: the time after preflight counts, not that of the decision before it.
func TestPreflightUntilTheClosing(t *testing.T) {
	for name, test := range map[string]struct {
		due  time.Duration
		want time.Duration
	}{
		"it ends before the last second": {118 * time.Second, 118*time.Second + 800*time.Millisecond},
		"it ends in the last second":     {118*time.Second + 300*time.Millisecond, 24*time.Hour + time.Minute + 800*time.Millisecond},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.set(func() {
				w.check = func(string) error {
					time.Sleep(800 * time.Millisecond)
					return nil
				}
			})
			w.listedBy(fixture.Rule("a", fixture.TTL(0), open("0:01", time.Minute)), row("x", w.began.Add(test.due)))
			bubble.Pass(25 * time.Hour)
			expect.Equal(t, "happened", fmt.Sprintf("%s removed x", test.want), strings.Join(w.happened()[:1], ""))
		})
	}
}

func TestEditWhileDeferred(t *testing.T) {
	const hour = time.Hour
	frozen := func(r *policy.Rule) { // from an hour after midnight
		r.Freezes = []policy.Freeze{{By: "f", From: midnight.Add(hour), To: midnight.Add(5 * hour)}}
	}
	rule := func(options ...func(*policy.Rule)) *policy.Rule {
		return fixture.Rule("a", append(options, fixture.TTL(0))...)
	}
	for name, test := range map[string]struct {
		before, after *policy.Rule
		want          time.Duration // after midnight; the edit is an hour after it
	}{
		"the windows are removed":    {rule(open("12:00", hour)), rule(), hour},
		"the window opens earlier":   {rule(open("12:00", hour)), rule(open("2:00", hour)), 2 * hour},
		"the window opens later":     {rule(open("2:00", hour)), rule(open("12:00", hour)), 12 * hour},
		"the window is open now":     {rule(open("12:00", hour)), rule(open("0:30", hour)), hour},
		"a freeze is added":          {rule(open("2:00", hour)), rule(open("2:00", hour), frozen), 26 * hour},
		"the rule becomes a dry run": {rule(open("2:00", hour)), rule(fixture.Mode(v1alpha1.DryRun)), 0},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.listedBy(test.before, row("x", w.began.Add(-48*hour)))
			bubble.Pass(hour - 1)
			expect.Equal(t, "removed before the edit", none, w.removed())
			bubble.Pass(1)
			w.use(test.after)
			bubble.Pass(test.want - hour - 1)
			if test.want > hour {
				expect.Equal(t, "removed one nanosecond early", none, w.removed())
			}
			bubble.Pass(40 * hour)
			want := fmt.Sprintf("%s removed x", test.want)
			if test.want == 0 {
				want = ""
			}
			expect.Equal(t, "happened", want, strings.Join(w.happened()[:min(1, len(w.happened()))], ""))
		})
	}
}
