// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/inputs"
)

// ofHelm are labels that are wrong for objects that kubectl applies.
var ofHelm = regexp.MustCompile(`(?m)^ *(app.kubernetes.io/managed-by|helm.sh/chart): .*\n`)

// TestRenderedManifestIsTheChart: charts/rendered.yaml is the chart with default values and without tests and
// CustomResourceDefinitions, for users without Helm.
func TestRenderedManifestIsTheChart(t *testing.T) {
	const header = "# Generated from charts/sunset by: make chart UPDATE=-update\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "}\n"
	got := ofHelm.ReplaceAll(render(t, "--skip-tests", "--set", "crds.install=false"), nil)
	expect.Golden(t, "../../charts/rendered.yaml", header+string(got), *update)
}

// TestKustomizationInstallsTheChart: kubectl apply -k applies the objects of the chart, with their namespace.
func TestKustomizationInstallsTheChart(t *testing.T) {
	path, err := kustomize()
	expect.NoError(t, err)
	expect.NoError(t, inputs.Files("../../charts"))
	var said bytes.Buffer
	command := exec.CommandContext(t.Context(), path, "build", "../../charts")
	command.Stderr = &said
	out, err := command.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("kustomize build: %v\n%s", err, &said)
	}
	want, got := withNamespace(t), byName(t, out)
	expect.Equal(t, "kustomization", slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for name, object := range want {
		if object == nil || object.GetKind() == "CustomResourceDefinition" {
			continue // TestChartCarriesWhatTheRepositoryHas compares the definitions
		}
		expect.Equal(t, "kustomization: "+name, object, got[name])
	}
}

// withNamespace are the objects of the chart without labels of Helm, and a Namespace, which is nil.
func withNamespace(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	all := byName(t, ofHelm.ReplaceAll(render(t, "--skip-tests"), nil))
	all["v1 Namespace /"+namespace] = nil
	return all
}

// TestInstallManifests: the file that a release publishes has the objects of the kustomization, with the image of the release.
func TestInstallManifests(t *testing.T) {
	path, err := kustomize()
	expect.NoError(t, err)
	expect.NoError(t, inputs.Files("../../charts", "../../Makefile"))
	file := filepath.Join(t.TempDir(), "out", "install.yaml")
	out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "install-manifests", "KUSTOMIZE="+path, "INSTALL="+file,
		"VERSION=v1.2.3", "REGISTRY=registry.example.com/sunset").CombinedOutput()
	if err != nil {
		t.Fatalf("make install-manifests: %v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	expect.NoError(t, err)
	got := byName(t, text)
	expect.Equal(t, "objects", slices.Sorted(maps.Keys(withNamespace(t))), slices.Sorted(maps.Keys(got)))
	pod, _, _ := unstructured.NestedSlice(got["apps/v1 Deployment "+namespace+"/sunset-controller"].Object, "spec", "template", "spec", "containers")
	expect.Equal(t, "image", any("registry.example.com/sunset/sunset-controller:v1.2.3"), pod[0].(map[string]any)["image"])
}

// TestReleaseHasTheInstallManifests: GoReleaser writes the file before it builds, and publishes it with its checksum.
func TestReleaseHasTheInstallManifests(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	expect.NoError(t, err)
	type files []struct{ Glob string }
	var settings struct {
		Before   struct{ Hooks []string }
		Checksum struct {
			ExtraFiles files `json:"extra_files"`
		}
		Release struct {
			ExtraFiles files `json:"extra_files"`
		}
	}
	expect.NoError(t, yaml.Unmarshal(text, &settings))
	const file = "bin/install.yaml"
	expect.Equal(t, "before", []string{"make install-manifests INSTALL=" + file + " VERSION={{ .Tag }} REGISTRY=ghcr.io/sunset-k8s"}, settings.Before.Hooks)
	expect.Equal(t, "checksum", files{{file}}, settings.Checksum.ExtraFiles)
	expect.Equal(t, "release", files{{file}}, settings.Release.ExtraFiles)
}

func byName(t *testing.T, text []byte) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, object := range objects(t, text) {
		all[object.GetAPIVersion()+" "+object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object
	}
	return all
}

// TestEveryObjectHasTheCommonLabels: also Pods of programs and definitions. A common label does not replace a label of the
// chart.
func TestEveryObjectHasTheCommonLabels(t *testing.T) {
	checked := 0
	for _, object := range objects(t, render(t, "--values", "testdata/everything/values.yaml")) {
		all := []map[string]string{object.GetLabels()}
		if labels, found, _ := unstructured.NestedStringMap(object.Object, "spec", "template", "metadata", "labels"); found {
			all = append(all, labels)
		}
		for _, labels := range all {
			checked++
			if of := labels["app.kubernetes.io/part-of"]; labels["cost-center"] != "platform" || of != "sunset" && object.GetName() != "extra" {
				t.Errorf("%s %s has labels %v", object.GetKind(), object.GetName(), labels)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d objects", checked)
	}
}

// TestAccountsAndPermissionsOfOthers: the chart uses ServiceAccounts that exist, and leaves permissions to its user.
func TestAccountsAndPermissionsOfOthers(t *testing.T) {
	rendered := objects(t, render(t, "--set", "serviceAccount.create=false,serviceAccount.name=a,rbac.create=false,"+
		"nodeAgent.enabled=true,nodeAgent.serviceAccount.create=false,nodeAgent.serviceAccount.name=b"))
	for _, object := range rendered {
		if object.GetKind() == "ServiceAccount" || object.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
			t.Errorf("%s %s is created", object.GetKind(), object.GetName())
		}
	}
	expect.Equal[any](t, "account of the controller", "a", specOf(t, one(t, rendered, "Deployment", "sunset-controller"))["serviceAccountName"])
	expect.Equal[any](t, "account of the agents", "b", specOf(t, one(t, rendered, "DaemonSet", "sunset-node-agent"))["serviceAccountName"])
}

// TestArtifactHubShowsTheDefinitions: the annotations of the chart name all CustomResourceDefinitions, and the example is
// valid.
func TestArtifactHubShowsTheDefinitions(t *testing.T) {
	var about struct{ Annotations map[string]string }
	expect.NoError(t, yaml.Unmarshal(read(t, chart+"/Chart.yaml"), &about))
	type crd struct{ Kind, Version, Name string }
	var shown, want []crd
	expect.NoError(t, yaml.Unmarshal([]byte(about.Annotations["artifacthub.io/crds"]), &shown))
	for _, text := range texts(t, "../../crds", "*.yaml") {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		expect.NoError(t, yaml.Unmarshal([]byte(text), definition))
		want = append(want, crd{definition.Spec.Names.Kind, definition.Spec.Versions[0].Name, definition.Name})
	}
	byName := func(a, b crd) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(shown, byName)
	slices.SortFunc(want, byName)
	expect.Equal(t, "definitions", want, shown)
	var policies []v1alpha1.ClusterRetentionPolicy
	expect.NoError(t, yaml.UnmarshalStrict([]byte(about.Annotations["artifacthub.io/crdsExamples"]), &policies))
	expect.Equal(t, "examples", 1, len(policies))
}
