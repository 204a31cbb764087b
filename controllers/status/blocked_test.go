// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestReadySaysThatRulesHaveNoEvaluationTime: their facts are incomplete, as if the kind were being listed, but the errors say why.
func TestReadySaysThatRulesHaveNoEvaluationTime(t *testing.T) {
	p := policyOf(v1alpha1.Enforce, rule("a", func(r *policy.Rule) { r.Namespace = "team-a" }))
	p.Namespace = "team-a"
	without := row("x", now, policy.Facts{Selected: true, Err: errors.New("no time left")}).EvaluateAgain(true)
	s := viewOf(compiledOf(p), nil, without).Status(p)
	expect.Equal(t, "Watching", "Unknown Listing", condition(s, v1alpha1.ConditionWatching))
	expect.Equal(t, "Ready", "False EvaluationFailed", condition(s, v1alpha1.ConditionReady))
	expect.Equal(t, "why", "rule a fails on 1 of 1 object, first on team-a/x: no time left", message(s, v1alpha1.ConditionReady))
}

// TestPolicyThatFailsSaysSoOnItselfAndOnThoseItBlocks checks the conditions, one Event for the beginning, and one for the end.
func TestPolicyThatFailsSaysSoOnItselfAndOnThoseItBlocks(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		p, q := policyOf(v1alpha1.Enforce, rule("a")), policyOf(v1alpha1.Enforce, rule("b"))
		q.Name, q.UID, q.Rules[0].ID.Policy, q.Rules[0].PolicyUID = "q", "uid-q", "q", "uid-q"
		e := compiledOf(p, q)
		w.store(named(e, "p"), noStatus)
		w.store(named(e, "q"), noStatus)
		jobs := func(other policy.Facts) {
			start := time.Now().Add(-2 * time.Hour)
			var rows []*index.FactRow
			for i := range 20 {
				rows = append(rows, row(fmt.Sprintf("x-%02d", i), start, yes(start), other))
			}
			w.set(func() { w.kinds = []retention.KindState{kindOf(e, time.Now(), rows...)} })
			w.Changed()
		}
		jobs(policy.Facts{Selected: true, Err: errors.New("eligible: no such key: succeded")})
		w.Use(e)
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "Blocked of p", "True EvaluationFailed", condition(w.statusOf("p"), v1alpha1.ConditionBlocked))
		expect.Equal(t, "why", "rules of other policies keep 20 objects that this policy would delete now: 20 by rule b of ClusterRetentionPolicy q (EvaluationFailed); "+
			"run kubectl sunset explain job.batch/x-00 -n team-a", message(w.statusOf("p"), v1alpha1.ConditionBlocked))
		expect.Equal(t, "blocked", int64(20), w.statusOf("p").Blocked)
		expect.Equal(t, "by", []v1alpha1.BlockingRule{{Policy: "q", Rule: "b", Reason: "EvaluationFailed", Objects: 20}}, w.statusOf("p").BlockedBy)
		expect.Equal(t, "Ready of p", "True Ready", condition(w.statusOf("p"), v1alpha1.ConditionReady))
		expect.Equal(t, "Ready of q", "False EvaluationFailed", condition(w.statusOf("q"), v1alpha1.ConditionReady))
		expect.Equal(t, "why", "rule b fails on 20 of 20 objects, first on team-a/x-00: eligible: no such key: succeded; "+
			"this policy keeps objects that other policies would delete now: 20 of ClusterRetentionPolicy p", message(w.statusOf("q"), v1alpha1.ConditionReady))
		expect.Equal(t, "blocks", []v1alpha1.BlockedPolicy{{Policy: "p", Objects: 20}}, w.statusOf("q").Blocks)
		bubble.Pass(time.Hour)
		jobs(policy.Facts{})
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "Blocked of p at the end", "", condition(w.statusOf("p"), v1alpha1.ConditionBlocked))
		expect.Equal(t, "Ready of q at the end", "True Ready", condition(w.statusOf("q"), v1alpha1.ConditionReady))
		var told []string
		for _, e := range w.events() {
			_, e, _ = strings.Cut(e, " ClusterRetentionPolicy/")
			e, _, _ = strings.Cut(e, ":")
			told = append(told, e)
		}
		slices.Sort(told)
		expect.Equal(t, "Events", []string{"p Normal Unblocked", "p Warning Blocked", "q Normal Ready", "q Warning EvaluationFailed"}, told)
	})
}

