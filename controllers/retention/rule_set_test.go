// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// selecting returns a compiled rule about Jobs with a label.
func selecting(t *testing.T, label, value string) *engine.Program {
	t.Helper()
	compiled, problems := compiler.Rule(v1alpha1.Rule{
		Target: v1alpha1.Target{
			APIVersion: fixture.Jobs.GroupVersion().String(), Kind: fixture.Jobs.Kind,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: value}},
		},
		Eligible: "true", StartTime: "timestamp(object.metadata.creationTimestamp)",
	}, nil, "")
	if compiled == nil {
		t.Fatal(problems)
	}
	return compiled
}

// TestRuleSetSelects: of a thousand rules with selectors of their own, an object needs an evaluation of only one, and of the rules of its
// namespace.
func TestRuleSetSelects(t *testing.T) {
	var everywhere []*engine.Program
	for i := range 1000 {
		everywhere = append(everywhere, selecting(t, "team", fmt.Sprint(i)))
	}
	own := []*engine.Program{selecting(t, "app", "db"), selecting(t, "app", "web")}
	q := retention.NewRuleSet(fixture.Jobs, everywhere, map[string][]*engine.Program{"team-a": own})
	object := map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "7", "app": "web"}}}
	expect.Equal(t, "in another namespace", []int{7}, slices.Collect(q.Selected("team-b", object)))
	expect.Equal(t, "in the namespace", []int{7, 1001}, slices.Collect(q.Selected("team-a", object)))
	expect.Equal(t, "of an object without labels", nil, slices.Collect(q.Selected("team-a", map[string]any{})))
}
