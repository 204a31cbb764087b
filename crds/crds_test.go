// SPDX-License-Identifier: Apache-2.0

package crds_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/crds"
)

// definition is the CustomResourceDefinition of ClusterRetentionPolicy.
func definition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return definitions(t)["clusterretentionpolicies.sunset-k8s.io"]
}

// definitions returns all CustomResourceDefinitions by name.
func definitions(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range crds.Files() {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(file.YAML, crd); err != nil {
			t.Fatal(err)
		}
		all[file.Name] = crd
	}
	return all
}

func root(t *testing.T) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	return definition(t).Spec.Versions[0].Schema.OpenAPIV3Schema
}

// structural returns the schema as the API server reads it.
func structural(t *testing.T) *schema.Structural {
	t.Helper()
	return structuralOf(t, root(t))
}

func structuralOf(t *testing.T, root *apiextensionsv1.JSONSchemaProps) *schema.Structural {
	t.Helper()
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(root, internal, nil); err != nil {
		t.Fatal(err)
	}
	s, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFilesAreNamedAfterTheirDefinition(t *testing.T) {
	for _, file := range crds.Files() {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(file.YAML, crd); err != nil || crd.Name != file.Name {
			t.Errorf("%s contains %s: %v", file.Name, crd.Name, err)
		}
	}
}

func TestSchemaIsStructural(t *testing.T) {
	if errs := schema.ValidateStructural(nil, structural(t)); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

// TestSchemaPreservesUnknownFields: in every kind, misspelt fields and fields of a newer version stay visible.
func TestSchemaPreservesUnknownFields(t *testing.T) {
	for name, crd := range definitions(t) {
		t.Run(name, func(t *testing.T) { preserves(t, structuralOf(t, crd.Spec.Versions[0].Schema.OpenAPIV3Schema)) })
	}
}

func preserves(t *testing.T, root *schema.Structural) {
	levels := 0
	var visit func(path string, s *schema.Structural)
	visit = func(path string, s *schema.Structural) {
		if len(s.Properties) > 0 {
			levels++
			if !s.XPreserveUnknownFields {
				t.Errorf("%s drops unknown fields", path)
			}
		}
		for name, below := range s.Properties {
			if path+name != "status" {
				visit(path+name+".", &below)
			}
		}
		if s.Items != nil {
			visit(path+"[].", s.Items)
		}
	}
	visit("", root)
	if levels < 3 {
		t.Errorf("only %d levels checked", levels)
	}
}

func TestUnknownFieldReachesTheController(t *testing.T) {
	const written = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: batch}
excludeNamespaces: [beside-spec]
spec:
  excludeNamespace: [misspelt]
  namespaceSelector: {matchLabel: {tier: ci}, matchExpressions: [{key: a, operator: In, value: [b]}]}
  variables: [{name: done, expresion: "true"}]
  rules:
  - name: jobs
    tll: 1d
    target: {apiVersion: batch/v1, kind: Job, selctor: {}, selector: {matchLabel: {a: b}}}
    delete: {propagation: Orphan}
`
	var before, after map[string]any
	for _, object := range []*map[string]any{&before, &after} {
		if err := yaml.Unmarshal([]byte(written), object); err != nil {
			t.Fatal(err)
		}
	}
	after["status"] = map[string]any{"matched": int64(1), "unknown": true}
	before["status"] = map[string]any{"matched": int64(1)}
	pruning.Prune(after, structural(t), true)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("-written, without unknown fields of status +stored\n%s", diff)
	}
}

// TestCRDHasOneServedAndStoredVersion: the conversion strategy is None. docs/reference/compatibility.md describes how to add a version.
func TestCRDHasOneServedAndStoredVersion(t *testing.T) {
	for name, crd := range definitions(t) {
		versions := crd.Spec.Versions
		if len(versions) != 1 || versions[0].Name != "v1alpha1" || !versions[0].Served || !versions[0].Storage || crd.Spec.Conversion != nil {
			t.Errorf("%s has versions %v, conversion %v", name, versions, crd.Spec.Conversion)
		}
	}
}

// TestDefinitionsFitIntoTheAnnotationOfKubectl: otherwise kubectl apply -f crds fails. The API reference shows the sizes.
func TestDefinitionsFitIntoTheAnnotationOfKubectl(t *testing.T) {
	for _, file := range crds.Files() {
		data, err := file.JSON()
		if err != nil || len(data) > 255<<10 { // the API server accepts annotations of at most 256 KiB; others need the rest
			t.Errorf("%s has %d bytes, %v", file.Name, len(data), err)
		}
	}
}

func TestShape(t *testing.T) {
	crd := definition(t)
	if crd.Spec.Scope != apiextensionsv1.ClusterScoped || !cmp.Equal(crd.Spec.Names.ShortNames, []string{"cret"}) {
		t.Errorf("scope %s, short names %v", crd.Spec.Scope, crd.Spec.Names.ShortNames)
	}
	if sub := crd.Spec.Versions[0].Subresources; sub == nil || sub.Status == nil {
		t.Error("status is not a subresource")
	}
	spec := root(t).Properties["spec"]
	rule := spec.Properties["rules"].Items.Schema
	if len(rule.XValidations) != 3 || rule.XValidations[1].Rule != "!(has(self.ttl) && has(self.ttlExpression))" {
		t.Errorf("validations of a rule: %v", rule.XValidations)
	}
	for name, test := range map[string]struct {
		field    apiextensionsv1.JSONSchemaProps
		standard string // the default, as JSON. Fields in lists have none, because a second apply would remove it
		values   int
	}{
		"mode":              {spec.Properties["mode"], `"DryRun"`, 3},
		"events":            {rule.Properties["events"], "", 2},
		"propagationPolicy": {rule.Properties["delete"].Properties["propagationPolicy"], "", 3},
	} {
		var standard string
		if test.field.Default != nil {
			standard = string(test.field.Default.Raw)
		}
		if standard != test.standard || len(test.field.Enum) != test.values {
			t.Errorf("%s: default %s, values %v", name, test.field.Default, test.field.Enum)
		}
	}
}

// TestFieldsWithAFormatHaveExamples: editors show from the schema how to write a value that must match a pattern, and the example
// matches it.
func TestFieldsWithAFormatHaveExamples(t *testing.T) {
	for _, crd := range definitions(t) {
		if !slices.Contains(applied, crd.Spec.Names.Kind) {
			continue
		}
		examples(t, crd.Spec.Names.Kind+": spec", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	}
}

func examples(t *testing.T, path string, field apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	one := field
	if field.Items != nil {
		one = *field.Items.Schema
	}
	for name, below := range one.Properties {
		examples(t, path+"."+name, below)
	}
	if one.Pattern == "" && one.Format != "date-time" {
		return
	}
	if field.Example == nil {
		t.Errorf("%s has no example", path)
		return
	}
	values := []string{""}
	into := any(&values)
	if field.Items == nil {
		into = &values[0]
	}
	if err := json.Unmarshal(field.Example.Raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, value := range values {
		if !regexp.MustCompile(one.Pattern).MatchString(value) {
			t.Errorf("%s: example %q does not match %s", path, value, one.Pattern)
		}
	}
}
