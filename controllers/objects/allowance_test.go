package objects_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/objects"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
)

// evaluating is a clock on which every evaluation takes some time.
type evaluating struct {
	now   time.Time
	takes time.Duration
}

func (c *evaluating) Now() time.Time { return c.now }

func (c *evaluating) Since(t time.Time) time.Duration {
	c.now = c.now.Add(c.takes)
	return c.now.Sub(t)
}

// TestNamespacesShareTheTimeOfEvaluations: some have rules that take long and are asked about objects all the time. They leave
// half of the time to others, the rules of the cluster are always asked, and a namespace whose rules take their ordinary time, too.
func TestNamespacesShareTheTimeOfEvaluations(t *testing.T) {
	c := newCompiler(t)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	everywhere, own := compile(t, c, jobs, eligible("true")), compile(t, c, jobs, eligible("1 == 1"))
	object := map[string]any{"metadata": map[string]any{"creationTimestamp": "2026-01-01T00:00:00Z"}}
	const lasts, takes = time.Minute, 50 * time.Millisecond
	for _, floods := range []int{1, 50} {
		t.Run(fmt.Sprint(floods), func(t *testing.T) {
			in := map[string][]*engine.Rule{"quiet": {own}}
			for i := range floods {
				in[fmt.Sprint("flood-", i)] = []*engine.Rule{own, own, own}
			}
			q := retention.NewQuestions(jobs, []*engine.Rule{everywhere}, in)
			clock := &evaluating{now: time.Unix(1e9, 0)}
			began := clock.now
			a := objects.NewAllowance(clock)
			used := map[string]time.Duration{}
			ask := func(namespace string, takes time.Duration) (asked bool) {
				clock.takes = takes
				before := clock.now
				facts, again := a.Ask(e, q, namespace, object)
				used[namespace] += clock.now.Sub(before)
				if facts[0].Err != nil || !facts[0].Eligible {
					t.Fatalf("a rule of the cluster: %+v", facts[0])
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
				if !ask("quiet", 100*time.Microsecond) {
					t.Fatal("the rule of another namespace was not asked")
				}
				clock.now = clock.now.Add(10 * time.Millisecond)
			}
			passed := clock.now.Sub(began)
			share := min(passed/objects.ShareOfOne, passed/objects.ShareOfAll/time.Duration(floods))
			for namespace, took := range used {
				if most := objects.MostDebt + 3*takes + share; namespace != "quiet" && (took > most || took < most/2) {
					t.Errorf("%s took %s of %s, want up to %s", namespace, took, passed, most)
				}
			}
			clock.now = clock.now.Add(time.Hour)
			if !ask("flood-0", takes) {
				t.Error("not asked after a pause")
			}
			clock.now = clock.now.Add(time.Hour)
			if n := a.Debtors(); n > 0 {
				t.Errorf("%d are remembered", n)
			}
		})
	}
}
