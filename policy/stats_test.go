// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func statsOf(s policy.Subject, evaluations ...policy.Evaluation) *policy.Stats {
	all := policy.NewStats(now)
	all.Add(s, evaluations)
	return all
}

// due counts one subject that is due after d.
func due(d time.Duration) policy.Count {
	c := policy.Count{Matched: 1, Eligible: 1, NextDue: now.Add(d)}
	for window, count := range map[time.Duration]*int64{0: &c.Due.Now, time.Hour: &c.Due.Hour, policy.Day: &c.Due.Day, policy.Week: &c.Due.Week} {
		if d <= window {
			*count = 1
		}
	}
	return c
}

// with adds other counts than Due to c.
func with(c, more policy.Count) policy.Count {
	c.Excess, c.Estimated = c.Excess+more.Excess, c.Estimated+more.Estimated
	return c
}

// TestSoonestNameTheirOwners: the sample names the owner if the deciding rule deletes owners.
func TestSoonestNameTheirOwners(t *testing.T) {
	for name, test := range map[string]struct {
		evaluations []policy.Evaluation
		want        string
	}{
		"the owner is deleted":             {evaluations(says("a", deletesOwner(job))), "Job/job"},
		"the owner in a dry run":           {evaluations(says("a", dryRun, deletesOwner(job))), "Job/job"},
		"the subject is deleted":           {evaluations(says("a")), ""},
		"a later rule deletes the owner":   {evaluations(says("a"), says("z", of("q"), deletesOwner(job), ttl(2*hour))), "Job/job"},
		"a later rule deletes the subject": {evaluations(says("a", deletesOwner(job)), says("z", of("q"), ttl(2*hour))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			soonest := statsOf(policy.Subject{}, test.evaluations...).Policies["p"].Rules["a"].Soonest
			if len(soonest) != 1 || soonest[0].Owner != test.want {
				t.Errorf("got %+v, want owner %q", soonest, test.want)
			}
		})
	}
}

