// SPDX-License-Identifier: Apache-2.0

package crds_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// applied are the kinds that users write; Sunset writes the others.
var applied = []string{"ClusterRetentionPolicy", "RetentionPolicy", "ClusterRetentionApproval", "RetentionApproval", "RetentionArchive", "RetentionDigest"}

// TestDefaultsDoNotChangeLists: kubectl and GitOps tools replace whole lists, so a second apply would remove defaults
// that the API server added to an item.
func TestDefaultsDoNotChangeLists(t *testing.T) {
	for name, crd := range definitions(t) {
		if !slices.Contains(applied, crd.Spec.Names.Kind) {
			continue
		}
		s := structuralOf(t, crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		written, err := json.Marshal(emptied(s))
		if err != nil {
			t.Fatal(err)
		}
		var stored any
		if err := json.Unmarshal(written, &stored); err != nil {
			t.Fatal(err)
		}
		defaulting.Default(stored, s)
		live, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(written, written, live) // as kubectl apply does
		if err != nil || string(patch) != "{}" {
			t.Errorf("%s: a second apply changes it: %s, %v", name, patch, err)
		}
	}
}

// emptied returns a value with all objects of a schema, one item in each list, and no other fields.
func emptied(s *schema.Structural) any {
	switch {
	case s.Items != nil && s.Items.Type == "object":
		return []any{emptied(s.Items)}
	case s.Type != "object":
		return nil
	}
	object := map[string]any{}
	for name, field := range s.Properties {
		if value := emptied(&field); value != nil {
			object[name] = value
		}
	}
	return object
}

// TestApplyTestDataHasEveryField: the file of the test in test/integration must contain every field, so a new
// field must be added to it.
func TestApplyTestDataHasEveryField(t *testing.T) {
	data, err := os.ReadFile("../test/integration/testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]sets.Set[string]{}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if set[object.GetKind()] == nil {
			set[object.GetKind()] = sets.New[string]()
		}
		collect("spec", object.Object["spec"], set[object.GetKind()])
	}
	for _, crd := range definitions(t) {
		kind := crd.Spec.Names.Kind
		if !slices.Contains(applied, kind) {
			continue
		}
		spec := structuralOf(t, crd.Spec.Versions[0].Schema.OpenAPIV3Schema).Properties["spec"]
		for _, path := range paths("spec", &spec) {
			if !set[kind].Has(path) {
				t.Errorf("%s: every-field.yaml lacks %s", kind, path)
			}
		}
	}
}

// paths returns the paths of all fields of a schema.
func paths(path string, s *schema.Structural) []string {
	if s.Items != nil {
		return paths(path, s.Items)
	}
	all := []string{path}
	for name, field := range s.Properties {
		all = append(all, paths(path+"."+name, &field)...)
	}
	return all
}

// collect adds the paths of the fields of a value.
func collect(path string, value any, into sets.Set[string]) {
	into.Insert(path)
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			collect(path+"."+name, field, into)
		}
	case []any:
		for _, item := range value {
			collect(path, item, into)
		}
	}
}
