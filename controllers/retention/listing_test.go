// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// own returns a rule of a RetentionPolicy of a namespace. Its key determines its program.
func own(namespace, key string, options ...func(*policy.Rule)) *policy.Rule {
	return fixture.Rule(key, append(options, func(r *policy.Rule) { r.Namespace, r.ID.Policy = namespace, namespace+"/own" })...)
}

// has reports whether there are facts about a rule.
func (w *harness) has(r *policy.Rule) bool {
	asking := *r
	asking.Key = program(r).Key()
	return w.Kinds()[0].Index.Has(w.snapshot, &asking)
}

// opened returns the number of sources that were opened.
func (w *harness) opened() (n int) {
	w.set(func() { n = len(w.sources) })
	return n
}

// relisted returns the namespaces that were listed one by one, in order.
func (s *source) relisted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.listed...)
}

// holds makes the source list these objects in any namespace.
func (s *source) holds(drafts ...*draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listing = func(namespace string) ([]*draft, error) {
		var inside []*draft
		for _, r := range drafts {
			if r.Namespace == namespace {
				inside = append(inside, r)
			}
		}
		return inside, nil
	}
}

func TestNamespacesOwnRuleListsOnlyTheNamespace(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		x, y := row("x", w.began), row("y", w.began, in("team-b"))
		s := w.listed(x, y)
		s.holds(x, y)
		w.use(fixture.Rule("a"), own("team-a", "b"))
		bubble.Pass(0)
		expect.Equal(t, "has facts", true, w.has(own("team-a", "b")))
		expect.Equal(t, "listed", []string{"team-a"}, s.relisted())
		expect.Equal(t, "sources", 1, w.opened())
		expect.Equal(t, "relisting all", false, w.states()["Job"].Relisting)
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", 2, len(w.removed()))
		expect.Equal(t, "listed in the end", []string{"team-a"}, s.relisted())
	})
}

func TestNamespaceIsKeptUntilItIsListed(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		x, y := row("x", w.began), row("y", w.began, in("team-b"))
		s := w.listed(x, y)
		s.set(func() {
			s.listing = func(string) ([]*draft, error) { return nil, errors.New("no answer") }
		})
		w.use(fixture.Rule("a"), own("team-a", "b"))
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "removed", []string{"y"}, w.removed())
		if n := len(s.relisted()); n < 1400 || n > 1450 {
			t.Errorf("listed %d times in two hours, want once every 5 s", n)
		}
		expect.Equal(t, "has facts", false, w.has(own("team-a", "b")))
		s.holds(x)
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "deleted after the list", []string{"y", "x"}, w.removed())
	})
}

func TestBurstOfEditsListsANamespaceOnceInFiveSeconds(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		x := row("x", w.began)
		s := w.listed(x)
		s.holds(x)
		for i := range 20 { // for ten seconds
			w.use(fixture.Rule("a"), own("team-a", fmt.Sprint("edit ", i)))
			bubble.Pass(500 * time.Millisecond)
		}
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "listed", 3, len(s.relisted()))
		expect.Equal(t, "sources", 1, w.opened())
		bubble.Pass(time.Hour)
		expect.Equal(t, "deleted by the last edit", []string{"x"}, w.removed())
	})
}

func TestNamespacesAreListedOneByOne(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listed()
		w.use(fixture.Rule("a"), own("team-a", "b"), own("team-b", "b"), own("team-c", "b"))
		bubble.Pass(100 * time.Millisecond)
		expect.Equal(t, "listed first", []string{"team-a"}, w.source(0).relisted())
		bubble.Pass(200 * time.Millisecond)
		expect.Equal(t, "listed next", []string{"team-a", "team-b"}, w.source(0).relisted())
		bubble.Pass(time.Minute)
		expect.Equal(t, "listed", []string{"team-a", "team-b", "team-c"}, w.source(0).relisted())
	})
}

