// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/engine/explain"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// told formats an explanation as people may see it.
func told(e engine.Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = %s\n", e.Field, outcome(e.Value, e.Err, e.Skipped))
	for _, p := range e.Parts {
		var err error
		if p.Err != "" {
			err = errors.New(p.Err)
		}
		at := fmt.Sprintf("%d:%d", p.Line, p.Column)
		if p.Variable != "" {
			at = p.Variable + " " + at
		}
		fmt.Fprintf(&b, "%s%s = %s (%s)\n", strings.Repeat("  ", p.Depth+1), p.Text, outcome(p.Value, err, p.Skipped), at)
	}
	return b.String()
}

func outcome(value string, err error, skipped bool) string {
	switch {
	case skipped:
		return "not needed"
	case err != nil:
		return "error: " + err.Error()
	default:
		return value
	}
}

func TestExplainParts(t *testing.T) {
	variables := []v1alpha1.Variable{
		{Name: "done", Expression: "finished(object)"},
		{Name: "old", Expression: "variables.done &&\n  object.metadata.?labels[?'keep'].orValue('') != 'yes'"},
		{Name: "most", Expression: "7"},
	}
	tests := map[string]string{
		"chained conditions are parts of one level":       "finished(object) && succeeded(object) && object.metadata.?labels[?'keep'].orValue('') != 'yes'",
		"parts after the decisive part are not evaluated": "failed(object) && (object.a == 1 || object.b == 2)",
		"variables are explained at their first use":      "variables.old && variables.done && size(object.status.conditions) < variables.most",
		"a variable alone is its expression":              "variables.done",
		"a function alone has no parts":                   "finished(object)",
		"an error appears at its origin and above":        "object.metadata.name == 'report' && object.spec.nothing > 1",
		"nothing is evaluated after an error":             "object.a + object.b == object.c",
		"another condition can replace one that fails":    "object.a == 1 || finished(object)",
		"one branch of a choice":                          "(failed(object) ? object.spec.parallelism : object.spec.completions) == 1",
		"a loop is one value":                             "object.status.conditions.exists(c, c.type == 'Complete') && object.status.conditions.map(c, c.type)[0] == 'x'",
		"a bound value, and the expression that uses it":  "cel.bind(m, object.metadata, m.name == 'report' && m.labels.app == m.name)",
		"a binding that hides another":                    "cel.bind(a, object.spec.completions, cel.bind(a, a + 1, a + 1) + (a + 10) == 14)",
		"a default is evaluated only for none":            "object.?kind.orValue(object.a) == object.?a.orValue(object.kind) && !has(object.a.b)",
		"macros are shown as written":                     "object.?spec.optMap(s, s.completions).orValue(0) == math.greatest(object.spec.completions, 0) && object.kind in ['x', 'Job']",
		"times":                                           "timestamp(object.metadata.creationTimestamp) + days(1) > timestamp(object.status.completionTime)",
		"parts of different types":                        "controllerOf(object).?kind.orValue('') == '' && object.metadata.labels == {} || !(finished(object) && false)",
	}
	c := fixture.Compiler(t)
	got := ""
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		r := rule()
		r.Eligible = tests[name]
		explanations := mustCompile(t, c, r, variables...).Explain(t.Context(), engine.Surroundings{}, object(t, "job-complete"))
		got += "# " + name + "\n" + told(explanations[0]) + "\n"
	}
	expect.Golden(t, "testdata/explain-parts.txt", got, *update)
}

func TestExplainRule(t *testing.T) {
	tests := map[string]struct {
		object string
		change func(r *v1alpha1.Rule, o map[string]any)
	}{
		"all expressions": {"job-failed", func(r *v1alpha1.Rule, o map[string]any) { r.TTLExpression = "failed(object) ? days(7) : days(1)" }},
		"not eligible":    {"job-running", func(r *v1alpha1.Rule, o map[string]any) { r.TTLExpression = "failed(object) ? days(7) : days(1)" }},
		"startTime and ttlExpression return none": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.StartTime, r.TTLExpression = "object.?status.?nothing", "failed(object) ? optional.of(days(1)) : optional.none()"
		}},
		"a result of the wrong type": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) { r.StartTime = "object.metadata.name" }},
		"a group": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.KeepNewest = &v1alpha1.KeepNewest{Count: 2, GroupBy: "object.metadata.?labels[?'app'].orValue('') + object.kind"}
		}},
		"an outcome":                    {"job-failed", func(r *v1alpha1.Rule, o map[string]any) { r.Outcome = "succeeded(object) ? 'Succeeded' : 'Failed'" }},
		"an outcome that is not needed": {"job-running", func(r *v1alpha1.Rule, o map[string]any) { r.Outcome = "object.metadata.name" }},
		"an outcome that is too long": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.Outcome = "object.metadata.name + '-------------------------------------------------------------'"
		}},
		"a mark instead of a start": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.StartTime = ""
		}},
		"an invalid TTL annotation": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.TTLExpression = "days(1)"
			o["metadata"].(map[string]any)["annotations"] = map[string]any{v1alpha1.TTLAnnotation: "soon"}
		}},
		"not selected": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) { selecting("web")(r) }},
	}
	got := ""
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		r, o := rule(), object(t, tests[name].object)
		tests[name].change(&r, o)
		compiled := mustCompile(t, fixture.Compiler(t), r)
		explanations := compiled.Explain(t.Context(), engine.Surroundings{}, o)
		got += "# " + name + "\n"
		for _, e := range explanations {
			got += told(e)
		}
		got += "\n"
		agrees(t, r, compiled.Facts(t.Context(), o), explanations)
	}
	expect.Golden(t, "testdata/explain-rule.txt", got, *update)
}

