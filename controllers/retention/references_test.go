// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// used makes a row referenced, and doubted gives it unknown references.
func used(r *draft) { r.Facts.Eligible = false }

func doubted(r *draft) {
	r.Facts.Eligible, r.Facts.Err = false, policy.ErrReferencesUnknown
}

// ofConfig gives a row a ConfigMap as its owner.
func ofConfig(r *draft) {
	r.Facts.Owner = &policy.Owner{Kind: fixture.ConfigMaps, Name: "config", UID: "uid-config"}
}

// quiet sets a time before which the subject of a row is not deleted.
func quiet(until time.Time) func(*draft) {
	return func(r *draft) { r.Facts.NotBefore = until }
}

// TestRulesThatRankAreConfirmed: without a watch, it is unknown which of the newer objects still exist.
func TestRulesThatRankAreConfirmed(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("a"), fixture.Rule("b", func(r *policy.Rule) { r.Keep = 1 }))
		s := w.source(0)
		s.set(func() { s.behind = errors.New("the watch was interrupted") })
		s.list(row("old", w.began.Add(-time.Hour)), row("new", w.began))
		bubble.Pass(time.Minute)
		expect.Equal(t, "attempts", nil, w.attempted())
		s.set(func() { s.behind = nil })
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", []string{"old"}, w.removed())
	})
}

// TestConfirmKeepsNewlyReferencedSubjects: Confirm passes a new reference to the sink before the final decision.
func TestConfirmKeepsNewlyReferencedSubjects(t *testing.T) {
	for name, change := range map[string]func(*draft){"referenced": used, "references unknown": doubted} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.use(fixture.Rule("a", fixture.About(fixture.ConfigMaps)))
			s := w.source(0)
			s.set(func() { s.confirm = func(policy.Subject) { s.apply(row("x", w.began, change)) } })
			s.list(row("x", w.began))
			bubble.Pass(2 * time.Hour)
			expect.Equal(t, "attempts", nil, w.attempted())
			expect.Equal(t, "confirmed", []string{"x"}, s.confirmed)
			s.set(func() { s.confirm = nil })
			s.apply(row("x", w.began, quiet(w.began.Add(2*time.Hour+policy.QuietPeriod))))
			bubble.Pass(policy.QuietPeriod - 1)
			expect.Equal(t, "deleted in the quiet period", none, w.removed())
			bubble.Pass(1)
			expect.Equal(t, "removed", []string{"x"}, w.removed())
		})
	}
}

// TestConfirmDefersSubjectsWithOutdatedFacts: a subject is put off while its facts may be out of date.
func TestConfirmDefersSubjectsWithOutdatedFacts(t *testing.T) {
	for name, of := range map[string]string{"the subject": "x", "the owner": "config"} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.use(fixture.Rule("a", fixture.About(fixture.ConfigMaps)), fixture.Rule("pods", owners))
			s := w.sourceOf(fixture.ConfigMaps)
			s.set(func() { s.behind = errors.New("not watched") })
			if of == "x" {
				s.list(row("x", w.began))
			} else {
				s.list(row("config", w.began.Add(-time.Hour), used))
				w.sourceOf(fixture.Pods).list(row("pod", w.began.Add(-time.Hour), ofConfig))
			}
			bubble.Pass(2 * time.Hour)
			expect.Equal(t, "attempts", nil, w.attempted())
			if n := len(s.confirmed); n < 2 || n > 5*3600 {
				t.Errorf("confirmed %d times", n)
			}
			s.set(func() { s.behind = nil })
			bubble.Pass(time.Second)
			expect.Equal(t, "removed", 1, len(w.removed()))
		})
	}
}

// TestConfirmIsSkippedWithoutReferences: Confirm would cost time for each deletion.
func TestConfirmIsSkippedWithoutReferences(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed(row("x", w.began))
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		expect.Equal(t, "confirmed", nil, w.source(0).confirmed)
	})
}

// TestReferenceStopsRetriesOfADeletion: a version may become referenced while it is being deleted. If the DELETE fails, it is
// kept.
func TestReferenceStopsRetriesOfADeletion(t *testing.T) {
	for name, test := range map[string]struct {
		outcome  retention.Outcome
		attempts int // within a day; the first is the only one for a subject that is kept
	}{
		"it was deleted":   {retention.Outcome{Result: retention.Removed}, 1},
		"it was not found": {retention.Outcome{Result: retention.Gone}, 1},
		"it had changed":   {retention.Outcome{Result: retention.Changed}, 1},
		"it was refused":   {retention.Outcome{Result: retention.Refused, Err: errors.New("no")}, 1},
		"no answer":        {retention.Outcome{Err: errors.New("timeout"), Unsure: true}, 1},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.use(fixture.Rule("a", fixture.About(fixture.ConfigMaps)))
			s := w.source(0)
			s.list(row("x", w.began))
			w.onDelete(func(policy.DeletePermit) retention.Outcome {
				s.apply(row("x", w.began, used))
				return test.outcome
			})
			bubble.Pass(24 * time.Hour)
			expect.Equal(t, "attempts", test.attempts, len(w.attempted()))
			s.apply(row("x", w.began)) // the same version, no longer referenced
			bubble.Pass(time.Second)
			went := test.outcome.Result == retention.Removed
			expect.Equal(t, "retried", !went, len(w.attempted()) > test.attempts)
		})
	}
}

