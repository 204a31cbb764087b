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

// slowBombs are within the budget of what an evaluation builds, and take minutes or more without a deadline.
var slowBombs = map[string]string{
	"loops in loops":            "object.spec.numbers.all(a, object.spec.numbers.all(b, a + b >= 0))",
	"loops that find nothing":   "object.spec.numbers.exists(a, object.spec.numbers.exists(b, a + b < 0))",
	"loops that collect":        "size(object.spec.numbers.map(a, object.spec.numbers.filter(b, a == b))) > 0",
	"loops over a range":        "lists.range(10000).all(a, lists.range(10000).all(b, a * b >= 0))",
	"loops over texts":          "object.spec.names.all(a, object.spec.names.all(b, a < b || b.startsWith('name')))",
	"loops with regexes":        "object.spec.names.all(a, object.spec.names.all(b, !a.matches('^(a+)+$') && b.size() > 0))",
	"loops with times":          "object.spec.numbers.all(a, object.spec.numbers.all(b, timestamp(a) <= timestamp(b) || true))",
	"loops with two variables":  "object.spec.names.all(i, a, object.spec.names.all(k, b, i >= 0 && k >= 0 && a != '' && b != ''))",
	"loops in variables of CEL": "cel.bind(f, object.spec.numbers, f.all(a, cel.bind(g, f, g.all(b, a + b >= 0))))",
	"errors that || goes past":  "object.spec.numbers.exists(a, object.spec.numbers.exists(b, a / (b - b) > 0))",
	"errors of &&":              "!object.spec.numbers.all(a, object.spec.numbers.all(b, object.none == b))",
	"maps in loops":             "object.spec.numbers.all(a, object.spec.names.all(n, {dyn(n): a, dyn('x'): a} == {dyn('x'): a, dyn(n): a}))",
}

// TestF30BombsEnd asks what would take for ever, or all memory, with the limits that there are outside of tests. It costs little of
// the processor, and the object is kept; whoever asked goes on as before.
func TestF30BombsEnd(t *testing.T) {
	// The longest call that nothing interrupts takes a third of a second, on this machine, without the race detector.
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

// cpuOf is what f takes of the processor: however busy the machine is, it is no more than that.
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

// TestF30ObjectsInObjects: what is nested deeper than anybody reads is an error, and so is what is deep and read.
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
