package policy_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy"
)

// of puts an evaluation into another policy.
func of(policyName string) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Rule.ID.Policy = policyName }
}

func TestForecast(t *testing.T) {
	tests := map[string]struct {
		evaluations []policy.Evaluation
		want        outcome
	}{
		"the dry run counts as enforced":  {rulings(says("a", of("dry"), dryRun)), outcome{policy.Delete, policy.Expired, "a"}},
		"so does a policy without a mode": {rulings(says("a", of("dry"), mode(""))), outcome{policy.Delete, policy.Expired, "a"}},
		"other dry runs do not": {
			rulings(says("a", of("dry"), dryRun), says("b", of("other"), dryRun, failed)), outcome{policy.Delete, policy.Expired, "a"}},
		"the rules in force keep": {
			rulings(says("a", of("dry"), dryRun), says("b", of("live"), failed)), outcome{policy.Keep, policy.EvaluationFailed, "b"}},
		"the rules in force may be later": {
			rulings(says("a", of("dry"), dryRun), says("b", of("live"), ttl(policy.Day))), outcome{policy.Wait, policy.Waiting, "b"}},
		"the dry run may be later": {
			rulings(says("a", of("dry"), dryRun, ttl(policy.Day)), says("b", of("live"))), outcome{policy.Wait, policy.Waiting, "a"}},
		"one that waits for approval counts as approved": {
			rulings(says("a", of("dry"), unapproved)), outcome{policy.Delete, policy.Expired, "a"}},
		"so does one that is a dry run besides": {
			rulings(says("a", of("dry"), dryRun, unapproved)), outcome{policy.Delete, policy.Expired, "a"}},
		"another that waits keeps": {
			rulings(says("a", of("dry"), dryRun), says("b", of("live"), unapproved)), outcome{policy.Keep, policy.IsUnapproved, "b"}},
		"suspended, it is not put in force": {
			rulings(says("a", of("dry"), suspended, unapproved)), outcome{policy.Keep, policy.IsSuspended, "a"}},
		"a mark of the dry run is estimated": {
			rulings(says("a", of("dry"), dryRun, estimated)), outcome{policy.Delete, policy.Expired, "a"}},
		"so is one of a policy that waits": {
			rulings(says("a", of("dry"), unapproved, estimated)), outcome{policy.Delete, policy.Expired, "a"}},
		"one of a rule in force is not": {
			rulings(says("a", of("dry"), dryRun), says("b", of("live"), estimated)), outcome{policy.Keep, policy.Unmarked, "b"}},
		"its newest are kept": {
			rulings(says("a", of("dry"), dryRun, newest)), outcome{policy.Keep, policy.KeptNewest, "a"}},
		"its capacity counts": {
			rulings(says("a", of("dry"), dryRun, excess, ttl(policy.Day))), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"a suspended rule keeps": {
			rulings(says("a", of("dry"), dryRun), says("b", of("live"), suspended)), outcome{policy.Keep, policy.IsSuspended, "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, policy.Forecast(policy.Subject{}, test.evaluations, "dry", now), test.want)
		})
	}
}
