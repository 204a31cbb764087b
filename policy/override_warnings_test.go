// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestOverrideWarningsBesideTTLExpression(t *testing.T) {
	const hour = time.Hour
	tests := map[string]struct {
		bounds  policy.Bounds
		inForce bool
		want    []string
	}{
		"without a minimum, in mode Enforce": {policy.Bounds{}, true,
			[]string{"spec.overrides[0]: ttl 2h applies only if it is longer than the result of the rule's ttlExpression"}},
		"without a minimum, in mode DryRun": {policy.Bounds{}, false,
			[]string{"spec.overrides[0]: ttl 2h applies only if it is longer than the result of the rule's ttlExpression"}},
		"above the minimum, in mode Enforce": {policy.Bounds{Min: new(hour)}, true, nil},
		"above the minimum, in mode DryRun": {policy.Bounds{Min: new(hour)}, false,
			[]string{"spec.overrides[0]: ttl 2h applies only if it is longer than the result of the rule's ttlExpression; in mode Enforce it always applies"}},
		"below the minimum": {policy.Bounds{Min: new(3 * hour)}, true,
			[]string{"spec.overrides[0]: ttl 2h is changed to 3h, a bound of the rule"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rule := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}, HasTTLExpression: true, Bounds: test.bounds}
			override := &policy.Override{From: "own", Policy: "p", Rule: "r", Path: "spec.overrides[0]", TTL: new(2 * hour), InForce: test.inForce}
			expect.Equal(t, "remarks", test.want, rule.OverrideWarnings("own", []*policy.Override{override}))
		})
	}
}