// TestSlowListOfANamespaceDelaysNoOther, even if the rules of the slow namespace change during each list.
func TestSlowListOfANamespaceDelaysNoOther(t *testing.T) {
	tests := map[string]struct {
		slow   []string
		takes  time.Duration
		within time.Duration
	}{
		"one, 8 s":                     {[]string{"team-a"}, 8 * time.Second, 30 * time.Second},
		"one, longer than the timeout": {[]string{"team-a"}, 61 * time.Second, 100 * time.Second},
		"two, longer than the timeout": {[]string{"team-a", "team-c"}, 61 * time.Second, 150 * time.Second},
	}
	for name, test := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			y := row("y", w.began, in("team-b"))
			all := []*draft{y}
			for _, namespace := range test.slow {
				all = append(all, row(namespace, w.began, in(namespace)))
			}
			s := w.listed(all...)
			s.holds(all...)
			s.set(func() {
				fast := s.listing
				s.listing = func(namespace string) ([]*draft, error) {
					if slices.Contains(test.slow, namespace) {
						time.Sleep(test.takes)
					}
					return fast(namespace)
				}
			})
			for i := range int(test.within / time.Second) {
				rules := []*policy.Rule{fixture.Rule("a")}
				for _, namespace := range test.slow {
					rules = append(rules, own(namespace, fmt.Sprint("edit ", i)))
				}
				if i > 0 {
					rules = append(rules, own("team-b", "b"))
				}
				w.use(rules...)
				bubble.Pass(time.Second)
			}
			expect.Equal(t, "has facts", true, w.has(own("team-b", "b")))
		})
	}
}

// TestEditsInManyNamespacesDelayNoOther: the rules of fifty namespaces change all the time, more often than all can be
// listed.
func TestEditsInManyNamespacesDelayNoOther(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		const floods = 50
		quiet := row("quiet", w.began, in("quiet"))
		all, rules := []*draft{quiet}, []*policy.Rule{fixture.Rule("a")}
		for i := range floods {
			namespace := fmt.Sprintf("flood-%02d", i)
			all, rules = append(all, row(namespace, w.began, in(namespace))), append(rules, own(namespace, "first"))
		}
		s := w.listed(all...)
		s.holds(all...)
		flood := func(n int) {
			for i := range n {
				k := i % floods
				rules[k+1] = own(fmt.Sprintf("flood-%02d", k), fmt.Sprint("edit ", i))
				w.use(rules...)
				bubble.Pass(100 * time.Millisecond)
			}
		}
		flood(300)
		rules = append(rules, own("quiet", "b"))
		flood(6)
		expect.Equal(t, "has facts", true, w.has(own("quiet", "b")))
		w.use(append(rules[:floods+1:floods+1], own("quiet", "c"))...) // now it is one of the recently listed namespaces
		bubble.Pass(time.Minute)
		expect.Equal(t, "has facts", true, w.has(own("quiet", "c")))
	})
}

// TestObjectThatWasNotEvaluatedIsEvaluatedAgain, even if its namespace has no RetentionPolicies, or if it is
// cluster-scoped. If it fails each time, it is retried at growing intervals.
func TestObjectThatWasNotEvaluatedIsEvaluatedAgain(t *testing.T) {
	for _, namespace := range []string{"team-a", ""} {
		runInBubble(t, namespace, retention.Options{}, func(t *testing.T, w *harness) {
			x := row("x", w.began, in(namespace))
			w.use(fixture.Rule("a"))
			s := w.source(0)
			fails := s.answered(row("x", w.began, in(namespace), failing)).EvaluateAgain(true)
			s.sink.Replace([]*index.FactRow{fails})
			s.set(func() {
				s.slow = 5 * time.Second
				s.listing = func(string) ([]*draft, error) { return nil, errors.New("too late") }
			})
			bubble.Pass(10 * time.Minute)
			if n := len(s.relisted()); n < 10 || n > 13 {
				t.Errorf("listed %d times in ten minutes, want one in 55 s", n)
			}
			s.set(func() { s.slow, s.listed = 0, nil })
			s.holds(x)
			bubble.Pass(time.Minute)
			expect.Equal(t, "listed", []string{namespace}, s.relisted())
			bubble.Pass(time.Hour)
			expect.Equal(t, "removed", []string{"x"}, w.removed())
		})
	}
}

