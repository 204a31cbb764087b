// SPDX-License-Identifier: Apache-2.0

package crds_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// knownFields matches a list of names in CEL.
var knownFields = regexp.MustCompile(`\[\s*'\w+'(?:,\s*'\w+')*\s*\]`)

// TestAdmissionPolicyKnowsEveryField: the API server stores unknown fields, so the admission policies list the fields of each level of a
// policy and of an approval. RetentionArchives and RetentionDigests have none, because Sunset uses none with an unknown field.
func TestAdmissionPolicyKnowsEveryField(t *testing.T) {
	data, err := os.ReadFile("admission/policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := sets.New[string]()
	for _, list := range knownFields.FindAllString(string(data), -1) {
		known.Insert(key(regexp.MustCompile(`\w+`).FindAllString(list, -1)))
	}
	for _, kind := range []string{"clusterretentionpolicies", "retentionpolicies", "clusterretentionapprovals", "retentionapprovals"} {
		crd := definitions(t)[kind+".sunset-k8s.io"]
		spec := structuralOf(t, crd.Spec.Versions[0].Schema.OpenAPIV3Schema).Properties["spec"]
		eachLevel("spec", &spec, func(path string, level *schema.Structural) {
			if strings.HasSuffix(path, ".matchExpressions") { // a requirement without values or an operator is invalid
				return
			}
			if fields := slices.Collect(maps.Keys(level.Properties)); !known.Has(key(fields)) {
				t.Errorf("%s: the admission policies do not list the fields of %s: %s", crd.Spec.Names.Kind, path, key(fields))
			}
		})
	}
}

func key(fields []string) string { return strings.Join(slices.Sorted(slices.Values(fields)), " ") }

// eachLevel visits every object of a schema with its path.
func eachLevel(path string, s *schema.Structural, visit func(string, *schema.Structural)) {
	if s.Items != nil {
		eachLevel(path, s.Items, visit)
		return
	}
	if len(s.Properties) > 0 {
		visit(path, s)
	}
	for name, below := range s.Properties {
		eachLevel(path+"."+name, &below, visit)
	}
}