// TestStats counts one subject for policy p.
func TestStats(t *testing.T) {
	tests := map[string]struct {
		flags       policy.Flags
		evaluations []policy.Evaluation
		want        policy.Count
	}{
		"due now":                         {0, evaluations(says("a")), due(0)},
		"overdue":                         {0, evaluations(says("a", ttl(0))), due(-time.Hour)},
		"within an hour":                  {0, evaluations(says("a", ttl(2*time.Hour))), due(time.Hour)},
		"within a day":                    {0, evaluations(says("a", ttl(time.Hour+policy.Day))), due(policy.Day)},
		"within a week":                   {0, evaluations(says("a", ttl(time.Hour+policy.Week))), due(policy.Week)},
		"later":                           {0, evaluations(says("a", ttl(time.Hour+policy.Week+1))), due(policy.Week + 1)},
		"a dry run counts as if enforced": {0, evaluations(says("a", dryRun)), due(0)},
		"a policy without a mode counts as if enforced":   {0, evaluations(says("a", mode(""))), due(0)},
		"another policy is later":                         {0, evaluations(says("a"), says("z", of("q"), ttl(2*time.Hour))), due(time.Hour)},
		"another policy keeps":                            {0, evaluations(says("a"), says("z", of("q"), failed)), policy.Count{Matched: 1, Eligible: 1}},
		"another dry run has no effect":                   {0, evaluations(says("a"), says("z", of("q"), dryRun, failed)), due(0)},
		"two rules count one subject":                     {0, evaluations(says("a"), says("b")), due(0)},
		"held":                                            {policy.IsHeld, evaluations(says("a")), policy.Count{Matched: 1, Eligible: 1, Held: 1}},
		"held and not eligible":                           {policy.IsHeld, evaluations(says("a", notEligible)), policy.Count{Matched: 1}},
		"not eligible":                                    {0, evaluations(says("a", notEligible)), policy.Count{Matched: 1}},
		"not eligible, but eligible for another policy":   {0, evaluations(says("a", notEligible), says("z", of("q"))), policy.Count{Matched: 1}},
		"suspended":                                       {0, evaluations(says("a", suspended)), policy.Count{Matched: 1, Eligible: 1}},
		"an error":                                        {0, evaluations(says("a", failed)), policy.Count{Matched: 1, Errors: 1}},
		"not selected":                                    {0, evaluations(says("a", notSelected)), policy.Count{}},
		"missing facts":                                   {0, evaluations(says("a", unknown)), policy.Count{}},
		"waiting for approval counts as approved":         {0, evaluations(says("a", unapproved)), due(0)},
		"a dry run that would wait counts as approved":    {0, evaluations(says("a", dryRun, unapproved)), due(0)},
		"another policy waits for approval":               {0, evaluations(says("a"), says("z", of("q"), unapproved)), policy.Count{Matched: 1, Eligible: 1}},
		"among the newest":                                {0, evaluations(says("a", newest)), policy.Count{Matched: 1, Eligible: 1}},
		"within capacity":                                 {0, evaluations(says("a", ttl(policy.NeverTTL))), policy.Count{Matched: 1, Eligible: 1}},
		"above the capacity":                              {0, evaluations(says("a", excess, ttl(policy.Day))), with(due(0), policy.Count{Excess: 1})},
		"above the capacity of two rules":                 {0, evaluations(says("a", excess), says("b", excess)), with(due(0), policy.Count{Excess: 1})},
		"above the capacity, due later by another policy": {0, evaluations(says("a", excess, ttl(policy.Day)), says("z", of("q"), ttl(2*hour))), with(due(hour), policy.Count{Excess: 1})},
		"above the capacity and held":                     {policy.IsHeld, evaluations(says("a", excess)), policy.Count{Matched: 1, Eligible: 1, Held: 1, Excess: 1}},
		"above the capacity and not eligible":             {0, evaluations(says("a", excess, notEligible)), policy.Count{Matched: 1}},
		"in force, not marked yet":                        {0, evaluations(says("a", estimated)), policy.Count{Matched: 1, Eligible: 1}},
		"a dry run without a mark":                        {0, evaluations(says("a", estimated, dryRun)), due(0)},
		"waiting for approval, not marked yet":            {0, evaluations(says("a", estimated, unapproved)), due(0)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got policy.Count
			if stats := statsOf(policy.Subject{Flags: test.flags}, test.evaluations...).Policies["p"]; stats != nil {
				got = stats.Count
			}
			expect.Equal(t, "count", test.want, got, withoutAll)
		})
	}
}

func TestStatsOfRules(t *testing.T) {
	all := statsOf(policy.Subject{Name: "x"}, says("a"), says("b", ttl(2*time.Hour)), says("c", notEligible)).Policies["p"].Rules
	for name, want := range map[string]policy.Count{"a": due(time.Hour), "b": due(time.Hour), "c": {Matched: 1}} {
		expect.Equal(t, fmt.Sprintf("rule %s", name), want, all[name].Count)
	}
}

func TestStatsOfEstimates(t *testing.T) {
	tests := map[string]struct {
		evaluation policy.Evaluation
		want       policy.Count
	}{
		"a dry run":             {says("a", estimated, dryRun), with(due(0), policy.Count{Estimated: 1})},
		"waiting for approval":  {says("a", estimated, unapproved), with(due(0), policy.Count{Estimated: 1})},
		"marked":                {says("a", markedAt(started), dryRun), due(0)},
		"in force, not due yet": {says("a", estimated), policy.Count{Matched: 1, Eligible: 1}},
		"among the newest":      {says("a", estimated, newest, dryRun), policy.Count{Matched: 1, Eligible: 1}},
		"above the capacity":    {says("a", estimated, excess, dryRun, ttl(policy.Day)), with(due(0), policy.Count{Estimated: 1, Excess: 1})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := statsOf(policy.Subject{Name: "x"}, test.evaluation).Policies["p"].Rules["a"]
			expect.Equal(t, "count", test.want, got.Count)
			if due := test.want.Due.Week > 0; due != (len(got.Soonest) == 1) {
				t.Errorf("samples %v", got.Soonest)
			}
		})
	}
}