// TestBackoffIsNotShortenedByEvaluations: evaluations with the same result do not shorten the backoff.
func TestBackoffIsNotShortenedByEvaluations(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.onEachDelete(after(0, retention.Refused, false))
		w.use(fixture.Rule("a", fixture.About(fixture.ConfigMaps)))
		s := w.source(0)
		s.list(row("x", w.began.Add(-time.Hour)))
		for range 3600 {
			s.apply(row("x", w.began.Add(-time.Hour)))
			bubble.Pass(time.Second)
		}
		if n := len(w.attempted()); n > 20 {
			t.Errorf("%d attempts in an hour", n)
		}
	})
}

// TestRecordedSubjectIsKeptWhileReferenced: a recorded subject is kept while it is referenced, and deleted after that.
func TestRecordedSubjectIsKeptWhileReferenced(t *testing.T) {
	b := newLedgerFake()
	inBubble(t, retention.Options{Ledger: b}, func(t *testing.T, w *harness) {
		w.guard()
		w.use(fixture.Rule("counted", fixture.About(fixture.ConfigMaps), fixture.Counted))
		s := w.source(0)
		b.wrote = func() { s.apply(row("x", w.began, used)) }
		s.list(row("x", w.began))
		bubble.Pass(24 * time.Hour)
		expect.Equal(t, "attempts", nil, w.attempted())
		expect.Equal(t, "written", 1, b.writes)
		s.apply(row("x", w.began, quiet(w.began.Add(24*time.Hour+policy.QuietPeriod))))
		bubble.Pass(policy.QuietPeriod - 1)
		expect.Equal(t, "deleted in the quiet period", none, w.removed())
		bubble.Pass(1)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

// TestRulesAboutAnOwnersKindAreConfirmed: a new reference to the owner may keep it.
func TestRulesAboutAnOwnersKindAreConfirmed(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("keeps", fixture.About(fixture.ConfigMaps), fixture.Mode(v1alpha1.Suspend)), fixture.Rule("pods", owners))
		s := w.sourceOf(fixture.ConfigMaps)
		s.set(func() { s.confirm = func(policy.Subject) { s.apply(row("config", w.began)) } })
		s.list(row("config", w.began, used)) // the rule that keeps does not apply to it
		w.sourceOf(fixture.Pods).list(row("pod", w.began, ofConfig))
		bubble.Pass(time.Minute)
		expect.Equal(t, "attempts", nil, w.attempted())
		s.set(func() { s.confirm = nil })
		s.apply(row("config", w.began, used))
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"config"}, w.removed())
	})
}

// TestOwnerStaysWhenItsSubjectIsReferredToMeanwhile: the rules are evaluated again after the last read of the subject.
func TestOwnerStaysWhenItsSubjectIsReferredToMeanwhile(t *testing.T) {
	ofJob := ownedBy("job")
	for name, test := range map[string]struct {
		change func(*draft)
		want   []string
	}{
		"no change":                             {func(*draft) {}, []string{"job"}},
		"an object refers to it":                {used, none},
		"an object referred to it for a moment": {func(r *draft) { r.Facts.NotBefore = r.Created.Add(100 * time.Hour) }, none},
		"its references become unknown":         {doubted, none},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.use(fixture.Rule("a", fixture.About(fixture.ConfigMaps), owning))
			s := w.source(0)
			w.afterPrepare(s, func() { s.apply(row("x", w.began, ofJob, test.change)) })
			s.list(row("x", w.began, ofJob))
			bubble.Pass(2 * time.Hour)
			expect.Equal(t, "removed", test.want, w.removed())
		})
	}
}

// TestOwnerStaysWhenTheRulesAboutItsKindComeToKeepIt: a rule about the owner's kind may start to keep it right before the
// request.
func TestOwnerStaysWhenTheRulesAboutItsKindComeToKeepIt(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("keeps", fixture.About(fixture.ConfigMaps), fixture.Mode(v1alpha1.Suspend)), fixture.Rule("pods", owners))
		s := w.sourceOf(fixture.ConfigMaps)
		w.afterPrepare(s, func() { s.apply(row("config", w.began)) })
		s.list(row("config", w.began, used)) // the rule that keeps does not apply to it
		w.sourceOf(fixture.Pods).list(row("pod", w.began, ofConfig))
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", none, w.removed())
	})
}

// owning makes a rule delete the owners of its subjects.
func owning(r *policy.Rule) { r.Owner = true }

// afterPrepare makes a source find a change at the first Confirm after the last read.
func (w *harness) afterPrepare(s *source, change func()) {
	var once sync.Once
	w.set(func() {
		w.prepare = func(context.Context) *retention.Outcome {
			s.set(func() { s.confirm = func(policy.Subject) { once.Do(change) } })
			return nil
		}
	})
}
