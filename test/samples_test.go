// SPDX-License-Identifier: Apache-2.0

package test

import (
	"os"
	"path/filepath"
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
