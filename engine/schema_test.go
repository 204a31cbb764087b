// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// document is an OpenAPI v3 document as an API server publishes it, with the difficulties of real documents: references
// behind allOf, validations in allOf, date-times, int-or-strings, quantities, open objects, and a schema that contains itself.
const document = `{"openapi":"3.0.0","info":{"title":"test","version":"1"},"components":{"schemas":{
"io.k8s.api.batch.v1.Job":{"type":"object",
  "x-kubernetes-group-version-kind":[{"group":"batch","kind":"Job","version":"v1"}],
  "properties":{
    "apiVersion":{"type":"string"},"kind":{"type":"string"},
    "metadata":{"allOf":[{"$ref":"#/components/schemas/Meta"}],"default":{}},
    "spec":{"allOf":[{"$ref":"#/components/schemas/Spec"}]},
    "status":{"allOf":[{"$ref":"#/components/schemas/Status"}],"default":{}}}},
"Meta":{"type":"object","properties":{
    "name":{"type":"string"},"namespace":{"type":"string"},
    "labels":{"type":"object","additionalProperties":{"type":"string","default":""}},
    "creationTimestamp":{"$ref":"#/components/schemas/Time"}}},
"Time":{"type":"string","format":"date-time"},
"IntOrString":{"oneOf":[{"type":"integer"},{"type":"string"}],"format":"int-or-string"},
"Spec":{"type":"object","properties":{
    "parallelism":{"type":"integer","format":"int32"},
    "port":{"$ref":"#/components/schemas/IntOrString"},
    "mixed":{"x-kubernetes-int-or-string":true},
    "weight":{"type":"number"},
    "open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"string"}}},
    "schema":{"$ref":"#/components/schemas/Self"},
    "template":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"string"}}},
    "limits":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}},
    "validated":{"type":"object","properties":{"n":{"type":"integer"}},"allOf":[{"properties":{"n":{"minimum":1}}}]},
    "gone":{"$ref":"#/components/schemas/Gone"}}},
"io.k8s.apimachinery.pkg.api.resource.Quantity":{"oneOf":[{"type":"string"},{"type":"number"}]},
"Status":{"type":"object","properties":{
    "phase":{"type":"string"},"succeeded":{"type":"integer"},
    "completionTime":{"allOf":[{"$ref":"#/components/schemas/Time"}]},
    "conditions":{"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/Condition"}],"default":{}}}}},
"Condition":{"type":"object","properties":{"type":{"type":"string"},"status":{"type":"string"},"lastTransitionTime":{"$ref":"#/components/schemas/Time"}}},
"Self":{"type":"object","properties":{"title":{"type":"string"},
    "not":{"$ref":"#/components/schemas/Self"},
    "properties":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Self"}},
    "allOf":{"type":"array","items":{"$ref":"#/components/schemas/Self"}}}},
"Widget":{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","kind":"Widget","version":"v1"}],"allOf":[{"$ref":"#/components/schemas/Widget"}]}
}}}`

var jobKind = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

