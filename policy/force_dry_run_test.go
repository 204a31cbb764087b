// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestForceDryRun: an enforced policy becomes a dry run. Other modes do not change: a suspended policy still keeps objects.
func TestForceDryRun(t *testing.T) {
	for mode, want := range map[v1alpha1.Mode]v1alpha1.Mode{
		v1alpha1.Enforce: v1alpha1.DryRun, v1alpha1.DryRun: v1alpha1.DryRun, v1alpha1.Suspend: v1alpha1.Suspend,
	} {
		p := &policy.Policy{Mode: mode, Rules: []*policy.Rule{{Mode: mode}}, Overrides: []*policy.Override{{InForce: true}}}
		p.ForceDryRun()
		if p.Mode != want || p.Rules[0].Mode != want || p.ForcedDryRun != (mode == v1alpha1.Enforce) || !p.Overrides[0].InForce {
			t.Errorf("%s: %+v with %+v", mode, p, p.Rules[0])
		}
	}
}
