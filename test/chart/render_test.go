// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// sets returns the values of the golden files, by name.
func sets(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*/values.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("only %d sets of values: %v", len(files), err)
	}
	all := map[string]string{"default": os.DevNull, "examples": examples}
	for _, file := range files {
		all[filepath.Base(filepath.Dir(file))] = file
	}
	return all
}

// TestChartRenders compares the rendered chart with golden files. They omit the CustomResourceDefinitions, which crds
// contains.
func TestChartRenders(t *testing.T) {
	for _, name := range []string{"cert-manager", "everything", "least"} {
		t.Run(name, func(t *testing.T) {
			got := render(t, "--values", sets(t)[name], "--set", "crds.install=false")
			expect.Golden(t, filepath.Join("testdata", name, "rendered.yaml"), string(got), *update)
		})
	}
}

func TestChartPassesLint(t *testing.T) {
	for name, values := range sets(t) {
		if _, err := run(t, "lint", "--strict", chart, "--values", values); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	for name, set := range map[string]string{
		"an unknown value":                "controller.replica=3",
		"an unknown value of a kind":      `rbac.kinds.jobs\.batch.deletes=true`,
		"a permission for every kind":     "rbac.kinds.*.get=true",
		"references of every kind":        "rbac.references.kinds={*}",
		"a kind and its version":          `rbac.kinds.batch/v1.get=true`,
		"a port that is none":             "webhook.port=94430",
		"an interval without a unit":      "monitoring.serviceMonitor.interval=30",
		"an account without a name":       "serviceAccount.name=",
		"a feature that is not a boolean": "featureGates.References=off",
		"a URL of a collector":            "controller.tracing.endpoint=http://otel-collector:4318",
		"text for a number":               "controller.maxInFlight=many",
		"a path that is none":             "nodeAgent.runtimeSocket=unix:///run/crio/crio.sock",
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := run(t, "template", chart, "--set", set); err == nil || !strings.Contains(err.Error(), "schema") {
				t.Errorf("--set %s: %v\n%s", set, err, out)
			}
		})
	}
}

// TestRolesHaveNoWildcards: no role contains a "*", and metrics are the only non-resource URL in a role.
func TestRolesHaveNoWildcards(t *testing.T) {
	for name, values := range sets(t) {
		for _, object := range objects(t, render(t, "--values", values, "--set", "crds.install=false")) {
			for _, rule := range rulesOf(t, object) {
				if slices.Contains(slices.Concat(rule.Verbs, rule.APIGroups, rule.Resources, rule.NonResourceURLs), "*") || rule.NonResourceURLs != nil && !slices.Equal(rule.NonResourceURLs, []string{"/metrics"}) {
					t.Errorf("%s: %s %s has %v", name, object.GetKind(), object.GetName(), rule)
				}
			}
		}
	}
}

// TestChartUsesOnlyTheReleaseNamespace: only cluster-scoped objects are outside of the release's namespace, and no object
// refers to another namespace.
func TestChartUsesOnlyTheReleaseNamespace(t *testing.T) {
	out, err := run(t, "template", "sunset", chart, "--namespace", "elsewhere", "--values", "testdata/everything/values.yaml", "--set", "crds.install=false")
	expect.NoError(t, err)
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, namespace) && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			t.Errorf("in another namespace: %s", line)
		}
	}
	clusterWide := []string{"ClusterRole", "ClusterRoleBinding", "FlowSchema", "PriorityLevelConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"}
	for _, object := range objects(t, out) {
		if in := object.GetNamespace(); in != "elsewhere" && !slices.Contains(clusterWide, object.GetKind()) {
			t.Errorf("%s %s has namespace %q", object.GetKind(), object.GetName(), in)
		}
	}
}
