// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// now is the time of all tests.
var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

var (
	jobs = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
)

// parse reads a policy that must be readable.
func parse(t *testing.T, data string) *policy.Document {
	t.Helper()
	d, err := policy.Parse([]byte(data))
	expect.NoError(t, err)
	return d
}

// fastest returns the shortest time of three runs: other processes may delay some of them.
func fastest(run func()) time.Duration {
	took := time.Duration(math.MaxInt64)
	for range 3 {
		began := time.Now()
		run()
		took = min(took, time.Since(began))
	}
	return took
}

// checkProblem checks that a policy has one problem, which makes the rule that its path names invalid, or all rules.
func checkProblem(t *testing.T, p *policy.Policy, path string) {
	t.Helper()
	if len(p.Problems) != 1 || p.Problems[0].Path != path {
		t.Fatalf("problems %v, want one at %s", p.Problems, path)
	}
	for i, r := range p.Rules {
		concerned := strings.HasPrefix(path, fmt.Sprintf("spec.rules[%d].", i)) || !strings.HasPrefix(path, "spec.rules[")
		expect.Equal(t, fmt.Sprintf("rule %d is invalid", i), concerned, r.Invalid())
	}
}

// enforced is a valid enforced rule with a TTL of an hour.
func enforced(policyName, name string) *policy.Rule {
	return &policy.Rule{ID: policy.RuleID{Policy: policyName, Rule: name}, Kind: jobs, Mode: v1alpha1.Enforce, TTL: time.Hour}
}

const hour = time.Hour