// TestSixBlockers: five policies keep more objects intentionally. The policy that fails is also in the condition, the status
// and the metric.
func TestSixBlockers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		start, keys := time.Now().Add(-2*time.Hour), []string{"a"}
		all := []*policy.Policy{policyOf(v1alpha1.Enforce, rule("a"))}
		for i, name := range []string{"q0", "q1", "q2", "q3", "q4", "q5"} {
			q := policyOf(v1alpha1.Enforce, rule("r-"+name))
			q.Name, q.UID, q.Rules[0].ID.Policy, q.Rules[0].PolicyUID = name, types.UID("uid-"+name), name, types.UID("uid-"+name)
			if i < 5 {
				q.Rules[0].Keep = 5
			}
			keys = append(keys, q.Rules[0].Key)
			all = append(all, q)
		}
		layout, e := index.NewColumns(keys...), compiledOf(all...)
		for _, p := range all {
			w.store(p, noStatus)
		}
		var rows []*index.FactRow
		for i := range 6 { // q0 to q4 keep five of the objects, q5 fails on the last one
			facts := make([]policy.Facts, 7)
			facts[0] = yes(start)
			for j := 1; i < 5 && j <= 5; j++ {
				facts[j] = yes(start.Add(-time.Duration((i+j)%5) * time.Minute))
			}
			if i == 5 {
				facts[6] = policy.Facts{Selected: true, Err: errNo}
			}
			s := policy.Subject{Namespace: "team-a", Name: fmt.Sprint("x-", i), UID: types.UID(fmt.Sprint("uid-", i)), ResourceVersion: "1", Created: start}
			rows = append(rows, index.NewFactRow(s, layout, facts...))
		}
		x := index.New(fixture.Jobs.GroupKind(), func() {})
		x.SetSnapshot(e.Snapshot, time.Now())
		x.Replace(index.Listing{ID: 1, Kind: fixture.Jobs, Layout: layout}, rows, time.Now())
		w.set(func() { w.kinds = []retention.KindState{{Index: x, Kind: fixture.Jobs}} })
		w.Use(e)
		bubble.Pass(10 * time.Second)
		first := w.status().BlockedBy[0]
		expect.Equal(t, "the first", v1alpha1.BlockingRule{Policy: "q5", Rule: "r-q5", Reason: "EvaluationFailed", Objects: 1}, first)
		expect.Equal(t, "Blocked", "True EvaluationFailed", condition(w.status(), v1alpha1.ConditionBlocked))
		expect.Equal(t, "metric", 1.0, gathered(t, "sunset_blocked_objects")[" q5 r-q5 EvaluationFailed"])
	})
}

// TestNumbersOfBlockedObjectsAddUp: the messages name five of seven rules and policies, and have the number of the others.
func TestNumbersOfBlockedObjectsAddUp(t *testing.T) {
	start, keys := now.Add(-2*time.Hour), []string{"a"}
	all := []*policy.Policy{policyOf(v1alpha1.Enforce, rule("a"))}
	for i := range 7 {
		name := fmt.Sprint("q", i)
		q := policyOf(v1alpha1.Enforce, rule(name))
		q.Name, q.UID, q.Rules[0].ID.Policy, q.Rules[0].PolicyUID = name, types.UID("uid-"+name), name, types.UID("uid-"+name)
		keys, all = append(keys, name), append(all, q)
	}
	for name, test := range map[string]struct {
		own, others policy.Facts // rule a is about all seven objects, and each other rule about one of them
		condition   string       // of p
		want        string
	}{
		"rules that keep":        {yes(start), policy.Facts{Selected: true, Err: errNo}, v1alpha1.ConditionBlocked, "7 objects that this policy would delete now: 1 by rule q0 of ClusterRetentionPolicy q0 (EvaluationFailed), "},
		"the others that keep":   {yes(start), policy.Facts{Selected: true, Err: errNo}, v1alpha1.ConditionBlocked, "1 by rule q4 of ClusterRetentionPolicy q4 (EvaluationFailed), and 2 by other rules; run "},
		"policies that it keeps": {policy.Facts{Selected: true, Err: errNo}, yes(start), v1alpha1.ConditionReady, "1 of ClusterRetentionPolicy q4, and 2 of other policies"},
	} {
		t.Run(name, func(t *testing.T) {
			layout, e := index.NewColumns(keys...), compiledOf(all...)
			var rows []*index.FactRow
			for i := range 7 {
				facts := make([]policy.Facts, 8)
				facts[0], facts[1+i] = test.own, test.others
				s := policy.Subject{Namespace: "team-a", Name: fmt.Sprint("x-", i), UID: types.UID(fmt.Sprint("uid-", i)), ResourceVersion: "1", Created: start}
				rows = append(rows, index.NewFactRow(s, layout, facts...))
			}
			x := index.New(fixture.Jobs.GroupKind(), func() {})
			x.SetSnapshot(e.Snapshot, now)
			x.Replace(index.Listing{ID: 1, Kind: fixture.Jobs, Layout: layout}, rows, now)
			s := status.View{Compiled: e, Kinds: []retention.KindState{{Index: x, Kind: fixture.Jobs}}, Now: now}.Status(named(e, "p"))
			if said := message(s, test.condition); !strings.Contains(said, test.want) {
				t.Errorf("%q is not in the message %q", test.want, said)
			}
		})
	}
}

