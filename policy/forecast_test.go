package policy_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy"
)

// of puts a ruling into another policy.
func of(policyName string) func(*policy.Ruling) {
	return func(r *policy.Ruling) { r.Rule.ID.Policy = policyName }
}

func TestForecast(t *testing.T) {
	tests := map[string]struct {
		rulings []policy.Ruling
		want    outcome
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
		"a suspended rule keeps": {
			rulings(says("a", of("dry"), dryRun), says("b", of("live"), suspended)), outcome{policy.Keep, policy.IsSuspended, "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, policy.Forecast(policy.Subject{}, test.rulings, "dry", now), test.want)
		})
	}
}
