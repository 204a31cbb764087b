package chart_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
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
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("make generate: -%s +%s\n%s", part.from, part.to, diff)
		}
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
		if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
			t.Errorf("%s: -crds +chart\n%s", got.GetName(), diff)
		}
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
	if diff := cmp.Diff(want.Object, chart.Object); diff != "" {
		t.Errorf("-crds/nodes/agent.yaml +chart\n%s", diff)
	}
}

// TestChartContainsAlertsAndDashboard: the chart contains the alerts and the dashboard that other tests check.
func TestChartContainsAlertsAndDashboard(t *testing.T) {
	all := objects(t, render(t, "--set", "monitoring.prometheusRule=true,monitoring.dashboard=true"))
	alerts := map[string]any{}
	expect.NoError(t, yaml.Unmarshal(read(t, chart+"/files/alerts.yaml"), &alerts))
	rule := one(t, all, "PrometheusRule", "sunset").Object["spec"]
	if diff := cmp.Diff(alerts, rule); diff != "" || len(alerts) == 0 {
		t.Errorf("-files/alerts.yaml +chart\n%s", diff)
	}
	boards, _, _ := unstructured.NestedStringMap(one(t, all, "ConfigMap", "sunset-dashboard").Object, "data")
	if diff := cmp.Diff(strings.TrimSpace(string(read(t, chart+"/files/dashboard.json"))), strings.TrimSpace(boards["sunset.json"])); diff != "" {
		t.Errorf("-files/dashboard.json +chart\n%s", diff)
	}
}

func rulesOf(t *testing.T, object *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	if !strings.HasSuffix(object.GetKind(), "Role") {
		return nil
	}
	role := &rbacv1.ClusterRole{}
	expect.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"rules": object.Object["rules"]}, role))
	return role.Rules
}

// TestPermissionsAreThoseOfThePage: the chart grants the permissions of docs/reference/permissions.md, which explains each and which other
// tests check.
func TestPermissionsAreThoseOfThePage(t *testing.T) {
	var page []byte
	for i, part := range strings.Split(string(read(t, "../../docs/reference/permissions.md")), "```") {
		if text, is := strings.CutPrefix(part, "yaml\napiVersion: "); i%2 == 1 && is {
			page = append(page, "\n---\napiVersion: "+text...)
		}
	}
	documented, rendered := objects(t, page), objects(t, render(t, "--set", "rbac.references.enabled=true"))
	for _, name := range []string{"sunset-core", "sunset-lease", "sunset-references"} {
		kind := "ClusterRole"
		if name == "sunset-lease" {
			kind = "Role"
		}
		want, got := rulesOf(t, one(t, documented, kind, name)), rulesOf(t, one(t, rendered, kind, name))
		expect.Equal(t, name+", page and chart", want, got)
	}
}

// allows reports whether rules allow a verb on a resource.
func allows(rules []rbacv1.PolicyRule, verb string, of schema.GroupResource) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, verb) && slices.Contains(r.APIGroups, of.Group) && slices.Contains(r.Resources, of.Resource)
	})
}

// collected returns the rules of the aggregated role.
func collected(t *testing.T, rendered []*unstructured.Unstructured) (all []rbacv1.PolicyRule) {
	t.Helper()
	for _, object := range rendered {
		if object.GetLabels()["rbac.sunset-k8s.io/aggregate-to-controller"] == "true" {
			all = append(all, rulesOf(t, object)...)
		}
	}
	return all
}

// TestKindsOfTheSamplesHaveRoles: every kind of the samples has a role, except an invented kind and Secrets, which must
// be enabled explicitly.
func TestKindsOfTheSamplesHaveRoles(t *testing.T) {
	rules := collected(t, objects(t, render(t, "--set", "rbac.kinds.secrets.enabled=true")))
	files, err := filepath.Glob("../../samples/*/policy.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("only %d samples: %v", len(files), err)
	}
	var needed, said bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &needed, ErrOut: &said}
	args := append([]string{"rbac", "--local", "--owners=jobs.batch", "-f"}, files...)
	if code := command.Run(t.Context(), args, streams, time.Time{}); code != command.ExitOK {
		t.Fatalf("exit %d: %s", code, &said)
	}
	checked := 0
	for _, role := range objects(t, needed.Bytes()) {
		if role.GetKind() != "ClusterRole" || strings.HasSuffix(role.GetName(), ":references") {
			continue // permissions of teams, and those with a separate value
		}
		rule := rulesOf(t, role)[0]
		resource := schema.GroupResource{Group: rule.APIGroups[0], Resource: rule.Resources[0]}
		for _, verb := range rule.Verbs {
			if resource.Group != "example.com" && !allows(rules, verb, resource) {
				t.Errorf("%s: no permission to %s %s", role.GetName(), verb, resource)
			}
		}
		checked++
	}
	if checked < 20 {
		t.Errorf("only %d roles: %s", checked, &said)
	}
}

func TestEverythingThatMayReferCanBeWatched(t *testing.T) {
	rules := rulesOf(t, one(t, objects(t, render(t, "--set", "rbac.references.enabled=true")), "ClusterRole", "sunset-references"))
	for _, declared := range references.BuiltIn() {
		plural := resourceOf(declared.From)
		if !allows(rules, "list", plural.GroupResource()) || !allows(rules, "watch", plural.GroupResource()) {
			t.Errorf("no permission to list and watch %s", plural.GroupResource())
		}
	}
}

// resourceOf returns the resource of a kind.
func resourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	plural.Resource = strings.Replace(plural.Resource, "gatewaies", "gateways", 1)
	return plural
}
