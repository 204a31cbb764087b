package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestApplyingAPolicyAgainChangesNothing: kubectl and GitOps tools compare what is written with what the API server has made of it.
func TestApplyingAPolicyAgainChangesNothing(t *testing.T) {
	w := newWorld(t)
	files, err := filepath.Glob("../../samples/*/policy.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
		for {
			policy := &unstructured.Unstructured{}
			if err := documents.Decode(policy); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if policy.GroupVersionKind().Group != v1alpha1.GroupVersion.Group {
				continue
			}
			name := w.namespace + "-" + filepath.Base(filepath.Dir(file)) + "-" + policy.GetName()
			policy.SetName(name)
			policy.SetUID("")
			if policy.GetNamespace() != "" {
				policy.SetNamespace(w.namespace)
			}
			_ = unstructured.SetNestedField(policy.Object, "DryRun", "spec", "mode")
			stored := policy.DeepCopy()
			w.create(stored)
			t.Cleanup(func() { _ = w.Client.Delete(context.Background(), stored) })
			written, err := json.Marshal(policy)
			if err != nil {
				t.Fatal(err)
			}
			is, err := json.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(written, written, is) // as kubectl apply does
			if err != nil || string(patch) != "{}" {
				t.Errorf("%s: applied again, %s changes: %s, %v", file, policy.GetName(), patch, err)
			}
		}
	}
}
