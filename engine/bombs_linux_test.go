// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"maps"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// slowBombs stay within the budget of an evaluation, but without a limit of steps or a deadline they take minutes or
// more.
var slowBombs = map[string]string{
	"loops in loops":            "object.spec.numbers.all(a, object.spec.numbers.all(b, a + b >= 0))",
	"loops without a match":     "object.spec.numbers.exists(a, object.spec.numbers.exists(b, a + b < 0))",
	"loops that collect":        "size(object.spec.numbers.map(a, object.spec.numbers.filter(b, a == b))) > 0",
	"loops over a range":        "lists.range(10000).all(a, lists.range(10000).all(b, a * b >= 0))",
	"loops over strings":        "object.spec.names.all(a, object.spec.names.all(b, a < b || b.startsWith('name')))",
	"loops with regexes":        "object.spec.names.all(a, object.spec.names.all(b, !a.matches('^(a+)+$') && b.size() > 0))",
	"loops with times":          "object.spec.numbers.all(a, object.spec.numbers.all(b, timestamp(a) <= timestamp(b) || true))",
	"loops with two variables":  "object.spec.names.all(i, a, object.spec.names.all(k, b, i >= 0 && k >= 0 && a != '' && b != ''))",
	"loops in variables of CEL": "cel.bind(f, object.spec.numbers, f.all(a, cel.bind(g, f, g.all(b, a + b >= 0))))",
	"errors that || ignores":    "object.spec.numbers.exists(a, object.spec.numbers.exists(b, a / (b - b) > 0))",
	"errors of &&":              "!object.spec.numbers.all(a, object.spec.numbers.all(b, object.none == b))",
	"maps in loops":             "object.spec.numbers.all(a, object.spec.names.all(n, {dyn(n): a, dyn('x'): a} == {dyn('x'): a, dyn(n): a}))",
}

// TestF30BombsEnd evaluates expressions that would never end or use all memory, with the default limits. Each takes
// little CPU time, the object is kept, and the Evaluator still works afterwards.
func TestF30BombsEnd(t *testing.T) {
	// On this machine, without the race detector, the longest call that nothing interrupts takes a third of a second.
	const most = 10 * time.Second
	large := largeObject(t)
	all := maps.Clone(attacks)
	maps.Copy(all, slowBombs)
	all["an object in objects, compared"] = strings.Replace("OBJECT == OBJECT && OBJECT in [OBJECT]", "OBJECT", "object.spec.maps", -1)
	c := fixture.Compiler(t)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	quick, slowest := mustCompile(t, c, rule()), time.Duration(0)
	for name, text := range all {
		r := rule()
		r.Eligible = text
		bomb := mustCompile(t, c, r)
		var facts policy.Facts
		took := cpuOf(func() { facts = e.Facts(bomb, large) })
		slowest = max(slowest, took)
		if took > most {
			t.Errorf("%s: %s of the processor", name, took)
		}
		if isBomb := facts.Err != nil; !isBomb && name != "an object in objects, compared" {
			t.Errorf("%s: %+v", name, facts)
		}
		verdict, permit := policy.Decide(policy.Subject{Name: "a"}, []policy.Evaluation{{Rule: enforcedRule, Facts: facts, Known: true}}, time.Now())
		if facts.Err != nil && (verdict.Action != policy.Keep || verdict.Reason != policy.EvaluationFailed || permit.Valid()) {
			t.Errorf("%s: %+v", name, verdict)
		}
		if after := e.Facts(quick, object(t, "job-complete")); after.Err != nil || !after.Eligible {
			t.Errorf("after %s: %+v", name, after)
		}
	}
	t.Logf("%d bombs, the slowest %s of the processor", len(all), slowest)
}

var enforcedRule = &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: "r"}, Mode: "Enforce"}

// cpuOf returns the CPU time that f takes. It does not depend on the load of the machine.
func cpuOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	f()
	return threadTime() - before
}

func threadTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestF30ObjectsInObjects: an object that is nested too deeply to decode is an error, and the evaluation of a deep
// object ends quickly.
func TestF30ObjectsInObjects(t *testing.T) {
	r := rule()
	r.Eligible, r.StartTime = "object.spec == object.spec", ""
	bomb := mustCompile(t, fixture.Compiler(t), r)
	for _, depth := range []int{1_000, 9_000, 100_000} {
		text := `{"metadata":{"name":"a"},"spec":` + strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) + "}"
		object, err := engine.NewDecoder(bomb).Decode([]byte(text))
		if (err != nil) != (depth > 10_000) {
			t.Errorf("%d deep: %v", depth, err)
		}
		if err == nil {
			took := cpuOf(func() { bomb.Facts(t.Context(), object) })
			if took > time.Second {
				t.Errorf("%d deep: %s", depth, took)
			}
		}
	}
}

// TestExplainIsBounded: the largest possible expressions are explained within seconds of the processor.
func TestExplainIsBounded(t *testing.T) {
	wide := strings.Repeat("object.a == 1 || ", 500) + "true"
	deep := strings.Repeat("(object.a + ", 45) + "1" + strings.Repeat(" - object.b)", 45) + " == 1"
	for _, text := range []string{wide, deep} {
		r := rule()
		r.Eligible = text
		took := cpuOf(func() {
			mustCompile(t, fixture.Compiler(t), r).Explain(t.Context(), engine.Surroundings{}, map[string]any{"a": int64(2), "b": int64(1)})
		})
		if took > 5*time.Second {
			t.Errorf("%d characters took %s", len(text), took)
		}
	}
}