// failing is a failed evaluation.
func failing(r *draft) { r.Facts = policy.Facts{Selected: true, Err: errors.New("not evaluated")} }

// TestListOfANamespaceThatComesTooLate: the rules of the namespace have changed during the list.
func TestListOfANamespaceThatComesTooLate(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		x := row("x", w.began)
		s := w.listed(x)
		s.set(func() {
			s.listing = func(string) ([]*draft, error) {
				rows := []*draft{x}
				time.Sleep(time.Second)
				return rows, nil
			}
		})
		w.use(fixture.Rule("a"), own("team-a", "b"))
		bubble.Pass(500 * time.Millisecond)
		w.use(fixture.Rule("a"), own("team-a", "c"))
		bubble.Pass(time.Minute)
		expect.Equal(t, "listed", 2, len(s.relisted()))
		expect.Equal(t, "rows taken", []bool{false, true}, s.taken)
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

func TestListingIsNotRepeatedForAnsweredRules(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		x := row("x", w.began)
		s := w.listed(x)
		s.holds(x)
		w.use(fixture.Rule("a"), own("team-a", "b"))
		bubble.Pass(time.Minute)
		w.use(fixture.Rule("a"))                                               // removed
		w.use(fixture.Rule("a"), own("team-a", "b"))                           // added again
		w.use(fixture.Rule("a"), own("team-a", "b", fixture.TTL(2*time.Hour))) // with another TTL
		w.use(fixture.Rule("a"), own("team-b", "a"))                           // a rule that applies everywhere
		w.use(fixture.Rule("a"), own("team-a", "b"), own("team-a", "a"))       // both
		bubble.Pass(time.Minute)
		expect.Equal(t, "listed", []string{"team-a"}, s.relisted())
		expect.Equal(t, "sources", 1, w.opened())
	})
}

// TestRulesOfDeletedPoliciesAreNotEvaluated: they would use up the evaluation time of their namespace, and memory.
func TestRulesOfDeletedPoliciesAreNotEvaluated(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		x := row("x", w.began)
		s := w.listed(x)
		s.holds(x)
		in := func(namespace string) int { return len(s.asked().In[namespace].Rules) }
		w.use(fixture.Rule("a"), own("team-a", "b"), own("team-a", "c"), own("team-b", "b"))
		bubble.Pass(time.Minute)
		expect.Equal(t, "rules with those for all namespaces", []int{3, 2}, []int{in("team-a"), in("team-b")})
		w.use(fixture.Rule("a"), own("team-a", "c"), own("team-b", "b"))
		expect.Equal(t, "after a policy is deleted", []int{2, 2}, []int{in("team-a"), in("team-b")})
		w.use(fixture.Rule("a"), fixture.Rule("z"), own("team-a", "c")) // the last one of team-b, while a new listing begins
		expect.Equal(t, "in the new listing", []int{3, 0}, []int{len(w.source(1).asked().In["team-a"].Rules), len(w.source(1).asked().In) - 1})
		w.use(fixture.Rule("a"))
		expect.Equal(t, "namespaces with rules", 0, len(s.asked().In))
		x.ResourceVersion = "7"
		s.apply(x)
		w.use(fixture.Rule("a"), own("team-a", "b"))
		bubble.Pass(time.Minute)
		expect.Equal(t, "has facts of a policy that is created again", true, w.has(own("team-a", "b")))
	})
}

func TestPendingListingIsNotBegunAgain(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		x, y := row("x", w.began), row("y", w.began, in("team-b"))
		w.listed(x, y)
		w.use(fixture.Rule("a"), fixture.Rule("b"))
		pending := w.source(1)
		pending.holds(x, y)
		for i := range 5 {
			w.use(fixture.Rule("a"), fixture.Rule("b"), own("team-a", fmt.Sprint("edit ", i)))
			bubble.Pass(time.Second)
		}
		expect.Equal(t, "sources", 2, w.opened())
		expect.Equal(t, "the listing still runs", nil, pending.ctx.Err())
		expect.Equal(t, "listed before it is complete", []string{}, pending.relisted())
		bubble.Pass(time.Hour)
		expect.Equal(t, "removed", none, w.removed())
		pending.list(x, y)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "listed", []string{"team-a"}, pending.relisted())
		expect.Equal(t, "listed by the first source", []string{}, w.source(0).relisted())
		expect.Equal(t, "deleted after the listing", 2, len(w.removed()))
	})
}

