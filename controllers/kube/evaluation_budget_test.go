// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// evaluating is a clock on which each evaluation takes a fixed time.
type evaluating struct {
	now   time.Time
	takes time.Duration
}

func (c *evaluating) Now() time.Time { return c.now }

func (c *evaluating) Since(t time.Time) time.Duration {
	c.now = c.now.Add(c.takes)
	return c.now.Sub(t)
}

// TestFactsAreThoseOfTheirRules: each rule has its own facts, whichever of the others select the object, and only rules of
// RetentionPolicies have a time budget.
func TestFactsAreThoseOfTheirRules(t *testing.T) {
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	requires := func(text string, team string) *engine.Program {
		return compile(t, c, fixture.Jobs, eligible(text), func(r *v1alpha1.Rule) {
			r.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}
		})
	}
	everywhere := []*engine.Program{requires("1 == 1", "a"), requires("1 != 1", "b"), compile(t, c, fixture.Jobs, eligible("2 == 2"))}
	own := []*engine.Program{requires("3 == 3", "b"), compile(t, c, fixture.Jobs, eligible("3 != 3"))}
	q := retention.NewRuleSet(fixture.Jobs, everywhere, map[string][]*engine.Program{"team-a": own})
	for _, labels := range []map[string]any{{"team": "a"}, {"team": "b"}, {"team": "c"}, {}, nil} {
		job := map[string]any{"metadata": map[string]any{"creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels}}
		for namespace, rules := range map[string][]*engine.Program{"team-a": slices.Concat(everywhere, own), "other": everywhere} {
			var want []policy.Facts
			for _, rule := range rules {
				want = append(want, e.Facts(rule, job))
			}
			got, _ := kube.NewEvaluationBudget(clock.RealClock{}).Evaluate(e, q, namespace, job)
			expect.Equal(t, fmt.Sprint(namespace, labels), want, got)
		}
	}
	spent := kube.NewEvaluationBudget(&evaluating{now: time.Unix(1e9, 0), takes: time.Second})
	_, _ = spent.Evaluate(e, q, "team-a", object)
	facts, _ := spent.Evaluate(e, q, "team-a", map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "b"}}})
	for i, f := range facts[1:] {
		if evaluated := !errors.Is(f.Err, kube.ErrNoTime); evaluated != (i < 2) {
			t.Errorf("rule %d: %v", 1+i, f.Err)
		}
	}
	if err := fmt.Sprint(facts[3].Err); !strings.Contains(err, "used at least 1s more") {
		t.Errorf("error without the time that was used: %s", err)
	}
}

// object is evaluated in all these tests.
var object = map[string]any{"metadata": map[string]any{"creationTimestamp": "2026-01-01T00:00:00Z"}}

// TestNamespacesShareTheTimeOfEvaluations: some namespaces have slow rules and objects that change all the time. They leave a
// quarter of the time to others, or half of it if each object takes long. The rules of ClusterRetentionPolicies are always
// evaluated. The rules of a namespace that take an ordinary time are always evaluated too.
func TestNamespacesShareTheTimeOfEvaluations(t *testing.T) {
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	everywhere, own := compile(t, c, fixture.Jobs, eligible("true")), compile(t, c, fixture.Jobs, eligible("1 == 1"))
	const lasts = time.Minute
	for _, test := range []struct {
		floods int
		takes  time.Duration // each of three rules
		pause  time.Duration // after each round of objects
	}{
		{1, 50 * time.Millisecond, 10 * time.Millisecond},
		{50, 50 * time.Millisecond, 10 * time.Millisecond},
		{1, 300 * time.Microsecond, 100 * time.Microsecond},
		{10, 300 * time.Microsecond, 100 * time.Microsecond},
	} {
		floods, takes := test.floods, test.takes
		t.Run(fmt.Sprint(floods, " ", takes), func(t *testing.T) {
			in := map[string][]*engine.Program{"quiet": {own}}
			for i := range floods {
				in[fmt.Sprint("flood-", i)] = []*engine.Program{own, own, own}
			}
			q := retention.NewRuleSet(fixture.Jobs, []*engine.Program{everywhere}, in)
			clock := &evaluating{now: time.Unix(1e9, 0)}
			began, quiet := clock.now, clock.now
			a := kube.NewEvaluationBudget(clock)
			used := map[string]time.Duration{}
			ask := func(namespace string, takes time.Duration) (asked bool) {
				clock.takes = takes
				before := clock.now
				facts, again := a.Evaluate(e, q, namespace, object)
				used[namespace] += clock.now.Sub(before)
				if facts[0].Err != nil || !facts[0].Eligible {
					t.Fatalf("facts of the rule of a ClusterRetentionPolicy: %+v", facts[0])
				}
				last := facts[len(facts)-1]
				if again != (last.Err != nil) || last.Err != nil && (last.Eligible || !last.Selected) {
					t.Fatalf("again %v, %+v", again, last)
				}
				return !again
			}
			for clock.now.Sub(began) < lasts {
				for i := range floods {
					ask(fmt.Sprint("flood-", i), takes)
				}
				if !clock.now.Before(quiet) {
					if !ask("quiet", 100*time.Microsecond) {
						t.Fatal("the rule of another namespace was not evaluated")
					}
					quiet = clock.now.Add(10 * time.Millisecond)
				}
				clock.now = clock.now.Add(test.pause)
			}
			passed := clock.now.Sub(began)
			share := min(passed/kube.ShareOfOne, passed/kube.ShareOfAll/time.Duration(floods))
			var all time.Duration
			for namespace, took := range used {
				if namespace == "quiet" {
					continue
				}
				most := kube.MostDebt + 3*takes + share
				if 3*takes <= kube.FreeTime {
					most += passed / time.Second * kube.FreeOfOne
				}
				if took > most || took < share/2 {
					t.Errorf("%s took %s of %s, want up to %s", namespace, took, passed, most)
				}
				all += took
			}
			most := time.Duration(floods)*(kube.MostDebt+3*takes) + passed/kube.ShareOfAll
			if 3*takes <= kube.FreeTime {
				most += passed / time.Second * 2 * kube.FreeOfAll // the shared time, and each namespace's own part
			}
			if all > most {
				t.Errorf("all took %s of %s, want up to %s", all, passed, most)
			}
			clock.now = clock.now.Add(time.Hour)
			if !ask("flood-0", takes) {
				t.Error("not evaluated after a pause")
			}
			clock.now = clock.now.Add(time.Hour)
			if n := a.Debtors(); n > 0 {
				t.Errorf("%d namespaces in debt, want none", n)
			}
		})
	}
}

