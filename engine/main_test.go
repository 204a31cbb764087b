package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// decode reads YAML or JSON as the controller reads objects.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	expect.NoError(t, err)
	var object map[string]any
	expect.NoError(t, utiljson.Unmarshal(data, &object))
	return object
}

// object reads testdata/objects/NAME.yaml.
func object(t testing.TB, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "objects", name+".yaml"))
	expect.NoError(t, err)
	return decode(t, string(data))
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
