package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	tests := map[string]struct{ expression, want string }{
		"chained conditions are parts of one level": {"finished(object) && succeeded(object) && object.metadata.?labels[?'keep'].orValue('') != 'yes'", `
eligible = true
  finished(object) = true (1:1)
  succeeded(object) = true (1:21)
  object.metadata.?labels[?'keep'].orValue('') != 'yes' = true (1:42)
    object.metadata.?labels[?'keep'].orValue('') = "" (1:42)
`},
		"parts after the decisive part are not evaluated": {"failed(object) && (object.a == 1 || object.b == 2)", `
eligible = false
  failed(object) = false (1:1)
  object.a == 1 || object.b == 2 = not needed (1:20)
`},
		"variables are explained at their first use": {"variables.old && variables.done && size(object.status.conditions) < variables.most", `
eligible = true
  variables.old = true (1:1)
    variables.done && object.metadata.?labels[?'keep'].orValue('') != 'yes' = true (old 1:1)
      variables.done = true (old 1:1)
        finished(object) = true (done 1:1)
      object.metadata.?labels[?'keep'].orValue('') != 'yes' = true (old 2:3)
        object.metadata.?labels[?'keep'].orValue('') = "" (old 2:3)
  variables.done = true (1:18)
  size(object.status.conditions) < variables.most = true (1:36)
    size(object.status.conditions) = 2 (1:36)
      object.status.conditions = [2 elements] (1:41)
    variables.most = 7 (1:69)
`},
		"a variable alone is its expression": {"variables.done", `
eligible = true
  finished(object) = true (done 1:1)
`},
		"a function alone has no parts": {"finished(object)", `
eligible = true
`},
		"an error appears at its origin and above": {"object.metadata.name == 'report' && object.spec.nothing > 1", `
eligible = error: eligible: no such key: nothing; if the field can be absent, use .?field or has()
  object.metadata.name == 'report' = true (1:1)
    object.metadata.name = "report" (1:1)
  object.spec.nothing > 1 = error: no such key: nothing; if the field can be absent, use .?field or has() (1:37)
    object.spec.nothing = error: no such key: nothing; if the field can be absent, use .?field or has() (1:37)
`},
		"nothing is evaluated after an error": {"object.a + object.b == object.c", `
eligible = error: eligible: no such key: a; if the field can be absent, use .?field or has()
  object.a + object.b = error: no such key: a; if the field can be absent, use .?field or has() (1:1)
    object.a = error: no such key: a; if the field can be absent, use .?field or has() (1:1)
    object.b = not needed (1:12)
  object.c = not needed (1:24)
`},
		"another condition can replace one that fails": {"object.a == 1 || finished(object)", `
eligible = true
  object.a == 1 = error: no such key: a; if the field can be absent, use .?field or has() (1:1)
    object.a = error: no such key: a; if the field can be absent, use .?field or has() (1:1)
  finished(object) = true (1:18)
`},
		"one branch of a choice": {"(failed(object) ? object.spec.parallelism : object.spec.completions) == 1", `
eligible = true
  failed(object) ? object.spec.parallelism : object.spec.completions = 1 (1:2)
    failed(object) = false (1:2)
    object.spec.parallelism = not needed (1:19)
    object.spec.completions = 1 (1:45)
`},
		"a loop is one value": {"object.status.conditions.exists(c, c.type == 'Complete') && object.status.conditions.map(c, c.type)[0] == 'x'", `
eligible = false
  object.status.conditions.exists(c, c.type == 'Complete') = true (1:1)
    object.status.conditions = [2 elements] (1:1)
  object.status.conditions.map(c, c.type)[0] == 'x' = false (1:61)
    object.status.conditions.map(c, c.type)[0] = "SuccessCriteriaMet" (1:61)
      object.status.conditions.map(c, c.type) = ["SuccessCriteriaMet", "Complete"] (1:61)
        object.status.conditions = [2 elements] (1:61)
`},
		"a bound value, and the expression that uses it": {"cel.bind(m, object.metadata, m.name == 'report' && m.labels.app == m.name)", `
eligible = true
  object.metadata = {7 fields} (1:13)
  m.name == 'report' && m.labels.app == m.name = true (1:30)
    m.name == 'report' = true (1:30)
      m.name = "report" (1:30)
    m.labels.app == m.name = true (1:52)
      m.labels.app = "report" (1:52)
      m.name = "report" (1:68)
`},
		"a binding that hides another": {"cel.bind(a, object.spec.completions, cel.bind(a, a + 1, a + 1) + (a + 10) == 14)", `
eligible = true
  object.spec.completions = 1 (1:13)
  cel.bind(a, a + 1, a + 1) + (a + 10) == 14 = true (1:38)
    cel.bind(a, a + 1, a + 1) + (a + 10) = 14 (1:38)
      cel.bind(a, a + 1, a + 1) = 3 (1:38)
        a + 1 = 2 (1:50)
        a + 1 = 3 (1:57)
      a + 10 = 11 (1:67)
`},
		"a default is evaluated only for none": {"object.?kind.orValue(object.a) == object.?a.orValue(object.kind) && !has(object.a.b)", `
eligible = error: eligible: no such key: a; if the field can be absent, use .?field or has()
  object.?kind.orValue(object.a) == object.?a.orValue(object.kind) = true (1:1)
    object.?kind.orValue(object.a) = "Job" (1:1)
      object.a = not needed (1:22)
    object.?a.orValue(object.kind) = "Job" (1:35)
      object.kind = "Job" (1:53)
  !has(object.a.b) = error: no such key: a; if the field can be absent, use .?field or has() (1:69)
`},
		"macros are shown as written": {"object.?spec.optMap(s, s.completions).orValue(0) == math.greatest(object.spec.completions, 0) && object.kind in ['x', 'Job']", `
eligible = true
  object.?spec.optMap(s, s.completions).orValue(0) == math.greatest(object.spec.completions, 0) = true (1:1)
    object.?spec.optMap(s, s.completions).orValue(0) = 1 (1:1)
      object.?spec.optMap(s, s.completions) = 1 (1:1)
        object.?spec = {3 fields} (1:1)
    math.greatest(object.spec.completions, 0) = 1 (1:53)
      object.spec.completions = 1 (1:67)
  object.kind in ['x', 'Job'] = true (1:98)
    object.kind = "Job" (1:98)
`},
		"times": {"timestamp(object.metadata.creationTimestamp) + days(1) > timestamp(object.status.completionTime)", `
eligible = true
  timestamp(object.metadata.creationTimestamp) + days(1) = 2026-03-02T12:00:00Z (1:1)
    timestamp(object.metadata.creationTimestamp) = 2026-03-01T12:00:00Z (1:1)
  timestamp(object.status.completionTime) = 2026-03-01T12:10:00Z (1:58)
`},
		"parts of different types": {"controllerOf(object).?kind.orValue('') == '' && object.metadata.labels == {} || !(finished(object) && false)", `
eligible = true
  controllerOf(object).?kind.orValue('') == '' && object.metadata.labels == {} = false (1:1)
    controllerOf(object).?kind.orValue('') == '' = true (1:1)
      controllerOf(object).?kind.orValue('') = "" (1:1)
        controllerOf(object) = none (1:1)
    object.metadata.labels == {} = false (1:49)
      object.metadata.labels = {"app": "report", "team": "data"} (1:49)
  !(finished(object) && false) = true (1:81)
    finished(object) = true (1:83)
`},
	}
	c := fixture.Compiler(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			r.Eligible = tc.expression
			explanations := mustCompile(t, c, r, variables...).Explain(t.Context(), object(t, "job-complete"))
			expect.Equal(t, "explanation", strings.TrimPrefix(tc.want, "\n"), told(explanations[0]))
		})
	}
}