// agrees fails if the explanations do not match the facts.
func agrees(t *testing.T, r v1alpha1.Rule, facts policy.Facts, explanations []engine.Explanation) {
	t.Helper()
	from := policy.Facts{Selected: len(explanations) > 0}
	for _, e := range explanations {
		if (e.Value != "") == (e.Err != nil || e.Skipped) {
			t.Errorf("neither a value nor a reason why there is none: %+v", e)
		}
		switch {
		case e.Err != nil:
			from = policy.Facts{Selected: true, Err: e.Err}
		case e.Field == "eligible":
			from.Eligible = e.Value == "true"
		case e.Field == "startTime" && !e.Skipped && e.Value != "none":
			from.Start, _ = time.Parse(time.RFC3339Nano, e.Value)
		case e.Value == "none" && e.Field == "ttlExpression":
			from.TTL = policy.NeverTTL
		case e.Field == "ttlExpression" && !e.Skipped:
			from.TTL, _ = policy.ParseTTL(e.Value)
		case e.Field == "keepNewest.groupBy" && !e.Skipped:
			from.Group, _ = strconv.Unquote(e.Value)
		case e.Field == "outcome" && !e.Skipped:
			from.Outcome, _ = strconv.Unquote(e.Value)
		}
	}
	if fmt.Sprint(from) != fmt.Sprint(facts) {
		t.Errorf("%+v\nreturns the facts %v\nexplained as %+v", r, facts, explanations)
	}
}

// TestExplainAgreesWithFacts: the explanation of any rule on any object agrees with its facts, the text of a part has
// the same result outside of its expression, and parts that were not needed have no effect.
func TestExplainAgreesWithFacts(t *testing.T) {
	c := fixture.Compiler(t)
	random := &random{Rand: rand.New(rand.NewPCG(3, 11))}
	explained, parts, skipped := 0, 0, 0
	for range 1000 {
		text := random.expression(3)
		if random.IntN(2) == 0 {
			text = fmt.Sprintf("dyn(%s) == %s", text, random.expression(1))
		}
		object := random.object(3)
		for _, r := range placesOf(text) {
			compiled, problems := c.Rule(r, nil, "spec.rules[0]")
			if len(problems) > 0 {
				continue
			}
			explained++
			explanations := compiled.Explain(t.Context(), engine.Surroundings{}, object)
			agrees(t, r, compiled.Facts(t.Context(), object), explanations)
			for _, e := range explanations {
				for _, p := range e.Parts {
					parts++
					checkPart(t, c, p, object)
					if p.Skipped && isUnneeded(t, c, e, p, object) {
						skipped++
					}
				}
			}
		}
	}
	t.Logf("%d rules, %d parts, %d of them not needed", explained, parts, skipped)
	if explained < 300 || parts < 1000 || skipped < 50 {
		t.Error("too few")
	}
}

// TestExplainVariables: the value of a variable in an explanation is the result of its expression.
func TestExplainVariables(t *testing.T) {
	c := fixture.Compiler(t)
	random := &random{Rand: rand.New(rand.NewPCG(5, 7))}
	seen := 0
	for range 300 {
		definition := random.expression(2)
		alone, ok := c.Expression(definition)
		if !ok {
			continue
		}
		r := rule()
		r.Eligible = "dyn(object) != dyn([1].map(i, variables.v)) || dyn(variables.v) == variables.v"
		compiled, problems := c.Rule(r, []v1alpha1.Variable{{Name: "v", Expression: definition}}, "spec.rules[0]")
		if len(problems) > 0 {
			continue
		}
		object := random.object(3)
		explanations := compiled.Explain(t.Context(), engine.Surroundings{}, object)
		agrees(t, r, compiled.Facts(t.Context(), object), explanations)
		for _, p := range explanations[0].Parts {
			if p.Text != "variables.v" || p.Skipped {
				continue
			}
			seen++
			v, err := alone.Value(object)
			if (err != nil) != (p.Err != "") || err == nil && explain.Display(v) != p.Value {
				t.Errorf("%s returns %v, %v\nbut is explained as %+v", definition, v, err, p)
			}
		}
	}
	if seen < 30 {
		t.Errorf("saw %d", seen)
	}
}

