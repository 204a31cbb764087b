// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// object reads testdata/objects/NAME.yaml.
func object(t testing.TB, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "objects", name+".yaml"))
	expect.NoError(t, err)
	return fixture.Decode(t, string(data))
}

// rule is a rule about Jobs that compiles, for tests to change.
func rule() v1alpha1.Rule {
	return v1alpha1.Rule{
		Name:      "jobs",
		Target:    v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"},
		Eligible:  "finished(object)",
		StartTime: "finishedAt(object)",
		TTL:       "1d",
	}
}

// selecting makes a rule select the objects with this label team.
func selecting(team string) func(*v1alpha1.Rule) {
	return func(r *v1alpha1.Rule) {
		r.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}
	}
}

func mustCompile(t testing.TB, c *engine.Compiler, r v1alpha1.Rule, variables ...v1alpha1.Variable) *engine.Program {
	t.Helper()
	compiled, problems := c.Rule(r, variables, "spec.rules[0]")
	for _, p := range problems {
		t.Errorf("%s\n%s", p, p.Snippet())
	}
	if compiled == nil {
		t.FailNow()
	}
	return compiled
}

func factsOf(t testing.TB, r v1alpha1.Rule, object map[string]any) policy.Facts {
	t.Helper()
	return mustCompile(t, fixture.Compiler(t), r).Facts(t.Context(), object)
}