func openAPI(t testing.TB) *spec3.OpenAPI {
	t.Helper()
	var doc spec3.OpenAPI
	expect.NoError(t, json.Unmarshal([]byte(document), &doc))
	return &doc
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		eligible string
		want     []string
	}{
		"fields that exist":                       {"object.status.phase == 'x' && object.status.conditions.exists(c, c.type == 'a' && c.status == 'True')", nil},
		"our functions":                           {"finished(object) && condition(object, 'a') && !controllerOf(object).hasValue()", nil},
		"optional fields":                         {"object.?status.?phase.orValue('') == '' && has(object.status.phase)", nil},
		"labels":                                  {"object.metadata.?labels[?'a/b'].orValue('') == 'x'", nil},
		"a field that is a word of CEL":           {"object.metadata.namespace == 'x'", nil},
		"a time is a string":                      {"timestamp(object.metadata.creationTimestamp) + days(1) > timestamp(object.status.completionTime)", nil},
		"an int-or-string is dynamic":             {"object.spec.port == 80 || object.spec.port == 'http' || object.spec.mixed == 1", nil},
		"a number is an int or a double":          {"object.spec.weight == 1 || object.spec.weight > 0.5", nil},
		"an open object":                          {"object.spec.open.whatever.deep == 1 && object.spec.open.known == 'a'", nil},
		"a schema that contains itself":           {"object.spec.schema.not.not.not.title == 'a' && object.spec.schema.properties['a'].properties.b.c == 1", nil},
		"a reference to a missing schema":         {"object.spec.gone.a == 1", nil},
		"null for fields that may be null":        {"object.status.?completionTime.orValue(null) == null && has(object.status.phase) && object.status.phase != null && object.metadata.creationTimestamp == null", nil},
		"null for an absent field":                {"null == object.status.phase", []string{"spec.rules[0].eligible:1:6: an absent field is not null, and reading it is an error (write !has(object.status.phase))"}},
		"a quantity compared with a number":       {"object.spec.limits.cpu < 1", []string{"spec.rules[0].eligible:1:24: < does not accept (string, int) (write quantity(object.spec.limits.cpu).compareTo(quantity('1')) < 0)"}},
		"a label compared as a number":            {"10 >= object.metadata.labels['a']", []string{"spec.rules[0].eligible:1:4: >= does not accept (int, string) (write 10 >= int(object.metadata.labels['a']))"}},
		"a time and a duration":                   {"object.status.completionTime + days(1) < timestamp('2026-01-01T00:00:00Z')", []string{"spec.rules[0].eligible:1:30: + does not accept (string, duration) (times in objects are strings: write timestamp(object.status.completionTime))"}},
		"a condition by its type":                 {"object.status.conditions['Complete'].status == 'True'", []string{"spec.rules[0].eligible:1:25: the index of a list must be a number (write condition(object, 'Complete'))"}},
		"a condition as a field":                  {"object.status.conditions.Complete == 'True'", []string{"spec.rules[0].eligible:1:25: list(object.status.conditions[]) has no fields (write condition(object, 'Complete'))"}},
		"a number of seconds":                     {"duration(object.status.succeeded) > days(1)", []string{"spec.rules[0].eligible:1:1: duration() does not accept (int) (write duration(string(object.status.succeeded) + 's'))"}},
		"a function of times":                     {"object.status.completionTime.getHours('UTC') > 3", []string{"spec.rules[0].eligible:1:30: string has no getHours(string) (write timestamp(object.status.completionTime).getHours('UTC'))"}},
		"a function of quantities":                {"object.spec.limits.cpu.isLessThan(quantity('1'))", []string{"spec.rules[0].eligible:1:24: string has no isLessThan(kubernetes.Quantity) (write quantity(object.spec.limits.cpu).isLessThan(quantity('1')))"}},
		"an object is a map":                      {"'phase' in object.status && object.spec['weight'] == 1 && object.status.exists(f, f == 'phase') && object.spec != {}", nil},
		"numbers are equal":                       {"object.status.succeeded == 1.0", nil},
		"values of several types":                 {"(has(object.status.phase) ? object.status.phase : 0) == 0 || object.status.?succeeded.orValue('none') == 'none'", nil},
		"an embedded resource":                    {"object.spec.template.metadata.name == 'x'", nil},
		"a label compared with a number":          {"object.metadata.labels['a'] == 1", []string{"spec.rules[0].eligible:1:29: == does not accept (string, int) (the other operand is a string: write '1')"}},
		"a field of another part":                 {"object.completionTime == ''", []string{`spec.rules[0].eligible:1:7: the schema has no field "completionTime" in object (did you mean object.status.completionTime?)`}},
		"a field that two parts do not have":      {"object.status.zzzz == '' && object.spec.zzzz == ''", []string{`spec.rules[0].eligible:1:14: the schema has no field "zzzz" (check the spelling)`, `spec.rules[0].eligible:1:40: the schema has no field "zzzz" (check the spelling)`}},
		"a variable":                              {"variables.phase == 'x'", nil},
		"a field that does not exist":             {"object.status.phaze == 'x'", []string{`spec.rules[0].eligible:1:14: the schema has no field "phaze" in object.status (did you mean phase?)`}},
		"a field of a list's element":             {"object.status.conditions.exists(c,\n  c.typ == 'a')", []string{`spec.rules[0].eligible:2:4: the schema has no field "typ" in object.status.conditions[] (did you mean type?)`}},
		"presence of no field":                    {"has(object.status.phaze)", []string{`spec.rules[0].eligible:1:1: the schema has no field "phaze" in object.status (did you mean phase?)`}},
		"two mistakes":                            {"object.a == 1 || object.b == 1", []string{`spec.rules[0].eligible:1:7: the schema has no field "a" in object (it has apiVersion, kind, metadata, spec, status)`, `spec.rules[0].eligible:1:24: the schema has no field "b" in object (it has apiVersion, kind, metadata, spec, status)`}},
		"a number compared with a string":         {"object.status.succeeded == '1'", []string{"spec.rules[0].eligible:1:25: == does not accept (int, string) (the other operand is not a string: write 1)"}},
		"a field with validations":                {"object.spec.validated.n == '1'", []string{"spec.rules[0].eligible:1:25: == does not accept (int, string) (the other operand is not a string: write 1)"}},
		"a variable compared with a number":       {"variables.phase == 1", []string{"spec.rules[0].eligible:1:17: == does not accept (string, int) (the other operand is a string: write '1')"}},
		"arithmetic with a time that is a string": {"object.metadata.creationTimestamp + days(1) > timestamp(0)", []string{"spec.rules[0].eligible:1:35: + does not accept (string, duration) (times in objects are strings: write timestamp(object.metadata.creationTimestamp))"}},
		"a list of fields of different types":     {"dyn(object.status.succeeded) in [dyn(object.status.phase), dyn(1)]", nil},
		"a field of the value of a variable":      {"variables.conditions[0].type == 'a' && variables.conditions[0].nothing == 'a'", []string{`spec.rules[0].eligible:1:63: the schema has no field "nothing" in object.status.conditions[] (it has lastTransitionTime, status, type)`}},
	}
	s, err := openapi.SchemaOf(openAPI(t), jobKind)
	expect.NoError(t, err)
	variables := []v1alpha1.Variable{{Name: "phase", Expression: "object.status.phase"}, {Name: "conditions", Expression: "object.status.conditions"}}
	c := fixture.Compiler(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			r.Eligible = tc.eligible
			var got []string
			for _, p := range mustCompile(t, c, r, variables...).Check(s) {
				got = append(got, p.String())
			}
			expect.Equal(t, "problems", tc.want, got)
		})
	}
}