// checkPart evaluates a part separately, unless it depends on a local variable.
func checkPart(t *testing.T, c *engine.Compiler, p engine.Part, object map[string]any) {
	t.Helper()
	if values := btoi(p.Value != "") + btoi(p.Err != "") + btoi(p.Skipped); values != 1 {
		t.Errorf("not one of value, error and skipped: %+v", p)
	}
	alone, ok := c.Expression(p.Text)
	if !ok || p.Skipped {
		return
	}
	v, err := alone.Value(object)
	if (err != nil) != (p.Err != "") || err == nil && explain.Display(v) != p.Value {
		t.Errorf("%+v\nseparately returns %v, %v", p, v, err)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isUnneeded replaces a part that was not needed with an error, and fails if that changes the result of the expression.
// It returns false if the replacement is impossible.
func isUnneeded(t *testing.T, c *engine.Compiler, e engine.Explanation, p engine.Part, object map[string]any) bool {
	t.Helper()
	whole, ok := c.Expression(e.Text)
	if !ok {
		t.Fatalf("%s does not compile", e.Text)
	}
	text := engine.Normalized(c, e.Text)
	without, ok := c.Expression(strings.Replace(text, p.Text, "dyn(1/0)", 1))
	if strings.Count(text, p.Text) != 1 || !ok {
		return false
	}
	v, err := whole.Value(object)
	v2, err2 := without.Value(object)
	if (err == nil) != (err2 == nil) || err == nil && explain.Display(v) != explain.Display(v2) {
		t.Errorf("%s\nreturns %v, %v\nbut without %s it returns %v, %v", text, v, err, p.Text, v2, err2)
	}
	return true
}

func TestExplainHonoursTheDeadline(t *testing.T) { synctest.Test(t, testExplainHonoursTheDeadline) }

func testExplainHonoursTheDeadline(t *testing.T) {
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Millisecond})
	r := rule()
	r.StartTime = slowExpression + " ? finishedAt(object) : optional.none()"
	start := mustCompile(t, c, r).Explain(t.Context(), engine.Surroundings{}, slowObject(t))[1]
	if !errors.Is(start.Err, engine.ErrDeadline) || start.Err.Error() != "startTime: took too long: more than 1ms" {
		t.Errorf("got %v", start.Err)
	}
	expect.Equal(t, "error of the slow part", "took too long: more than 1ms", start.Parts[0].Err)
	if got := start.Parts[1]; got.Text != "object.?list.orValue([])" || got.Value != "[30000 elements]" {
		t.Errorf("the list is explained as %+v", got)
	}
}

func TestExplainCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the user canceled it")
	cancel(stopped)
	r := rule()
	r.Eligible = slowExpression + " || finished(object)"
	eligible := mustCompile(t, fixture.Compiler(t), r).Explain(ctx, engine.Surroundings{}, slowObject(t))[0]
	for _, p := range eligible.Parts {
		if p.Err != stopped.Error() {
			t.Errorf("got %+v", p)
		}
	}
}

func TestExplainPanicIsAnError(t *testing.T) {
	r := rule()
	r.Eligible = "[1].exists(x, object.bomb == x) && finished(object)"
	bad := object(t, "job-complete")
	bad["bomb"] = bomb{}
	explanations := mustCompile(t, fixture.Compiler(t), r).Explain(t.Context(), engine.Surroundings{}, bad)
	if got := told(explanations[0]); !strings.Contains(got, "[1].exists(x, object.bomb == x) = error: internal error: boom") {
		t.Error(got)
	}
}

func TestExplainWhatRefers(t *testing.T) {
	c, configMap := fixture.Compiler(t), object(t, "configmap")
	rule := mustCompile(t, c, aboutConfigMaps("references.count == 1"))
	for name, test := range map[string]struct {
		references *engine.References
		want       []string
	}{
		"references are known": {referredBy(web), []string{
			"eligible = true\n  references.count = 1 (1:1)\n", "startTime = 2026-03-01T12:00:00Z\n",
		}},
		"references are unknown": {&engine.References{Incomplete: errors.New("no permission to list Pods")}, []string{
			"eligible = error: references are unknown: no permission to list Pods\n", "startTime = not needed\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range rule.Explain(t.Context(), engine.Surroundings{References: test.references}, configMap) {
				got = append(got, told(e))
			}
			expect.Equal(t, "explanation", test.want, got)
		})
	}
}