func TestStatsCountReasons(t *testing.T) {
	all := policy.NewStats(now)
	all.Add(policy.Subject{}, evaluations(says("a")))
	all.Add(policy.Subject{}, evaluations(says("a")))
	all.Add(policy.Subject{Flags: policy.IsHeld}, evaluations(says("a")))
	all.Add(policy.Subject{}, evaluations(says("a", dryRun)))
	expect.Equal(t, "reasons", map[policy.Reason]int64{policy.Expired: 2, policy.Held: 1}, all.Reasons)
}

func TestStatsChanges(t *testing.T) {
	tests := map[string]struct {
		ttl  time.Duration
		want time.Time
	}{
		"never, if it is due":                      {0, time.Time{}},
		"when it is due":                           {time.Hour + time.Minute, now.Add(time.Minute)},
		"when it will be due within an hour":       {4 * time.Hour, now.Add(2 * time.Hour)},
		"when it will be due within a week":        {time.Hour + policy.Week + 5, now.Add(5)},
		"a day before, if it is due in a few days": {time.Hour + 3*policy.Day, now.Add(2 * policy.Day)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := statsOf(policy.Subject{}, says("a", ttl(test.ttl))).Changes(); !got.Equal(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestSamplesDoNotDependOnTheOrder(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	subjects := random.Perm(20)
	tell := func() *policy.RuleStats {
		all := policy.NewStats(now)
		for _, i := range subjects {
			all.Add(policy.Subject{Name: fmt.Sprintf("s%02d", i)}, evaluations(says("a", ttl(time.Duration(i/2)*time.Hour))))
			all.Add(policy.Subject{Name: fmt.Sprintf("e%02d", i)}, evaluations(says("a", failed)))
		}
		return all.Policies["p"].Rules["a"]
	}
	first := tell()
	var soonest, failing []string
	for _, s := range first.Soonest {
		soonest = append(soonest, s.Name)
	}
	for _, s := range first.Failing {
		failing = append(failing, s.Name)
	}
	if !cmp.Equal(soonest, []string{"s00", "s01", "s02", "s03", "s04"}) || !cmp.Equal(failing, []string{"e00", "e01", "e02"}) {
		t.Fatalf("soonest %v, failing %v", soonest, failing)
	}
	for range 20 {
		random.Shuffle(len(subjects), func(i, j int) { subjects[i], subjects[j] = subjects[j], subjects[i] })
		if diff := cmp.Diff(first, tell()); diff != "" {
			t.Fatalf("the order changes the samples: %s", diff)
		}
	}
}

func TestErrorsInSamplesAreShort(t *testing.T) {
	evaluation := says("a", failed)
	evaluation.Facts.Err = errors.New(strings.Repeat("é", 1000))
	got := statsOf(policy.Subject{}, evaluation).Policies["p"].Rules["a"].Failing[0].Message
	if len(got) > 256 || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestPoliciesThatWaitDoNotHideEachOther: policies that wait together may be approved together.
func TestPoliciesThatWaitDoNotHideEachOther(t *testing.T) {
	waiting := func(policyName string) policy.Evaluation {
		r := says("r", ttl(0))
		r.Rule.ID.Policy, r.Rule.Unapproved = policyName, true
		return r
	}
	for name, all := range map[string][]policy.Evaluation{"alone": {waiting("p")}, "with another policy": {waiting("p"), waiting("q")}} {
		if due := statsOf(policy.Subject{}, all...).Policies["p"].Pending.Due; due != 1 {
			t.Errorf("%s: %d are due, want 1", name, due)
		}
	}
}

// TestStatsAgreeWithVerdicts: a policy counts a subject as due now if Decide deletes it (Forecast for a dry run) and the policy
// itself finds it due.
func TestStatsAgreeWithVerdicts(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		all := statsOf(w.subject, w.evaluations...)
		for p := range 4 {
			name := fmt.Sprint("p", p)
			var want, got int64
			if w.foresees(name).Action == policy.Delete && w.isDueAlone(name) {
				want = 1
			}
			if stats := all.Policies[name]; stats != nil {
				got = stats.Due.Now
			}
			if got != want {
				return false
			}
		}
		return true
	})
}

// TestRulesThatDoNotSelectMakeNoDifference: the index leaves out the evaluations of rules that certainly do not select a subject,
// if it has no mark of theirs. Neither counts nor decisions depend on them.
func TestRulesThatDoNotSelectMakeNoDifference(t *testing.T) {
	left := 0
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		w = w.with(func(rule *policy.Rule) { rule.Unapproved = r.Intn(4) == 0 })
		for i := range w.evaluations {
			if r.Intn(3) == 0 {
				w.evaluations[i].Facts = policy.Facts{}
			}
		}
		fewer := slices.DeleteFunc(slices.Clone(w.evaluations), func(r policy.Evaluation) bool {
			return r.Known && !r.Rule.Unpermitted && !r.Facts.Selected && r.Facts.Start.IsZero()
		})
		left += len(w.evaluations) - len(fewer)
		all, few := policy.NewStats(now), policy.NewStats(now)
		all.Add(w.subject, w.evaluations)
		few.Add(w.subject, fewer)
		before, _ := policy.Decide(w.subject, w.evaluations, now)
		after, _ := policy.Decide(w.subject, fewer, now)
		return before == after && cmp.Equal(all, few, cmpopts.IgnoreUnexported(policy.Stats{})) && all.Changes().Equal(few.Changes())
	})
	if left == 0 {
		t.Error("no evaluation was left out")
	}
}

// TestStatsOfSomeAndOfOthers: merged counts of some subjects and of the others are the counts of all.
func TestStatsOfSomeAndOfOthers(t *testing.T) {
	var cases []subjectCase
	stats := func() *policy.Stats {
		s := policy.NewStats(now)
		s.Teams["team-a"] = policy.Team{}
		return s
	}
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		w.subject.Namespace, w.subject.Name = []string{"team-a", "team-b"}[r.Intn(2)], fmt.Sprint(len(cases))
		w = w.with(func(rule *policy.Rule) { rule.Unapproved = r.Intn(40) == 0 })
		if cases = append(cases, w); len(cases) < 50 {
			return true
		}
		all, merged := stats(), stats()
		some := map[string]*policy.Stats{"team-a": merged.For("team-a"), "team-b": merged.For("team-b")}
		for _, w := range cases {
			all.Add(w.subject, w.evaluations)
			some[w.subject.Namespace].Add(w.subject, w.evaluations)
		}
		merged.Merge(some["team-a"])
		merged.Merge(some["team-b"])
		cases = nil
		return cmp.Equal(all, merged, cmpopts.IgnoreUnexported(policy.Stats{}), cmpopts.EquateEmpty()) && all.Changes().Equal(merged.Changes())
	})
}