func TestExplainRule(t *testing.T) {
	tests := map[string]struct {
		object string
		change func(r *v1alpha1.Rule, o map[string]any)
		want   string
	}{
		"all expressions": {"job-failed", func(r *v1alpha1.Rule, o map[string]any) { r.TTLExpression = "failed(object) ? days(7) : days(1)" }, `
eligible = true
startTime = 2026-03-01T12:20:00Z
ttlExpression = 7d
  failed(object) = true (1:1)
`},
		"not eligible": {"job-running", func(r *v1alpha1.Rule, o map[string]any) { r.TTLExpression = "failed(object) ? days(7) : days(1)" }, `
eligible = false
startTime = not needed
ttlExpression = not needed
`},
		"startTime and ttlExpression return none": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.StartTime, r.TTLExpression = "object.?status.?nothing", "failed(object) ? optional.of(days(1)) : optional.none()"
		}, `
eligible = true
startTime = none
ttlExpression = none
  failed(object) = false (1:1)
`},
		"a result of the wrong type": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) { r.StartTime = "object.metadata.name" }, `
eligible = true
startTime = error: startTime: "report" is not a time in RFC 3339, such as 2026-03-01T12:00:00Z
`},
		"a group": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.KeepNewest = &v1alpha1.KeepNewest{Count: 2, GroupBy: "object.metadata.?labels[?'app'].orValue('') + object.kind"}
		}, `
eligible = true
startTime = 2026-03-01T12:10:00Z
keepNewest.groupBy = "reportJob"
  object.metadata.?labels[?'app'].orValue('') = "report" (1:1)
  object.kind = "Job" (1:47)
`},
		"an outcome": {"job-failed", func(r *v1alpha1.Rule, o map[string]any) { r.Outcome = "succeeded(object) ? 'Succeeded' : 'Failed'" }, `
eligible = true
startTime = 2026-03-01T12:20:00Z
outcome = "Failed"
  succeeded(object) = false (1:1)
`},
		"an outcome that is not needed": {"job-running", func(r *v1alpha1.Rule, o map[string]any) { r.Outcome = "object.metadata.name" }, `
eligible = false
startTime = not needed
outcome = not needed
`},
		"an outcome that is too long": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.Outcome = "object.metadata.name + '-------------------------------------------------------------'"
		}, `
eligible = true
startTime = 2026-03-01T12:10:00Z
outcome = error: outcome: returned a string of 67 characters; the limit is 63
  object.metadata.name = "report" (1:1)
`},
		"a mark instead of a start": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.StartTime = ""
		}, `
eligible = true
`},
		"an invalid TTL annotation": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.TTLExpression = "days(1)"
			o["metadata"].(map[string]any)["annotations"] = map[string]any{v1alpha1.TTLAnnotation: "soon"}
		}, `
eligible = true
startTime = 2026-03-01T12:10:00Z
annotation sunset.x-k8s.io/ttl = error: annotation sunset.x-k8s.io/ttl: "soon" is not a duration; write a number and a unit such as 30m, 7d or 1d12h
ttlExpression = not needed
`},
		"not selected": {"job-complete", func(r *v1alpha1.Rule, o map[string]any) {
			r.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}
		}, "\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, o := rule(), object(t, tc.object)
			tc.change(&r, o)
			compiled, got := mustCompile(t, fixture.Compiler(t), r), "\n"
			explanations := compiled.Explain(t.Context(), o)
			for _, e := range explanations {
				got += told(e)
			}
			expect.Equal(t, "explanation", tc.want, got)
			agrees(t, r, compiled.Facts(t.Context(), o), explanations)
		})
	}
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
			explanations := compiled.Explain(t.Context(), object)
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
		explanations := compiled.Explain(t.Context(), object)
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

