// SPDX-License-Identifier: Apache-2.0

package diagnose_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// aboutConfigMaps returns a rule about ConfigMaps.
func aboutConfigMaps(eligible string) v1alpha1.Rule {
	return v1alpha1.Rule{
		Name: "unused", Target: v1alpha1.Target{APIVersion: "v1", Kind: "ConfigMap"},
		Eligible: eligible, StartTime: "object.metadata.creationTimestamp", TTL: "1h",
	}
}

// TestInvalidReferences: an expression that compiled here in error would return the same result for ConfigMaps in use.
func TestInvalidReferences(t *testing.T) {
	const (
		has = " (references has count, and by, a list whose elements have kind, namespace and name: " +
			"write references.count == 0, or references.by.exists(r, r.kind == 'Pod'))"
		there = "the fields of references are always present" + has
		whole = "references cannot be used without one of its fields" + has
		types = " (only values of one type can be equal: put strings in quotes, but not numbers)"
	)
	tests := map[string]struct {
		eligible string
		want     []string // without the path
	}{
		"all fields":                            {"references.count == 0 && references.by.all(r, r.kind + r.namespace + r.name != '')", nil},
		"a loop variable with another name":     {"references.count == 0 && ['a'].all(targets, targets == 'a')", nil},
		"has() of a field":                      {"has(references.count)", []string{"1:5: " + there}},
		"an optional field that does not exist": {"references.?total.orValue(0) == 0", []string{"1:1: " + there}},
		"an optional field":                     {"true && references.?count.orValue(0) == 0", []string{"1:9: " + there}},
		"the number as a function":              {"references.count() == 0", []string{"1:12: unknown function count() (write a field without (): references.count)"}},
		"a number not equal to a string":        {"references.count != '0'", []string{"1:18: != does not accept (int, string) (the other operand is not a string: write 0)"}},
		"a number equal to a string":            {"references.count == '0'", []string{"1:18: == does not accept (int, string) (the other operand is not a string: write 0)"}},
		"a number in a list of strings": {"references.count in ['0']", []string{
			"1:18: in does not accept (int, list(string)) (write VALUE in LIST, such as object.status.phase in ['Succeeded', 'Failed'])"}},
		"a number alone": {"references.count", []string{
			"1:1: returns int, but eligible must return bool (write a condition, such as finished(object) or object.status.phase == 'Succeeded')"}},
		"as a number":                    {"references == 0", []string{"1:1: " + whole}},
		"size()":                         {"size(references) == 0", []string{"1:6: " + whole}},
		"as a condition":                 {"!references", []string{"1:2: " + whole}},
		"as a map":                       {"references['count'] == 0", []string{"1:1: " + whole}},
		"as an optional map":             {"references[?'total'].orValue(0) == 0", []string{"1:1: " + whole}},
		"bound to another name":          {"cel.bind(r, references, r.total == 0)", []string{"1:13: " + whole}},
		"with dyn()":                     {"dyn(references).?total.orValue(0) == 0", []string{"1:5: " + whole}},
		"an unknown field":               {"references.total == 0", []string{`1:11: unknown field "total"` + has}},
		"a misspelt field":               {"references.cuont == 0", []string{`1:11: unknown field "cuont" (did you mean references.count?)`}},
		"a misspelt variable":            {"reference.count == 0", []string{`1:1: unknown name "reference" (did you mean references?)`}},
		"a field of a list":              {"references.by.kind == 'Pod'", []string{"1:14: list(referrer) has no fields (use a loop to test all elements, such as references.by.exists(e, e.kind == 'x'))"}},
		"a list equal to a string":       {"references.by == 'Pod'", []string{"1:15: == does not accept (list(referrer), string)" + types}},
		"a referrer equal to a string":   {"references.by.all(r, r == 'Pod')", []string{"1:24: == does not accept (referrer, string)" + types}},
		"a misspelt field of a referrer": {"references.by.all(r, r.Kind == 'Pod')", []string{`1:23: unknown field "Kind" (did you mean r.kind?)`}},
		"a misspelt field of an element": {"references.by[0].nam == 'a'", []string{`1:17: unknown field "nam" (did you mean name?)`}},
		"an unknown field of a referrer": {"references.by.all(r, r.apiVersion == 'v1')", []string{`1:23: unknown field "apiVersion"` + has}},
		"has() of a field of a referrer": {"references.by.all(r, has(r.namespace))", []string{
			"1:26: each element of references.by has the field namespace (use it without ? and has(); it is '' for objects without a namespace)"}},
		"an optional field of a referrer":         {"references.by.all(r, r.?kind.orValue('') == '')", []string{"1:22: each element of references.by has the field kind (use it without ? and has())"}},
		"has() of an unknown field of a referrer": {"references.by.all(r, has(r.Kind))", []string{`1:22: unknown field "Kind" (did you mean r.kind?)`}},
	}
	c := fixture.Compiler(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for field, path := range map[string]string{"eligible": "spec.rules[0].eligible:", "variable": "spec.variables[1].expression:"} {
				r, variables := aboutConfigMaps(test.eligible), []v1alpha1.Variable{{Name: "node", Expression: "node.name"}}
				if field == "variable" {
					if name == "a number alone" {
						continue // a variable may be a number
					}
					r.Eligible, variables = "variables.it", append(variables, v1alpha1.Variable{Name: "it", Expression: test.eligible})
				}
				_, problems := c.Rule(r, variables, "spec.rules[0]")
				var want []string
				for _, text := range test.want {
					want = append(want, path+text)
				}
				expect.Equal(t, field, want, policy.Lines(problems))
			}
		})
	}
}