// TestStatsHold: the counts of a subject are the same until they no longer hold.
func TestStatsHold(t *testing.T) {
	held := 0
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		for i := range w.evaluations {
			w.evaluations[i].Rank.Excess = false // such a subject is due at any time
		}
		later := now.Add(time.Duration(1+r.Intn(48)) * 30 * time.Minute)
		before, after := policy.NewStats(now), policy.NewStats(later)
		before.Add(w.subject, w.evaluations)
		after.Add(w.subject, w.evaluations)
		if !before.HoldsAt(later) {
			return true
		}
		held++
		return cmp.Equal(before, after, cmpopts.IgnoreUnexported(policy.Stats{}))
	})
	if held < rounds()/10 {
		t.Errorf("only %d of %d counts hold", held, rounds())
	}
}

// foresees is the decision, or the forecast if the policy is not in force.
func (w subjectCase) foresees(policyName string) policy.Verdict {
	for _, r := range w.evaluations {
		switch dry := r.Rule.Mode == "" || r.Rule.Mode == v1alpha1.DryRun; {
		case r.Rule.ID.Policy != policyName:
		case r.Rule.Unapproved:
			return policy.IfApproved(w.subject, w.evaluations, now)
		case dry:
			return policy.Forecast(w.subject, w.evaluations, policyName, now)
		}
	}
	v, _ := w.decide(now)
	return v
}