// TestSourceThatCannotAskMoreIsReplaced: such a source only watches metadata, or does not support a change of rules.
func TestSourceThatCannotAskMoreIsReplaced(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		x := row("x", w.began)
		w.use(fixture.Rule("a"))
		w.source(0).set(func() { w.source(0).refuses = true })
		w.source(0).list(x)
		w.use(fixture.Rule("a"), own("team-a", "b"))
		expect.Equal(t, "relisting", true, w.states()["Job"].Relisting)
		second := w.source(1)
		expect.Equal(t, "rules it was opened with", 2, len(second.asked().About("team-a").Rules))
		expect.Equal(t, "rules elsewhere", 1, len(second.asked().About("team-b").Rules))
		second.set(func() { second.refuses = true })
		w.use(fixture.Rule("a"), own("team-a", "c")) // before the listing is complete
		third := w.source(2)
		if second.ctx.Err() == nil {
			t.Error("the second source still runs")
		}
		bubble.Pass(2 * time.Hour)
		expect.Equal(t, "removed", none, w.removed())
		third.list(x)
		bubble.Pass(0)
		expect.Equal(t, "deleted after the listing", []string{"x"}, w.removed())
		expect.Equal(t, "listed by namespace", []string{}, third.relisted())
	})
}

func TestRuleSetSharesEqualColumns(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.use(fixture.Rule("a"), own("team-a", "a"), own("team-b", "b"))
		s := w.source(0)
		asked := func(namespace string) int { return len(s.asked().About(namespace).Layout.Keys()) }
		expect.Equal(t, "in team-a, with the same rule", 1, asked("team-a"))
		expect.Equal(t, "in team-b", 2, asked("team-b"))
		s.list()
		w.use(fixture.Rule("a"), own("team-a", "c"), own("team-b", "b"))
		expect.Equal(t, "in team-a, with another rule", 2, asked("team-a"))
		expect.Equal(t, "in team-c", 1, asked("team-c"))
		expect.Equal(t, "in all namespaces", 3, len(s.asked().Rules()))
	})
}

// set changes how the source answers.
func (s *source) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func TestRuleWithoutPermissionHoldsBackNobodyElse(t *testing.T) {
	inBubble(t, retention.Options{MaxInFlight: 1}, func(t *testing.T, w *harness) {
		asked := 0
		w.set(func() {
			w.permit = func(r *policy.Rule) error {
				if r.Namespace == "team-a" {
					asked++
					return errors.New("ServiceAccount cleaner may not delete jobs")
				}
				return nil
			}
		})
		w.use(own("team-a", "a"), fixture.Rule("b", func(r *policy.Rule) { r.Key = "a" }, fixture.TTL(time.Minute)))
		w.source(0).list(append(rows("own", 10, w.began.Add(-time.Hour)), rows("free", 100, w.began.Add(-time.Hour), in("team-b"))...)...)
		bubble.Pass(time.Second)
		expect.Equal(t, "removed", 100, count(w.removed(), "free"))
		bubble.Pass(time.Minute)
		expect.Equal(t, "attempts without permission", 0, count(w.attempted(), "own"))
		if asked < 100 || asked > 150 {
			t.Errorf("%d permission checks within a minute for 10 subjects, want one every 5 s for each", asked)
		}
		expect.Equal(t, "error of PreflightError", nil, w.PreflightError())
		w.set(func() { w.permit = nil })
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "deleted with permission", 10, count(w.removed(), "own"))
	})
}