func TestExplainHonoursTheDeadline(t *testing.T) {
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Millisecond})
	r := rule()
	r.StartTime = slowExpression + " ? finishedAt(object) : optional.none()"
	slow, compiled := slowObject(t), mustCompile(t, c, r)
	start := compiled.Explain(t.Context(), slow)[1]
	for end := time.Now().Add(time.Minute); !errors.Is(start.Err, engine.ErrDeadline) && time.Now().Before(end); {
		start = compiled.Explain(t.Context(), slow)[1] // on a busy machine the steps may end before the timer fires
	}
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
	eligible := mustCompile(t, fixture.Compiler(t), r).Explain(ctx, slowObject(t))[0]
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
	explanations := mustCompile(t, fixture.Compiler(t), r).Explain(t.Context(), bad)
	if got := told(explanations[0]); !strings.Contains(got, "[1].exists(x, object.bomb == x) = error: internal error: boom") {
		t.Error(got)
	}
}

// TestExplainIsBounded: the largest possible expressions are explained within seconds.
func TestExplainIsBounded(t *testing.T) {
	wide := strings.Repeat("object.a == 1 || ", 500) + "true"
	deep := strings.Repeat("(object.a + ", 45) + "1" + strings.Repeat(" - object.b)", 45) + " == 1"
	for _, text := range []string{wide, deep} {
		r := rule()
		r.Eligible = text
		started := time.Now()
		mustCompile(t, fixture.Compiler(t), r).Explain(t.Context(), map[string]any{"a": int64(2), "b": int64(1)})
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("%d characters took %s", len(text), took)
		}
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
			for _, e := range rule.ExplainIn(t.Context(), engine.Surroundings{References: test.references}, configMap) {
				got = append(got, told(e))
			}
			expect.Equal(t, "explanation", test.want, got)
		})
	}
}
