// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestVariableMeansTheSameEverywhere: the names in an expression, and those that cel-go uses, hide nothing of a variable.
func TestVariableMeansTheSameEverywhere(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"value": "a", "list": []any{"a", "b"}, "empty": []any{}}}
	for _, name := range []string{"result", "results", "built", "input", "v_result", "__result__"} {
		for text, want := range map[string]bool{
			"variables.V != '' && object.spec.list.all(k, k != variables.V)":                    false,
			"variables.V != '' && object.spec.list.exists(k, k == variables.V)":                 true,
			"variables.V != '' && object.spec.list.exists_one(k, k == variables.V)":             true,
			"variables.V != '' && object.spec.list.filter(k, k != variables.V) == ['b']":        true,
			"variables.V != '' && object.spec.list.map(k, k + variables.V) == ['aa', 'ba']":     true,
			"[1, 2].map(i, variables.V == 'a', variables.V) == ['a', 'a']":                      true,
			"variables.V == 'a' && object.spec.list.sortBy(k, k + variables.V) == ['a', 'b']":   true,
			"variables.V == 'a' && object.spec.list.transformList(i, k, variables.V)[1] == 'a'": true,
		} {
			r := rule()
			r.Eligible = strings.ReplaceAll(text, "V", name)
			r.StartTime = "'2026-01-01T00:00:00Z'"
			program := mustCompile(t, fixture.Compiler(t), r, v1alpha1.Variable{Name: name, Expression: "object.spec.value"})
			facts := program.Facts(t.Context(), object)
			if facts.Err != nil || facts.Eligible != want {
				t.Errorf("%s: eligible %v, %v", r.Eligible, facts.Eligible, facts.Err)
			}
		}
	}
}

// TestVariableInBackticksIsPartOfTheKey: a program with another definition of the variable is another program, and the marks of one
// are not those of the other.
func TestVariableInBackticksIsPartOfTheKey(t *testing.T) {
	c, keys := fixture.Compiler(t), map[string]bool{}
	for i, text := range []string{"variables.`old`", "variables . `old`", "variables.old"} {
		for definition, eligible := range map[string]bool{"true": true, "object.metadata.name == 'x'": false} {
			r := rule()
			r.Eligible, r.StartTime = text, ""
			program := mustCompile(t, c, r, v1alpha1.Variable{Name: "old", Expression: definition})
			expect.Equal(t, text+" as "+definition, eligible, program.Facts(t.Context(), object(t, "job-complete")).Eligible)
			keys[program.Key()] = true
		}
		expect.Equal(t, "keys", 2*(i+1), len(keys))
	}
	long := strings.TrimSuffix(strings.Repeat("object.metadata.name == 'x' || ", 300), " || ")
	p := &policy.Policy{Variables: []v1alpha1.Variable{{Name: "old", Expression: long}}}
	r := rule()
	r.Eligible = "variables.`old`"
	p.Rules = []*policy.Rule{{Spec: r}}
	if n := c.Size(p); n < 2*len(long) {
		t.Errorf("size %d, want at least %d: the variable counts where it is used", n, 2*len(long))
	}
}

// TestLoopVariableHidesNoType: in the expanded expression, the name of the loop variable would be that of the type.
func TestLoopVariableHidesNoType(t *testing.T) {
	for text, want := range map[string]string{
		"object.spec.list.all(map, map != '' && !variables.pinned)":                                         "a loop variable cannot have the name map if the expression uses variables.pinned, which reads the type map",
		"cel.bind(map, object.spec.list, variables.pinned && size(map) > 0)":                                "a loop variable cannot have the name map",
		"object.spec.list.all(google, google != '' && variables.time)":                                      "which reads the type google.protobuf.Timestamp",
		"object.spec.list.all(map, map != '') && object.kind == 'Job'":                                      "",
		"object.spec.list.all(k, k != '' && variables.pinned)":                                              "",
		"object.spec.list.all(i, i != '' && variables.loops)":                                               "",
		"object.spec.list.all(m, type(m) == map || variables.pinned)":                                       "",
		"object.spec.list.all(list, list != '' && variables.pinned) && type(object.spec.list) == type([1])": "",
	} {
		r := rule()
		r.Eligible = text
		_, problems := fixture.Compiler(t).Rule(r, []v1alpha1.Variable{
			{Name: "pinned", Expression: "type(object.spec.keep) == map"},
			{Name: "loops", Expression: "object.spec.list.exists(i, i == 'x')"},
			{Name: "time", Expression: "type(object.spec.at) == google.protobuf.Timestamp"},
		}, "spec.rules[0]")
		got := fmt.Sprint(problems)
		if (want == "") != (len(problems) == 0) || !strings.Contains(got, want) {
			t.Errorf("%s: problems %s, want %q", text, got, want)
		}
	}
}

// TestVariableNeverHidesTheBudget: any name is harmless.
func TestVariableNeverHidesTheBudget(t *testing.T) {
	for _, name := range []string{"built", "result", "results"} {
		r := rule()
		r.Eligible = strings.ReplaceAll("variables.V != '' && cel.bind(a, lists.range(10000).map(i, '0123456789').join(), "+
			"lists.range(10000).map(i, variables.V + a + a + a + a + 'x').size() > 0) && variables.V != 'y'", "V", name)
		mustRefuse(t, patientCompiler(t), mustCompile(t, patientCompiler(t), r, v1alpha1.Variable{Name: name, Expression: "object.metadata.name"}), object(t, "job-complete"), refused)
	}
}