// TestRuleThatMayNotWatchIsNotAsked: without permission to watch, nothing is evaluated for a rule.
func TestRuleThatMayNotWatchIsNotAsked(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		unwatched := func(r *policy.Rule) { r.Unpermitted, r.Unwatched = true, true }
		w.use(fixture.Rule("a"), own("team-a", "b", unwatched))
		s := w.source(0)
		x := row("x", w.began)
		s.list(x)
		s.holds(x)
		bubble.Pass(time.Minute)
		expect.Equal(t, "rules without permission", 1, len(s.asked().About("team-a").Rules))
		expect.Equal(t, "listed without permission", []string{}, s.relisted())
		w.use(fixture.Rule("a"), own("team-a", "b"))
		bubble.Pass(time.Minute)
		expect.Equal(t, "rules", 2, len(s.asked().About("team-a").Rules))
	})
}

// TestUnpermittedSubjectStillCountsForKeep: the older of two subjects was to be deleted. When the permission exists, it is the
// newest.
func TestUnpermittedSubjectStillCountsForKeep(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.set(func() { w.permit = func(*policy.Rule) error { return errors.New("no") } })
		w.listedBy(fixture.Rule("a", func(r *policy.Rule) { r.Keep = 1 }), row("old", w.began.Add(-9*time.Hour)), row("new", w.began.Add(-8*time.Hour)))
		bubble.Pass(time.Second)
		w.source(0).sink.Forget("uid-new")
		w.set(func() { w.permit = nil })
		bubble.Pass(time.Hour)
		expect.Equal(t, "attempts", nil, w.attempted())
	})
}

// TestRemovalThatFailsGivesThePlaceBack: the same applies if the DELETE fails.
func TestRemovalThatFailsGivesThePlaceBack(t *testing.T) {
	for _, result := range []retention.Result{retention.Failed, retention.Busy, retention.Refused, retention.Denied, retention.Changed} {
		runInBubble(t, result.String(), retention.Options{}, func(t *testing.T, w *harness) {
			w.onEachDelete(func() retention.Outcome {
				w.source(0).sink.Forget("uid-new")
				return after(0, result, false)()
			})
			w.listedBy(fixture.Rule("a", func(r *policy.Rule) { r.Keep = 1 }), row("old", w.began.Add(-9*time.Hour)), row("new", w.began.Add(-8*time.Hour)))
			bubble.Pass(time.Hour)
			expect.Equal(t, "attempts", []string{"old@1"}, w.attempted())
		})
	}
}

// TestPermissionThatTakesLongIsNone: the other answers of preflight would be too old after that.
func TestPermissionThatTakesLongIsNone(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		var checked time.Time
		w.set(func() {
			w.check = func(string) error { checked = time.Now(); return nil }
			w.permit = func(*policy.Rule) error { time.Sleep(time.Minute); return nil }
			w.outcome = func(policy.DeletePermit) retention.Outcome {
				if age := time.Since(checked); age > time.Second {
					t.Errorf("deleted %s after preflight", age)
				}
				return retention.Outcome{Result: retention.Removed}
			}
		})
		w.listedBy(own("team-a", "a"), row("x", w.began.Add(-time.Hour)))
		bubble.Pass(30 * time.Second)
		w.set(func() { w.permit = nil })
		bubble.Pass(time.Minute)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
	})
}

func unmarked(r *draft) { r.Facts.Marked, r.Facts.Start = true, time.Time{} }
func marked(since time.Time) func(*draft) {
	return func(r *draft) { r.Facts.Marked, r.Facts.Start = true, since }
}

// written returns the marks written so far, as NAME@VERSION ANNOTATION.
func (w *harness) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.marks...)
}

func TestMarkIsWrittenOnce(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listedBy(fixture.Rule("a", fixture.Marking), row("x", w.began, unmarked))
		bubble.Pass(0)
		mark := fmt.Sprintf(`x@1 {"mark":%q}`, w.began.UTC().Format(time.RFC3339))
		expect.Equal(t, "written", []string{mark}, w.written())
		bubble.Pass(index.MarkAgain - time.Microsecond) // the watch sends nothing
		expect.Equal(t, "attempts before the mark is seen", nil, w.attempted())
		since := time.Now().Add(-time.Minute)
		w.source(0).apply(row("x", w.began, marked(since), version(2)))
		bubble.Pass(59*time.Minute - time.Microsecond)
		expect.Equal(t, "deleted early", none, w.removed())
		bubble.Pass(time.Microsecond)
		expect.Equal(t, "removed", []string{"x"}, w.removed())
		expect.Equal(t, "written in the end", []string{mark}, w.written())
	})
}