// TestShortProblemIsNotReported. A problem that the previous leader has reported is not reported again.
func TestShortProblemIsNotReported(t *testing.T) {
	for name, test := range map[string]struct {
		lasts time.Duration
		since time.Duration // before the start; negative if it did not begin before
		want  int
	}{
		"it ends soon":                          {3 * time.Second, -1, 0},
		"it lasts":                              {20 * time.Second, -1, 2},
		"it was reported before, and lasts":     {20 * time.Second, time.Minute, 1},
		"it began just before, and lasts":       {20 * time.Second, time.Second, 2},
		"it was reported before, and has ended": {0, time.Minute, 1},
		"it began just before, and has ended":   {0, time.Second, 0},
	} {
		runInBubble(t, name, nil, func(t *testing.T, w *harness) {
			before := noStatus
			if test.since >= 0 {
				before.Conditions = withReady("Stale", time.Now().Add(-test.since))
			}
			w.set(func() { w.preflightErr = errors.New("clock skew") })
			if test.lasts == 0 {
				w.set(func() { w.preflightErr = nil })
			}
			e := compiledOf(policyOf(v1alpha1.Enforce, rule("a")))
			w.store(named(e, "p"), before)
			w.set(func() { w.kinds = []retention.KindState{kindOf(e, time.Now())} })
			w.Use(e)
			bubble.Pass(test.lasts)
			w.set(func() { w.preflightErr = nil })
			bubble.Pass(time.Minute)
			if events := w.events(); len(events) != test.want {
				t.Errorf("%d Events, want %d: %q", len(events), test.want, events)
			}
		})
	}
}

// withReady returns conditions of a policy that is not ready.
func withReady(reason string, since time.Time) []metav1.Condition {
	return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: timeOf(since)}}
}

// TestPolicyWithImagesIsBlockedToo: reports of nodes do not replace the counts of objects.
func TestPolicyWithImagesIsBlockedToo(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		w.store(&policy.Policy{Name: "p", UID: "uid-p"}, noStatus)
		s := nodesThat(func(*fleet, *policy.Policy) {})
		s.facts = map[string]policy.Facts{"b": {Selected: true, Err: errNo}}
		w.put(s)
		bubble.Pass(time.Minute)
		expect.Equal(t, "Blocked", "True EvaluationFailed", condition(w.status(), v1alpha1.ConditionBlocked))
	})
}

// TestOverridesThatSuspendAreNamed in the status of the suspended policy, although a team has intended this.
func TestOverridesThatSuspendAreNamed(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		w.store(&policy.Policy{Name: "p", UID: "uid-p"}, noStatus)
		w.put(situation{p: func(p *policy.Policy) { p.Rules[0].Suspended = true }})
		bubble.Pass(time.Minute)
		expect.Equal(t, "Enforcing", "True Enforcing", condition(w.status(), v1alpha1.ConditionEnforcing))
		expect.Equal(t, "message", "Sunset deletes objects when they are due; overrides suspend rules and keep 1 object that would be deleted now, in team-a",
			message(w.status(), v1alpha1.ConditionEnforcing))
		expect.Equal(t, "Events", nil, w.events())
	})
}
