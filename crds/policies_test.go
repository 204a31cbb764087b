// SPDX-License-Identifier: Apache-2.0

package crds_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// TestFreezeWithoutAllPoliciesNeedsRules: without rules it would freeze nothing, so Sunset reads it as a mistake that may mean
// everything.
func TestFreezeWithoutAllPoliciesNeedsRules(t *testing.T) {
	const freeze, rules = `freezes: [{from: "2026-12-19T00:00:00Z", to: "2027-01-04T00:00:00Z"`, `, rules: [{name: a, target: {apiVersion: v1, kind: Pod}, ttl: 1h}]`
	for _, name := range []string{"clusterretentionpolicies.sunset-k8s.io", "retentionpolicies.sunset-k8s.io"} {
		s := structuralOf(t, definitions(t)[name].Spec.Versions[0].Schema.OpenAPIV3Schema)
		for spec, want := range map[string]int{
			freeze + `}]`:                                      1,
			freeze + `, allPolicies: false}]`:                  1,
			freeze + `, allPolicies: true}]`:                   0,
			freeze + `}], serviceAccountName: cleaner` + rules: 0,
			`freezes: [], serviceAccountName: cleaner` + rules: 0,
		} {
			var object map[string]any
			if err := yaml.Unmarshal([]byte("spec: {"+spec+"}"), &object); err != nil {
				t.Fatal(err)
			}
			errs, _ := cel.NewValidator(s, true, celconfig.PerCallLimit).Validate(t.Context(), nil, s, object, nil, celconfig.RuntimeCELCostBudget)
			if len(errs) != want {
				t.Errorf("%s with %s: %v", name, spec, errs)
			}
		}
	}
}

// TestNullSelectorsReachTheController: the API server does not drop them, so that Sunset can refuse them.
func TestNullSelectorsReachTheController(t *testing.T) {
	const text = `{spec: {namespaceSelector: null, excludeNamespaces: null, rules: [{nodeSelector: null, target: {selector: null}}, {target: {selector: {matchLabels: null, matchExpressions: null}}}, {target: {selector: {matchLabels: {team: null}}}}]}}`
	var want, got map[string]any
	for _, object := range []*map[string]any{&want, &got} {
		if err := yaml.Unmarshal([]byte(text), object); err != nil {
			t.Fatal(err)
		}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(got, structural(t))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
