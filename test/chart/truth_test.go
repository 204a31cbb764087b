// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	expect.NoError(t, err)
	return data
}

// TestChartCarriesWhatTheRepositoryHas: a chart can only use files in its folder, so it contains copies.
func TestChartCarriesWhatTheRepositoryHas(t *testing.T) {
	for _, part := range []struct{ from, to, files string }{
		{"../../crds", "files/crds", "*.yaml"}, {"../../crds/admission", "files/admission", "*.yaml"}, {"../../crds/nodes", "files/nodes", "rbac.yaml"},
	} {
		want, got := texts(t, part.from, part.files), texts(t, filepath.Join(chart, part.to), "*")
		expect.Equal(t, "make generate: "+part.to, want, got)
	}
}

// texts returns the files of a folder by name.
func texts(t *testing.T, dir, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing in %s: %v", dir, err)
	}
	all := map[string]string{}
	for _, file := range files {
		all[filepath.Base(file)] = string(read(t, file))
	}
	return all
}

// TestDefinitionsAreKeptUpToDateAndNeverDeleted: CustomResourceDefinitions are templates, not files in the crds folder,
// which Helm installs and never upgrades.
func TestDefinitionsAreKeptUpToDateAndNeverDeleted(t *testing.T) {
	all := objects(t, render(t))
	files, _ := filepath.Glob("../../crds/*.yaml")
	for _, file := range files {
		want := objects(t, read(t, file))[0]
		got := one(t, all, "CustomResourceDefinition", want.GetName())
		if got.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Errorf("uninstalling the chart deletes %s and all its objects", got.GetName())
		}
		expect.Equal(t, got.GetName(), want.Object["spec"], got.Object["spec"])
	}
	if len(files) == 0 {
		t.Error("no definitions")
	}
}

// TestAgentIsThatOfTheRepository: the agent's manifests are equal except for the image's tag and the chart's labels.
func TestAgentIsThatOfTheRepository(t *testing.T) {
	chart := one(t, objects(t, render(t, "--set", "nodeAgent.enabled=true,nodeAgent.image.tag=latest")), "DaemonSet", "sunset-node-agent")
	want := objects(t, read(t, "../../crds/nodes/agent.yaml"))[0]
	for _, at := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
		labels, _, _ := unstructured.NestedStringMap(chart.Object, at...)
		_ = unstructured.SetNestedStringMap(chart.Object, map[string]string{"app.kubernetes.io/name": labels["app.kubernetes.io/name"]}, at...)
	}
	expect.Equal(t, "chart", want.Object, chart.Object)
}

// TestChartContainsAlertsAndDashboard: the chart contains the alerts and the dashboard that other tests check.
func TestChartContainsAlertsAndDashboard(t *testing.T) {
	all := objects(t, render(t, "--set", "monitoring.prometheusRule=true,monitoring.dashboard=true"))
	alerts := map[string]any{}
	expect.NoError(t, yaml.Unmarshal(read(t, chart+"/files/alerts.yaml"), &alerts))
	rule := one(t, all, "PrometheusRule", "sunset").Object["spec"]
	expect.Equal(t, "there are alerts", true, len(alerts) > 0)
	expect.Equal(t, "alerts", any(alerts), rule)
	boards, _, _ := unstructured.NestedStringMap(one(t, all, "ConfigMap", "sunset-dashboard").Object, "data")
	expect.Equal(t, "dashboard", strings.TrimSpace(string(read(t, chart+"/files/dashboard.json"))), strings.TrimSpace(boards["sunset.json"]))
}
