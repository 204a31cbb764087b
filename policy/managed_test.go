// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func allowManaged(r *policy.Evaluation) { r.Rule.AllowManaged = true }

// TestManagedObjectsAreKept: each rule that finds a managed object eligible keeps it, unless the rule sets allowManaged.
func TestManagedObjectsAreKept(t *testing.T) {
	kept := func(reason policy.Reason, rule string) outcome { return outcome{policy.Keep, reason, rule} }
	deleted := outcome{policy.Delete, policy.Expired, "a"}
	tests := map[string]struct {
		flags       policy.Flags
		evaluations []policy.Evaluation
		want        outcome
	}{
		"by MultiKueue":                     {policy.OfMultiKueue, evaluations(says("a")), kept(policy.ManagedByMultiKueue, "a")},
		"by Argo CD":                        {policy.OfArgoCD, evaluations(says("a")), kept(policy.ManagedByArgoCD, "a")},
		"by Flux":                           {policy.OfFlux, evaluations(says("a")), kept(policy.ManagedByFlux, "a")},
		"by Helm":                           {policy.OfHelm, evaluations(says("a")), kept(policy.ManagedByHelm, "a")},
		"by several, the first counts":      {policy.OfHelm | policy.OfArgoCD, evaluations(says("a")), kept(policy.ManagedByArgoCD, "a")},
		"the rule allows it":                {policy.OfArgoCD, evaluations(says("a", allowManaged)), deleted},
		"by all, and the rule allows it":    {policy.OfMultiKueue | policy.OfArgoCD | policy.OfFlux | policy.OfHelm, evaluations(says("a", allowManaged)), deleted},
		"over capacity":                     {policy.OfArgoCD, evaluations(says("a", excess, ttl(2*hour))), kept(policy.ManagedByArgoCD, "a")},
		"not due yet":                       {policy.OfArgoCD, evaluations(says("a", ttl(2*hour))), kept(policy.ManagedByArgoCD, "a")},
		"the rule deletes its owner":        {policy.OfArgoCD, evaluations(says("a", deletesOwner(job))), kept(policy.ManagedByArgoCD, "a")},
		"one rule allows, another keeps":    {policy.OfArgoCD, evaluations(says("a", allowManaged), says("b", ttl(0))), kept(policy.ManagedByArgoCD, "b")},
		"another does not find it eligible": {policy.OfArgoCD, evaluations(says("a", allowManaged), says("b", notEligible)), deleted},
		"another has no start time":         {policy.OfArgoCD, evaluations(says("a", allowManaged), says("b", noStart)), deleted},
		"another is a dry run":              {policy.OfArgoCD, evaluations(says("a", allowManaged), says("b", dryRun)), deleted},
		"held and managed":                  {policy.OfArgoCD | policy.IsHeld, evaluations(says("a")), kept(policy.Held, "a")},
		"not eligible":                      {policy.OfArgoCD, evaluations(says("a", notEligible)), kept(policy.NotEligible, "a")},

		"recreated":                         {policy.IsRecreated, evaluations(says("a")), kept(policy.KeptRecreated, "a")},
		"recreated and managed":             {policy.IsRecreated | policy.OfArgoCD, evaluations(says("a", allowManaged)), kept(policy.KeptRecreated, "a")},
		"recreated, over capacity":          {policy.IsRecreated, evaluations(says("a", excess, ttl(2*hour))), kept(policy.KeptRecreated, "a")},
		"recreated and not eligible":        {policy.IsRecreated, evaluations(says("a", notEligible)), kept(policy.NotEligible, "a")},
		"recreated, and no rule selects it": {policy.IsRecreated, evaluations(says("a", notSelected)), kept(policy.NotSelected, "")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := policy.Subject{Flags: test.flags}
			v, w := policy.Decide(s, test.evaluations, now)
			check(t, v, test.want)
			expect.Equal(t, "permit", v.Action == policy.Delete, w.Valid())
			kept := func() int {
				stats := policy.NewStats(now)
				stats.Add(s, test.evaluations)
				if p := stats.Policies["p"]; p != nil {
					return len(p.Rules["a"].Kept)
				}
				return 0
			}
			for i := range test.evaluations { // as a dry run it has the same numbers, but keeps nothing
				if r := test.evaluations[i].Rule; len(test.evaluations) == 1 && r.Mode == v1alpha1.Enforce {
					if lasts := slices.Contains(policy.Lasting(), test.want.reason) || s.Flags.HasHold(); lasts != (kept() == 1) {
						t.Errorf("kept for %d lasting reasons", kept())
					}
					r.Mode = v1alpha1.DryRun
					if kept() != 0 {
						t.Error("a dry run counts kept objects")
					}
					check(t, policy.Forecast(s, test.evaluations, "p", now), test.want)
					stats := policy.NewStats(now)
					stats.Add(s, test.evaluations)
					if due := stats.Policies["p"]; due != nil && (due.Due.Now == 1) != (test.want.action == policy.Delete) {
						t.Errorf("a dry run counts %d due", due.Due.Now)
					}
				}
			}
		})
	}
}

func loaded(t *testing.T, text string) *policy.Policy {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	expect.NoError(t, err)
	return parse(t, string(data)).Load(policy.DefaultProtection())
}

// TestAllowManagedIsOnlySetByRules: allowManaged is part of the approved spec, and an override cannot set it.
func TestAllowManagedIsOnlySetByRules(t *testing.T) {
	const text = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: p}
spec:
  rules:
  - {name: r, target: {apiVersion: batch/v1, kind: Job}, eligible: "true", ttl: 1h, delete: {allowManaged: %s}}
`
	hash := func(allow string) string {
		p := loaded(t, fmt.Sprintf(text, allow))
		if len(p.Rules) != 1 || p.Rules[0].AllowManaged != (allow == "true") {
			t.Fatalf("allowManaged: %s gave %+v", allow, p.Rules)
		}
		return p.Hash
	}
	if hash("true") == hash("false") {
		t.Error("allowManaged does not change the hash")
	}
	override := loaded(t, `
apiVersion: sunset-k8s.io/v1alpha1
kind: RetentionPolicy
metadata: {name: o, namespace: team}
spec: {overrides: [{policy: p, rule: r, allowManaged: true}]}
`)
	if len(override.Problems) == 0 {
		t.Error("an override can set allowManaged")
	}
	image := loaded(t, `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: i}
spec: {rules: [{name: r, target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}, eligible: "true", ttl: 1h, delete: {allowManaged: true}}]}
`)
	if len(image.Problems) == 0 {
		t.Error("allowManaged in a rule about images is not a problem")
	}
}