func TestMarkIsNotWritten(t *testing.T) {
	tests := map[string]struct {
		rules []*policy.Rule
		row   func(*draft)
		check error
	}{
		"by a dry run":             {[]*policy.Rule{fixture.Rule("a", fixture.Marking, fixture.Mode(v1alpha1.DryRun))}, unmarked, nil},
		"by a suspended rule":      {[]*policy.Rule{fixture.Rule("a", fixture.Marking, fixture.Mode(v1alpha1.Suspend))}, unmarked, nil},
		"marked already":           {[]*policy.Rule{fixture.Rule("a", fixture.Marking)}, func(r *draft) { marked(r.Created)(r) }, nil},
		"not eligible, not marked": {[]*policy.Rule{fixture.Rule("a", fixture.Marking)}, func(r *draft) { unmarked(r); r.Facts.Eligible = false }, nil},
		"the clocks differ":        {[]*policy.Rule{fixture.Rule("a", fixture.Marking)}, unmarked, errors.New("clock skew")},
	}
	for name, test := range tests {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.set(func() { w.check = func(string) error { return test.check } })
			w.use(test.rules...)
			w.source(0).list(row("x", w.began, test.row))
			bubble.Pass(50 * time.Minute)
			expect.Equal(t, "written", []string{}, w.written())
			expect.Equal(t, "attempts", nil, w.attempted())
		})
	}
}

func TestMarkIsTakenOffWhatIsNotEligible(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.listedBy(fixture.Rule("a", fixture.Marking), row("x", w.began, func(r *draft) { marked(w.began)(r); r.Facts.Eligible = false }))
		bubble.Pass(index.MarkAgain / 2)
		expect.Equal(t, "written", []string{"x@1 "}, w.written())
	})
}

func TestMarkInConflictIsWrittenOnTheNewVersion(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		w.set(func() {
			w.marked = func(m policy.EligibleSincePatch) retention.Outcome {
				if m.Subject().ResourceVersion == "1" {
					return retention.Outcome{Result: retention.Changed, Err: errors.New("conflict")}
				}
				return retention.Outcome{Result: retention.Marked}
			}
		})
		w.listedBy(fixture.Rule("a", fixture.Marking), row("x", w.began, unmarked))
		bubble.Pass(0)
		w.source(0).apply(row("x", w.began, unmarked, version(2)))
		bubble.Pass(index.MarkAgain / 2)
		written := w.written()
		expect.Equal(t, "written", 2, len(written))
		expect.Equal(t, "first", 1, count(written[:1], "x@1"))
		expect.Equal(t, "second", 1, count(written[1:], "x@2"))
		expect.Equal(t, "failures in memory", 0, w.Failing())
	})
}

// TestMarkRestsOnThePermissionsOfAllItsRules: each must be about the rule's current ServiceAccount, and none may be old.
func TestMarkRestsOnThePermissionsOfAllItsRules(t *testing.T) {
	of := func(account string) []*policy.Rule {
		named := func(r *policy.Rule) { r.ServiceAccount = account }
		return []*policy.Rule{own("team-a", "a", fixture.Marking, named), own("team-a", "b", named, func(r *policy.Rule) { r.Mark = "other" })}
	}
	for name, trouble := range map[string]func(w *harness){
		"one answer is old": func(w *harness) { w.ages = map[string]time.Duration{"a": 2 * time.Second} },
		"another ServiceAccount": func(w *harness) {
			w.permit = func(r *policy.Rule) error {
				if r.ServiceAccount == "two" {
					return errors.New("no")
				}
				return nil
			}
			w.check = func(string) error {
				w.use(of("two")...)
				return nil
			}
		},
	} {
		runInBubble(t, name, retention.Options{}, func(t *testing.T, w *harness) {
			w.set(func() { trouble(w) })
			w.use(of("one")...)
			w.source(0).list(row("x", w.began, unmarked))
			bubble.Pass(time.Minute)
			expect.Equal(t, "marks", 0, len(w.written()))
			w.set(func() { w.ages, w.permit, w.check = nil, nil, nil })
			bubble.Pass(time.Minute)
			if len(w.written()) == 0 {
				t.Error("no mark with all permissions")
			}
		})
	}
}

