// SPDX-License-Identifier: Apache-2.0

package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestSamplesCanBeAppliedTogether: a user can apply every policy.yaml to one cluster, repeatedly, and nothing is deleted.
func TestSamplesCanBeAppliedTogether(t *testing.T) {
	var files []string
	for pattern, least := range map[string]int{"../samples/*/policy.yaml": 30, "../samples/unused/*/policy.yaml": 7} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < least {
			t.Fatalf("%s: %d samples, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	sampleOf := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		expect.NoError(t, err)
		comment, _, _ := strings.Cut(string(data), "\napiVersion:")
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			policy := &unstructured.Unstructured{}
			if err := yaml.UnmarshalStrict([]byte(document), &policy.Object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			id := policy.GetKind() + " " + policy.GetNamespace() + "/" + policy.GetName()
			if other, taken := sampleOf[id]; taken {
				t.Errorf("%s: %s also contains %s", file, other, id)
			}
			sampleOf[id] = file
			if mode, _, _ := unstructured.NestedString(policy.Object, "spec", "mode"); mode != string(v1alpha1.DryRun) {
				t.Errorf("%s: %s has mode %q, not DryRun", file, id, mode)
			}
			metadata, _, _ := unstructured.NestedMap(policy.Object, "metadata")
			for field := range metadata {
				if !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, field) {
					t.Errorf("%s: %s has metadata.%s, which only the API server sets", file, id, field)
				}
			}
			if ns := policy.GetNamespace(); ns != "" && !strings.Contains(comment+"\n", "\n#   kubectl create namespace "+ns+"\n") {
				t.Errorf("%s: the comment at the top lacks the command: kubectl create namespace %s", file, ns)
			}
		}
	}
}

// TestSamplesKeepObjectsInUseWithoutAReference: each rule of a sample about unreferenced ConfigMaps or Secrets keeps those that have an
// owner or that a program selects by label, because users copy each sample.
func TestSamplesKeepObjectsInUseWithoutAReference(t *testing.T) {
	files, err := filepath.Glob("../samples/*/policy.yaml")
	expect.NoError(t, err)
	checked := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		expect.NoError(t, err)
		text := string(data)
		if !regexp.MustCompile(`kind: (ConfigMap|Secret)}\n( *#.*\n)* *eligible:`).MatchString(text) || !strings.Contains(text, "references.count == 0") {
			continue
		}
		checked++
		for _, needed := range []string{"!has(object.metadata.ownerReferences)", "'grafana_dashboard'", "'argocd.argoproj.io/secret-type'"} {
			if !strings.Contains(text, needed) {
				t.Errorf("%s: the rule does not contain %s", file, needed)
			}
		}
	}
	expect.Equal(t, "samples about unreferenced ConfigMaps and Secrets", 3, checked)
}

// TestComparisonNamesObjectsThatTheSamplesKeep: the page about unused objects says what other tools make of objects of the samples, and
// that Sunset keeps each of them.
func TestComparisonNamesObjectsThatTheSamplesKeep(t *testing.T) {
	wants, err := filepath.Glob("../samples/unused/*/want.yaml")
	expect.NoError(t, err)
	kept := map[string]bool{}
	for _, file := range wants {
		data, err := os.ReadFile(file)
		expect.NoError(t, err)
		var want struct {
			Verdicts []struct{ Name, Action string }
		}
		expect.NoError(t, yaml.Unmarshal(data, &want))
		for _, v := range want.Verdicts {
			kept[v.Name] = kept[v.Name] || v.Action == "Keep"
		}
	}
	page, err := os.ReadFile("../docs/concepts/comparison-unused.md")
	expect.NoError(t, err)
	named := 0
	for _, row := range regexp.MustCompile(`(?m)^\|.* \| keeps \|$`).FindAllString(string(page), -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
			if named++; name[1] != "view" && !kept[name[1]] {
				t.Errorf("no sample keeps %s: %s", name[1], row)
			}
		}
	}
	if named < 25 {
		t.Errorf("the page names only %d objects", named)
	}
}