// isDueAlone reports whether a rule of the policy alone would delete the subject within a week, without holds.
func (w subjectCase) isDueAlone(policyName string) bool {
	for _, r := range w.evaluations {
		alone := subjectCase{evaluations: evaluations(r)}.with(func(rule *policy.Rule) {
			rule.Unapproved = false
			if rule.Mode == "" || rule.Mode == v1alpha1.DryRun {
				rule.Mode = v1alpha1.Enforce
			}
		})
		alone.evaluations[0].Facts.Estimated = false
		if v, _ := alone.decide(now.Add(policy.Week)); r.Rule.ID.Policy == policyName && v.Action == policy.Delete {
			return true
		}
	}
	return false
}

// TestBacklogIsOneInItsQuietPeriodToo: subjects that are due when the quiet period ends wait for approval now.
func TestBacklogIsOneInItsQuietPeriodToo(t *testing.T) {
	soon := now.Add(policy.QuietPeriod)
	for name, test := range map[string]struct {
		evaluation policy.Evaluation
		due, week  int64
	}{
		"it is due when the period is over":   {says("a", unapproved, notBefore(soon)), 1, 1},
		"its TTL ends within the period":      {says("a", unapproved, notBefore(soon), ttl(hour+time.Second)), 1, 1},
		"it is above the capacity":            {says("a", unapproved, notBefore(soon), ttl(2*hour), excess), 1, 1},
		"its TTL ends later":                  {says("a", unapproved, notBefore(soon), ttl(2*hour)), 0, 1},
		"its TTL ends soon, without a period": {says("a", unapproved, ttl(hour+time.Second)), 0, 1},
		"the period is over":                  {says("a", unapproved, notBefore(now)), 1, 1},
		"its references are unknown":          {says("a", unapproved, doubted), 0, 0},
		"it is not eligible":                  {says("a", unapproved, notEligible), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			stats := statsOf(policy.Subject{}, test.evaluation).Policies["p"]
			expect.Equal(t, "count", policy.ChangeCount{Selected: 1, Due: test.due, Week: test.week}, stats.Pending.ChangeCount, withoutAll)
		})
	}
}

// TestStatsUnknownFactsOfOthersOpenNoGate: a new policy whose kind is not listed yet keeps subjects. They count for changes of other
// policies. Otherwise the other policies would delete all of them, without approval, as soon as both are known.
func TestStatsUnknownFactsOfOthersOpenNoGate(t *testing.T) {
	of := func(other string, r policy.Evaluation) policy.Evaluation {
		rule := *r.Rule
		rule.ID.Policy = other
		r.Rule = &rule
		return r
	}
	unknown := says("z")
	unknown.Known = false
	forbidden := of("q", says("z"))
	forbidden.Rule.Unpermitted = true
	suspended := of("q", says("z"))
	suspended.Rule.Mode = v1alpha1.Suspend
	for name, test := range map[string]struct {
		other     policy.Evaluation
		due, week int64
	}{
		"it is not listed yet":                 {of("q", unknown), 1, 1},
		"its references are unknown":           {of("q", says("z", doubted)), 1, 1},
		"its ServiceAccount lacks permission":  {forbidden, 1, 1},
		"it does not find it eligible":         {of("q", says("z", notEligible)), 1, 1},
		"it is suspended":                      {suspended, 0, 1},
		"it fails":                             {of("q", says("z", failed)), 0, 1},
		"facts of the same policy are unknown": {of("p", unknown), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			stats := statsOf(policy.Subject{}, says("a", unapproved), test.other).Policies["p"]
			expect.Equal(t, "count", policy.ChangeCount{Selected: 1, Due: test.due, Week: test.week}, stats.Pending.ChangeCount, withoutAll)
		})
	}
}