// TestInvalidReferencesInVariables: the results of variables have types too.
func TestInvalidReferencesInVariables(t *testing.T) {
	variables := []v1alpha1.Variable{
		{Name: "uses", Expression: "references.count"}, {Name: "first", Expression: "references.by[0]"}, {Name: "names", Expression: "['a'].map(references, references != '')"},
	}
	for eligible, want := range map[string]string{
		"variables.uses == 0": "",
		"variables.uses == 0 || variables.first.kind == 'Pod'": "",
		"variables.uses != '0'":                                "spec.rules[0].eligible:1:16: != does not accept (int, string) (the other operand is not a string: write 0)",
		"variables.first.Kind == 'Pod'":                        `spec.rules[0].eligible:1:16: unknown field "Kind" (did you mean variables.first.kind?)`,
	} {
		_, problems := fixture.Compiler(t).Rule(aboutConfigMaps(eligible), variables, "spec.rules[0]")
		expect.Equal(t, eligible, want, strings.Join(policy.Lines(problems), "\n"))
	}
}

// TestReferencesOfNearlyTheTarget: for a target that is nearly ConfigMap or Secret, the hint shows the right target.
func TestReferencesOfNearlyTheTarget(t *testing.T) {
	for target, kind := range map[v1alpha1.Target]string{
		{APIVersion: "core/v1", Kind: "ConfigMap"}: "ConfigMap",
		{APIVersion: "v1", Kind: "Configmap"}:      "ConfigMap",
		{APIVersion: "v1", Kind: "configmaps"}:     "ConfigMap",
		{APIVersion: "core/v1", Kind: "secrets"}:   "Secret",
		{APIVersion: "v2", Kind: "Secret"}:         "Secret",
	} {
		r := aboutConfigMaps("references.count == 0")
		r.Target = target
		_, problems := fixture.Compiler(t).Rule(r, nil, "spec.rules[0]")
		want := "spec.rules[0].eligible:1:1: references is available only in rules about objects that others refer to by name, not about " +
			target.APIVersion + " " + target.Kind + " (write target: {apiVersion: v1, kind: " + kind + "})"
		if len(problems) != 1 || problems[0].String() != want {
			t.Errorf("got %v, want %s", problems, want)
		}
	}
}