// TestHintNamesOnlyOwnVariables: two policies have the same text with a mistake.
func TestHintNamesOnlyOwnVariables(t *testing.T) {
	c := fixture.Compiler(t)
	r := rule()
	r.Eligible = "team == 'x'"
	for _, name := range []string{"team", "other", "team"} {
		_, problems := c.Rule(r, []v1alpha1.Variable{{Name: name, Expression: "object.metadata.name"}}, "spec.rules[0]")
		expect.Equal(t, "the hint names variables.team", name == "team", strings.Contains(fmt.Sprint(problems), "variables.team"))
	}
}

// TestResultOfFilterIsOneList: a list of lists would make each later access slow.
func TestResultOfFilterIsOneList(t *testing.T) {
	for _, text := range []string{
		"cel.bind(l, [1, 2, 3, 4].filter(i, i > 1), l)", "cel.bind(l, [1, 2, 3, 4].map(i, i > 1, i), l)", "cel.bind(l, [1, 2, 3, 4].transformList(i, x, i > 0, x), l)",
	} {
		e, ok := fixture.Compiler(t).Expression(text)
		expect.Equal(t, text+" compiles", true, ok)
		v, err := e.Value(nil)
		expect.NoError(t, err)
		if got := fmt.Sprintf("%T", v); strings.Contains(got, "concat") {
			t.Errorf("%s is a %s", text, got)
		}
	}
}

// TestReferrerIsDecodedWithComputedFieldsOfMetadata: annotations are fields of metadata like all others.
func TestReferrerIsDecodedWithComputedFieldsOfMetadata(t *testing.T) {
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Minute})
	for field, found := range map[string]int{"annotations": 1, "labels": 1, "finalizers": 0} {
		x := mustExtract(t, c, "['"+field+"'].map(k, dyn(object.metadata)[?k][?'example.com/config'].orValue(''))")
		object, err := engine.NewReferrerDecoder(x).Decode([]byte(`{"metadata": {"name": "a", "annotations": {"example.com/config": "cm1"}, "labels": {"example.com/config": "cm2"}}}`))
		expect.NoError(t, err)
		e := c.NewEvaluator(t.Context())
		references, err := e.References(x, object)
		e.Close()
		expect.NoError(t, err)
		expect.Equal(t, "references in "+field, found, len(references))
	}
}

// TestSizeOfSelectorsCounts: they are expressions like the others.
func TestSizeOfSelectorsCounts(t *testing.T) {
	long := "{'matchLabels': {'app': object.metadata.name + '" + strings.Repeat("x", 1000) + "'}}"
	if n := fixture.Compiler(t).Size(&policy.Policy{References: []*policy.Reference{{Selector: long}}}); n < len(long) {
		t.Errorf("size %d", n)
	}
}

// TestTimeInTheYearZeroIsAnError, as in CEL: some databases write it for an unset time.
func TestTimeInTheYearZeroIsAnError(t *testing.T) {
	for text, fails := range map[string]bool{"0000-12-31T23:59:59Z": true, "0001-01-01T00:00:01Z": false, "0001-01-01T00:00:00+01:00": true} {
		r := rule()
		r.Eligible, r.StartTime = "true", "object.spec.at"
		facts := factsOf(t, r, map[string]any{"spec": map[string]any{"at": text}})
		expect.Equal(t, text+" is an error", fails, facts.Err != nil)
	}
}

// TestMapInALiteralListIsAnAnswer, and not an error that || does not absorb.
func TestMapInALiteralListIsAnAnswer(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"map": map[string]any{"a": "dev"}, "list": []any{"dev"}, "text": "dev", "number": int64(1), "nothing": nil}}
	for text, want := range map[string]bool{
		"object.spec.map in ['dev'] || object.spec.text == 'dev'":  true,
		"object.spec.map in ['dev']":                               false,
		"object.spec.list in ['dev', 'test']":                      false,
		"object.spec.map in [{'a': 'dev'}]":                        true,
		"object.spec.list in [['x'], ['dev']]":                     true,
		"object.spec.text in ['dev']":                              true,
		"object.spec.number in [1.0, 2.0]":                         true,
		"object.spec.nothing in [dyn('dev'), dyn(null)]":           true,
		"'dev' in object.spec.list && 'a' in object.spec.map":      true,
		"object.spec.list.all(x, x in ['dev', 'test'])":            true,
		"[object.spec.map].exists(x, x in ['dev', 'test'])":        false,
		"object.spec.?none.orValue(object.spec.map) in ['a', 'b']": false,
	} {
		r := rule()
		r.Eligible, r.StartTime = text, "'2026-01-01T00:00:00Z'"
		facts := factsOf(t, r, object)
		if facts.Err != nil || facts.Eligible != want {
			t.Errorf("%s: eligible %v, %v", text, facts.Eligible, facts.Err)
		}
	}
}