// TestRuleThatComesToMarkNeedsThePermissionToMark: the permission to delete, which was checked before, is not enough.
func TestRuleThatComesToMarkNeedsThePermissionToMark(t *testing.T) {
	inBubble(t, retention.Options{}, func(t *testing.T, w *harness) {
		marksSince := func(r *policy.Rule) { r.MarksSince = w.began.Add(time.Second) }
		w.set(func() {
			w.permit = func(r *policy.Rule) error {
				if r.Mark != "" {
					return errors.New("ServiceAccount cleaner may not patch jobs")
				}
				return nil
			}
			w.check = func(string) error {
				w.use(own("team-a", "a", fixture.Marking, marksSince))
				return nil
			}
		})
		w.listedBy(own("team-a", "a"), row("x", w.began.Add(-2*time.Hour), marked(w.began.Add(-2*time.Hour))))
		bubble.Pass(time.Minute)
		if w.checks == 0 {
			t.Error("preflight was not called")
		}
		expect.Equal(t, "marks without permission", 0, len(w.written()))
		w.set(func() { w.permit, w.check = nil, nil })
		bubble.Pass(time.Minute)
		if len(w.written()) == 0 {
			t.Error("no mark with permission")
		}
	})
}

// TestMarkThatFailsIsTriedAgain: the retries back off.
func TestMarkThatFailsIsTriedAgain(t *testing.T) {
	for result, attempts := range map[retention.Result][2]int{
		retention.Failed: {120, 140}, retention.Busy: {120, 140}, retention.Refused: {15, 25}, retention.Denied: {715, 725},
		retention.Gone: {10, 20}, // an API server that has not read its store yet answers 404
	} {
		runInBubble(t, result.String(), retention.Options{}, func(t *testing.T, w *harness) {
			w.set(func() {
				w.marked = func(policy.EligibleSincePatch) retention.Outcome {
					return retention.Outcome{Result: result, Err: errors.New("no")}
				}
			})
			w.listedBy(fixture.Rule("a", fixture.Marking), row("x", w.began, unmarked))
			bubble.Pass(time.Hour)
			if n := len(w.written()); n < attempts[0] || n > attempts[1] {
				t.Errorf("%d attempts in an hour", n)
			}
			expect.Equal(t, "failures in memory", 1, w.Failing())
			w.source(0).apply(row("x", w.began, unmarked, version(2), func(r *draft) { r.Facts.Eligible = false }))
			bubble.Pass(time.Hour)
			expect.Equal(t, "failures in memory without a mark to write", 0, w.Failing())
		})
	}
}

// TestMarkWithoutPermissionStopsNoDeletion in the same namespace.
func TestMarkWithoutPermissionStopsNoDeletion(t *testing.T) {
	inBubble(t, retention.Options{MaxInFlight: 1}, func(t *testing.T, w *harness) {
		w.set(func() {
			w.marked = func(policy.EligibleSincePatch) retention.Outcome {
				return retention.Outcome{Result: retention.Denied, Err: errors.New("cannot patch resource")}
			}
		})
		w.listedBy(fixture.Rule("a", fixture.Marking), append(rows("new", 100, w.began, unmarked), rows("old", 100, w.began.Add(-time.Hour), marked(w.began.Add(-time.Hour)))...)...)
		bubble.Pass(time.Second)
		expect.Equal(t, "removed", 100, count(w.removed(), "old"))
		w.set(func() { w.marked = nil })
		bubble.Pass(10 * time.Second)
		synctest.Wait()
		before := len(w.written())
		bubble.Pass(index.MarkAgain / 2)
		expect.Equal(t, "written after all are marked", before, len(w.written()))
	})
}