// TestEvaluationBudgetProtectsOrdinaryNamespaces: a hundred namespaces with ordinary rules are evaluated beside three that use
// as much time as possible.
func TestEvaluationBudgetProtectsOrdinaryNamespaces(t *testing.T) {
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	const greedy, ordinary = 3, 100
	own := compile(t, c, fixture.Jobs, eligible("true"))
	in := map[string][]*engine.Program{}
	for i := range greedy + ordinary {
		in[fmt.Sprint(i)] = []*engine.Program{own}
	}
	q := retention.NewRuleSet(fixture.Jobs, nil, in)
	clock := &evaluating{now: time.Unix(1e9, 0), takes: 700 * time.Microsecond}
	a := kube.NewEvaluationBudget(clock)
	for second := range 5 * 60 {
		for range 150 {
			for i := range greedy {
				a.Evaluate(e, q, fmt.Sprint(i), object)
			}
		}
		for range 10 {
			for i := range ordinary {
				if facts, again := a.Evaluate(e, q, fmt.Sprint(greedy+i), object); again {
					t.Fatalf("second %d, namespace %d: %v", second, i, facts[0].Err)
				}
			}
		}
		clock.now = time.Unix(1e9+int64(second)+1, 0)
	}
}

// TestLargeNamespaceIsEvaluatedAtOnce: many objects are evaluated without a pause if the rules take an ordinary time.
func TestLargeNamespaceIsEvaluatedAtOnce(t *testing.T) {
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	own := compile(t, c, fixture.Jobs, eligible("true"))
	q := retention.NewRuleSet(fixture.Jobs, nil, map[string][]*engine.Program{"large": {own}})
	clock := &evaluating{now: time.Unix(1e9, 0), takes: 30 * time.Microsecond}
	a := kube.NewEvaluationBudget(clock)
	for i := range 50_000 {
		if facts, again := a.Evaluate(e, q, "large", object); again {
			t.Fatalf("object %d: %v", i, facts[0].Err)
		}
		clock.now = clock.now.Add(100 * time.Microsecond) // to read and decode an object
	}
}

// TestEvaluationThatTookTooLongIsWorthAskingAgain: if an evaluation exceeds its deadline on a busy machine, a retry may
// succeed. This holds for the rules of both kinds of policies. Any other error stays until the object changes.
func TestEvaluationThatTookTooLongIsWorthAskingAgain(t *testing.T) {
	some := "[" + strings.Repeat("0,", 179) + "0]"
	loop := some + ".all(a, " + some + ".all(b, a + b == 0))"
	ask := func(deadline time.Duration, expression string, own bool) (policy.Facts, bool) {
		c := fixture.CompilerWith(t, engine.Options{EvalDeadline: deadline})
		e := c.NewEvaluator(t.Context())
		defer e.Close()
		rules := []*engine.Program{compile(t, c, fixture.Jobs, eligible(expression))}
		q := retention.NewRuleSet(fixture.Jobs, rules, nil)
		if own {
			q = retention.NewRuleSet(fixture.Jobs, nil, map[string][]*engine.Program{"team-a": rules})
		}
		facts, again := kube.NewEvaluationBudget(clock.RealClock{}).Evaluate(e, q, "team-a", object)
		return facts[0], again
	}
	for _, own := range []bool{false, true} {
		var f policy.Facts
		var again bool
		for range 100 { // on a busy machine an evaluation may end before its deadline is noticed
			if f, again = ask(time.Nanosecond, loop, own); f.Err != nil {
				break
			}
		}
		if !errors.Is(f.Err, engine.ErrDeadline) || !again {
			t.Errorf("RetentionPolicy %v: deadline error %v, again %v", own, f.Err, again)
		}
		if f, again = ask(time.Hour, "object.spec.absent == 1", own); f.Err == nil || again {
			t.Errorf("RetentionPolicy %v: other error %v, again %v", own, f.Err, again)
		}
	}
}