func TestUnknownReferencesAreNoErrors(t *testing.T) {
	stats := statsOf(policy.Subject{}, says("a", doubted), says("b", doubted), says("c", failed)).Policies["p"]
	if got := stats.Count; got.Doubted != 1 || got.Errors != 1 || got.Matched != 1 {
		t.Errorf("%+v", got)
	}
	if r := stats.Rules["a"]; r.Doubted != 1 || r.Errors != 0 || len(r.Failing) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestStatsCountBuiltInSubjectsAsHeld(t *testing.T) {
	needed := policy.Subject{Flags: policy.IsBuiltIn}
	if c := statsOf(needed, says("a")).Policies["p"].Count; c.Held != 1 || c.Due.Now != 0 {
		t.Errorf("%+v", c)
	}
	if v, w := policy.Decide(needed, evaluations(says("a")), now); v.Reason != policy.Held || w.Valid() {
		t.Errorf("%+v", v)
	}
}

// TestPendingDueOmitsCountedDryRuns: a deletion is not new if a counted dry run of the policy would have made it. Without a count,
// it is new.
func TestPendingDueOmitsCountedDryRuns(t *testing.T) {
	for name, test := range map[string]struct {
		was       policy.Evaluation // of the same policy, before the change
		previewed bool
		due       int64
	}{
		"a counted dry run":                         {says("a", dryRun), true, 0},
		"an uncounted dry run":                      {says("a", dryRun), false, 1},
		"a dry run that kept it":                    {says("a", dryRun, ttl(2*hour)), true, 1},
		"in force":                                  {says("a"), false, 0},
		"in force, and counted as a dry run before": {says("a"), true, 0},
		"suspended":                                 {says("a", suspended), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before := policy.NewSnapshot(nil, nil, policy.Protection{})
			waits := says("a", unapproved)
			waits.Rule.Gate = &policy.ApprovalGate{Before: before, Previewed: test.previewed}
			stats := policy.NewStats(now)
			stats.AddAfter(policy.Subject{}, evaluations(waits), func(snapshot *policy.Snapshot) (policy.Subject, []policy.Evaluation) {
				if snapshot != before {
					t.Error("called for another snapshot")
				}
				return policy.Subject{}, evaluations(test.was)
			})
			expect.Equal(t, "due because of the change", test.due, stats.Policies["p"].Pending.Due)
		})
	}
}

// TestChangeIsCountedWithoutAllocations: before an edit is in force, its effect on each object is counted, also beside a million.
func TestChangeIsCountedWithoutAllocations(t *testing.T) {
	suspended := func(r *policy.Evaluation) { r.Rule.Suspended = true }
	for name, all := range map[string][]policy.Evaluation{
		"rules":                    evaluations(says("a", unapproved, ttl(2*hour)), says("b", unapproved, ttl(2*hour))),
		"a rule that is suspended": evaluations(says("a", unapproved, suspended, ttl(2*hour))),
	} {
		stats := policy.NewStats(now)
		once := testing.AllocsPerRun(1000, func() { stats.Add(policy.Subject{}, all) })
		expect.Equal(t, name, 0, once)
	}
}

// withoutAll compares counts of changes only by what the change adds.
var withoutAll = cmpopts.IgnoreFields(policy.ChangeCount{}, "AllDue")

// TestPendingBacklogSinceRecount: an object created after the count of the previous leader was not due then. Under a rule that ranks,
// it may displace another object, which is due instead.
func TestPendingBacklogSinceRecount(t *testing.T) {
	ranks := func(r *policy.Evaluation) { r.Rule.Keep = 1 }
	for name, test := range map[string]struct {
		created    time.Time
		evaluation policy.Evaluation
		want       policy.ChangeCount
	}{
		"it existed":                     {started, says("a", unapproved), policy.ChangeCount{Selected: 1, Due: 1, Week: 1}},
		"it existed, and the rule ranks": {started, says("a", unapproved, ranks), policy.ChangeCount{Selected: 1, Due: 1, Week: 1}},
		"it was not due":                 {started, says("a", unapproved, ttl(2*hour)), policy.ChangeCount{Selected: 1, Week: 1}},
		"it is new":                      {now, says("a", unapproved, ttl(0)), policy.ChangeCount{Selected: 1}},
		"it is new, and the rule ranks":  {now, says("a", unapproved, ttl(0), ranks), policy.ChangeCount{Selected: 1, Newcomers: 1}},
		"it has finished since then":     {started, says("a", unapproved, ttl(0), start(now)), policy.ChangeCount{Selected: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			test.evaluation.Rule.Gate = &policy.ApprovalGate{Recount: &policy.Recount{Time: now}}
			got := statsOf(policy.Subject{Created: test.created}, test.evaluation).Policies["p"].Pending.ChangeCount
			expect.Equal(t, "count", test.want, got, withoutAll)
		})
	}
}
