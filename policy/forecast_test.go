// SPDX-License-Identifier: Apache-2.0

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
		"the dry run counts as enforced":             {evaluations(says("a", of("dry"), dryRun)), outcome{policy.Delete, policy.Expired, "a"}},
		"a policy without a mode counts as enforced": {evaluations(says("a", of("dry"), mode(""))), outcome{policy.Delete, policy.Expired, "a"}},
		"other dry runs have no effect": {
			evaluations(says("a", of("dry"), dryRun), says("b", of("other"), dryRun, failed)), outcome{policy.Delete, policy.Expired, "a"}},
		"a rule in force keeps": {
			evaluations(says("a", of("dry"), dryRun), says("b", of("live"), failed)), outcome{policy.Keep, policy.EvaluationFailed, "b"}},
		"a rule in force is due later": {
			evaluations(says("a", of("dry"), dryRun), says("b", of("live"), ttl(policy.Day))), outcome{policy.Wait, policy.Waiting, "b"}},
		"the dry run is due later": {
			evaluations(says("a", of("dry"), dryRun, ttl(policy.Day)), says("b", of("live"))), outcome{policy.Wait, policy.Waiting, "a"}},
		"a policy that waits for approval counts as approved": {
			evaluations(says("a", of("dry"), unapproved)), outcome{policy.Delete, policy.Expired, "a"}},
		"a dry run that waits for approval counts as approved": {
			evaluations(says("a", of("dry"), dryRun, unapproved)), outcome{policy.Delete, policy.Expired, "a"}},
		"another policy that waits keeps": {
			evaluations(says("a", of("dry"), dryRun), says("b", of("live"), unapproved)), outcome{policy.Keep, policy.IsUnapproved, "b"}},
		"a suspended policy stays suspended": {
			evaluations(says("a", of("dry"), suspended, unapproved)), outcome{policy.Keep, policy.IsSuspended, "a"}},
		"a mark of the dry run is estimated": {
			evaluations(says("a", of("dry"), dryRun, estimated)), outcome{policy.Delete, policy.Expired, "a"}},
		"a mark of a policy that waits is estimated": {
			evaluations(says("a", of("dry"), unapproved, estimated)), outcome{policy.Delete, policy.Expired, "a"}},
		"a mark of a rule in force is not estimated": {
			evaluations(says("a", of("dry"), dryRun), says("b", of("live"), estimated)), outcome{policy.Keep, policy.Unmarked, "b"}},
		"the newest are kept": {
			evaluations(says("a", of("dry"), dryRun, newest)), outcome{policy.Keep, policy.KeptNewest, "a"}},
		"the capacity applies": {
			evaluations(says("a", of("dry"), dryRun, excess, ttl(policy.Day))), outcome{policy.Delete, policy.OverCapacity, "a"}},
		"a suspended rule keeps": {
			evaluations(says("a", of("dry"), dryRun), says("b", of("live"), suspended)), outcome{policy.Keep, policy.IsSuspended, "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, policy.Forecast(policy.Subject{}, test.evaluations, "dry", now), test.want)
		})
	}
}