// TestCheckOfStartTime: a string is not a time, unless its format or its name says that it is.
func TestCheckOfStartTime(t *testing.T) {
	s, err := openapi.SchemaOf(openAPI(t), jobKind)
	expect.NoError(t, err)
	s.Properties["status"].Properties["endedAt"] = *spec.StringProperty()
	for start, warned := range map[string]bool{
		"object.metadata.creationTimestamp": false, "object.status.completionTime": false, "object.status.endedAt": false,
		"object.metadata.?name": true, "object.status.phase": true, "object.metadata.labels['a']": false,
		"object.spec.gone.a": false, "object.spec.mixed": false, "finishedAt(object)": false,
	} {
		r := rule()
		r.StartTime = start
		if problems := mustCompile(t, fixture.Compiler(t), r).Check(s); len(problems) > 0 != warned {
			t.Errorf("%s: %v", start, problems)
		}
	}
}

func TestCheckOfVariables(t *testing.T) {
	s, err := openapi.SchemaOf(openAPI(t), jobKind)
	expect.NoError(t, err)
	r := rule()
	r.Eligible = "variables.bad.more == 1"
	got := mustCompile(t, fixture.Compiler(t), r, v1alpha1.Variable{Name: "bad", Expression: "object.nothing"}).Check(s)
	if len(got) != 1 || got[0].Path != "spec.variables[0].expression" || got[0].Column != 7 {
		t.Errorf("got %v", got)
	}
}

func TestSchemaOf(t *testing.T) {
	doc := openAPI(t)
	before, _ := json.Marshal(doc)
	if _, err := openapi.SchemaOf(doc, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}); err != nil {
		t.Errorf("a schema that contains only itself: %v", err)
	}
	if _, err := openapi.SchemaOf(doc, schema.GroupVersionKind{Group: "batch", Version: "v2", Kind: "Job"}); err == nil {
		t.Error("found a version that does not exist")
	}
	if _, err := openapi.SchemaOf(nil, jobKind); err == nil {
		t.Error("found a schema without a document")
	}
	s, err := openapi.SchemaOf(doc, jobKind)
	expect.NoError(t, err)
	if _, err := json.Marshal(s); err != nil { // does not end if the schema contains itself
		t.Error(err)
	}
	if after, _ := json.Marshal(doc); string(after) != string(before) {
		t.Error("the document was changed")
	}
	r := mustCompile(t, fixture.Compiler(t), rule())
	if got := r.Check(nil); got != nil {
		t.Errorf("without a schema: %v", got)
	}
}
