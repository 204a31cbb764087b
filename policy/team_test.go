// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// teamOf counts one subject for the Team of its namespace.
func teamOf(s policy.Subject, r ...policy.Evaluation) *policy.Stats {
	all := policy.NewStats(now)
	s.Namespace = "team-a"
	all.Teams = map[string]policy.Team{"team-a": {}}
	all.Add(s, r)
	return all
}

// trying adds a trial with the option applied, as if dry-run RetentionPolicies were enforced.
func trying(option func(*policy.Evaluation)) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) {
		rule := *r.Rule
		trial := *r
		trial.Rule = &rule
		option(&trial)
		r.Rule.IfEnforced = trial.Rule
	}
}

// tenants makes the rule a rule of the namespace's RetentionPolicy.
func tenants(r *policy.Evaluation) {
	r.Rule.ID.Policy, r.Rule.Namespace = "team-a/"+r.Rule.ID.Policy, "team-a"
}

// TestTeam counts one subject for rule p/a.
func TestTeam(t *testing.T) {
	matched := policy.Count{Matched: 1, Eligible: 1}
	tests := map[string]struct {
		evaluations []policy.Evaluation
		want        policy.Count
	}{
		"due now":                                {evaluations(says("a")), due(0)},
		"due later":                              {evaluations(says("a", ttl(2*hour))), due(hour)},
		"not selected":                           {evaluations(says("a", notSelected)), policy.Count{}},
		"not eligible":                           {evaluations(says("a", notEligible)), policy.Count{Matched: 1}},
		"an error":                               {evaluations(says("a", failed)), policy.Count{Matched: 1, Errors: 1}},
		"a dry run counts as if enforced":        {evaluations(says("a", dryRun)), due(0)},
		"a policy that waits counts as approved": {evaluations(says("a", unapproved)), due(0)},
		"suspended":                              {evaluations(says("a", suspended)), matched},
		"among the newest":                       {evaluations(says("a", newest)), matched},
		"above the capacity":                     {evaluations(says("a", excess)), func() policy.Count { c := due(0); c.Excess = 1; return c }()},
		"a dry-run override":                     {evaluations(says("a", ttl(policy.Day), trying(ttl(hour)))), due(0)},
		"a dry-run override of a dry run":        {evaluations(says("a", dryRun, ttl(policy.Day), trying(ttl(hour)))), due(0)},
		"a dry-run override of another policy":   {evaluations(says("a"), says("b", of("q"), ttl(policy.Week), trying(ttl(2*hour)))), due(hour)},
		"the tenant's own rule keeps":            {evaluations(says("a"), says("b", tenants, failed)), matched},
		"the tenant's own dry run has no effect": {evaluations(says("a"), says("b", tenants, dryRun, failed)), due(0)},
		"another policy that waits for approval": {evaluations(says("a"), says("b", of("q"), unapproved)), matched},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := teamOf(policy.Subject{}, test.evaluations...)
			var got policy.Count
			if c := all.Teams["team-a"][policy.RuleID{Policy: "p", Rule: "a"}]; c != nil {
				got = *c
			}
			expect.Equal(t, "count", test.want, got)
			if own := all.Teams["team-a"][policy.RuleID{Policy: "team-a/p", Rule: "b"}]; own != nil {
				t.Error("the namespace's own rule is counted as a cluster rule")
			}
		})
	}
}

func TestTeamCountsHeldAndAddsUp(t *testing.T) {
	all := policy.NewStats(now)
	all.Teams = map[string]policy.Team{"team-a": {}}
	for _, s := range []policy.Subject{
		{Namespace: "team-a"}, {Namespace: "team-a", Flags: policy.IsHeld}, {Namespace: "team-b"}, {},
	} {
		all.Add(s, evaluations(says("a")))
	}
	want := due(0)
	want.Matched, want.Eligible, want.Held = 2, 2, 1
	expect.Equal(t, "rules", policy.Team{{Policy: "p", Rule: "a"}: &want}, all.Teams["team-a"])
	if len(all.Teams) != 1 {
		t.Error("a Team that is not in the map is counted")
	}
}

// TestTrialChangesNoPolicyCount: a dry run in a namespace does not change the counts of cluster policies.
func TestTrialChangesNoPolicyCount(t *testing.T) {
	all := teamOf(policy.Subject{}, says("a", ttl(policy.Day), trying(ttl(hour))))
	expect.Equal(t, "count", due(23*hour), all.Policies["p"].Count)
	expect.Equal(t, "reasons", map[policy.Reason]int64{policy.Waiting: 1}, all.Reasons)
}

// TestStatsNoteChangesOfTeams: the counts of a Team with a trial may change earlier than all other counts.
func TestStatsNoteChangesOfTeams(t *testing.T) {
	all := teamOf(policy.Subject{}, says("a", ttl(policy.Day), trying(ttl(hour+1))))
	if got := all.Changes(); !got.Equal(now.Add(1)) {
		t.Errorf("changes at %v, want in a nanosecond", got)
	}
}
