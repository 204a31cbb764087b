// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestFacts(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)
	eligible := policy.Facts{Selected: true, Eligible: true, Start: at}
	startTime := func(text string) func(*v1alpha1.Rule) {
		return func(r *v1alpha1.Rule) { r.StartTime = text }
	}
	ttl := func(text string) func(*v1alpha1.Rule) {
		return func(r *v1alpha1.Rule) { r.TTLExpression = text }
	}
	with := func(f policy.Facts, ttl time.Duration) policy.Facts {
		f.TTL = ttl
		return f
	}
	outcome := func(length int) func(*v1alpha1.Rule) {
		return func(r *v1alpha1.Rule) { r.Outcome = "dyn('" + strings.Repeat("x", length) + "')" }
	}
	group := func(length int) func(*v1alpha1.Rule) {
		return func(r *v1alpha1.Rule) {
			r.KeepNewest = &v1alpha1.KeepNewest{GroupBy: "dyn('" + strings.Repeat("x", length) + "')"}
		}
	}
	tests := map[string]struct {
		change func(*v1alpha1.Rule)
		want   policy.Facts
		err    string // the end of Facts.Err or all of it
	}{
		"a finished Job":                       {func(*v1alpha1.Rule) {}, eligible, ""},
		"a selector that matches":              {selecting("data"), eligible, ""},
		"a selector that does not":             {selecting("web"), policy.Facts{}, ""},
		"an empty selector selects everything": {func(r *v1alpha1.Rule) { r.Target.Selector = &metav1.LabelSelector{} }, eligible, ""},
		"not eligible: nothing else is evaluated": {func(r *v1alpha1.Rule) {
			r.Eligible, r.StartTime, r.TTLExpression = "false", "object.nothing", "object.nothing"
		}, policy.Facts{Selected: true}, ""},
		"not selected: nothing is evaluated": {func(r *v1alpha1.Rule) {
			selecting("web")(r)
			r.Eligible = "object.nothing"
		}, policy.Facts{}, ""},
		"eligible returns no bool": {func(r *v1alpha1.Rule) { r.Eligible = "object.kind" }, policy.Facts{}, "eligible: returned string, must return bool"},
		"eligible returns null":    {func(r *v1alpha1.Rule) { r.Eligible = "dyn(null)" }, policy.Facts{}, "eligible: returned null, must return bool"},
		"a missing field":          {func(r *v1alpha1.Rule) { r.Eligible = "object.status.nothing == 'x'" }, policy.Facts{}, "eligible: no such key: nothing; if the field can be absent, use .?field or has()"},
		"a time that is a string":  {func(r *v1alpha1.Rule) { r.Eligible = "object.metadata.creationTimestamp + days(1) > timestamp(0)" }, policy.Facts{}, "eligible: no such overload; times in objects are strings: convert them, such as timestamp(object.metadata.creationTimestamp)"},
		"a division by zero":       {func(r *v1alpha1.Rule) { r.Eligible = "1 / (object.status.succeeded - 1) == 1" }, policy.Facts{}, "eligible: division by zero"},
		"an outcome": {func(r *v1alpha1.Rule) { r.Outcome = "succeeded(object) ? 'Succeeded' : 'Failed'" },
			policy.Facts{Selected: true, Eligible: true, Start: at, Outcome: "Succeeded"}, ""},
		"an empty outcome":                    {func(r *v1alpha1.Rule) { r.Outcome = "''" }, eligible, ""},
		"an outcome that fails":               {func(r *v1alpha1.Rule) { r.Outcome = "object.metadata.labels['none']" }, policy.Facts{}, "outcome: no such key: none; if the field can be absent, use .?field or has()"},
		"an outcome that is not a string":     {func(r *v1alpha1.Rule) { r.Outcome = "object.status.succeeded" }, policy.Facts{}, "outcome: returned int, must return string"},
		"a group of the maximum length":       {group(1024), policy.Facts{Selected: true, Eligible: true, Start: at, Group: strings.Repeat("x", 1024)}, ""},
		"a group that is too long":            {group(1025), policy.Facts{}, "keepNewest.groupBy: returned a string of 1025 bytes; the limit is 1024"},
		"an outcome of the maximum length":    {outcome(63), policy.Facts{Selected: true, Eligible: true, Start: at, Outcome: strings.Repeat("x", 63)}, ""},
		"an outcome that is too long":         {outcome(64), policy.Facts{}, "outcome: returned a string of 64 characters; the limit is 63"},
		"an outcome of multi-byte characters": {func(r *v1alpha1.Rule) { r.Outcome = "dyn('" + strings.Repeat("é", 63) + "')" }, policy.Facts{Selected: true, Eligible: true, Start: at, Outcome: strings.Repeat("é", 63)}, ""},
		"not eligible: no outcome":            {func(r *v1alpha1.Rule) { r.Eligible, r.Outcome = "false", "object.nothing" }, policy.Facts{Selected: true}, ""},
		"startTime as timestamp":              {startTime("timestamp(object.status.completionTime)"), eligible, ""},
		"startTime as string":                 {startTime("object.status.completionTime"), eligible, ""},
		"startTime as optional":               {startTime("object.?status.?completionTime"), eligible, ""},
		"startTime none":                      {startTime("object.?status.?nothing"), policy.Facts{Selected: true, Eligible: true}, ""},
		"startTime empty":                     {startTime("''"), policy.Facts{}, `startTime: "" is not a time in RFC 3339, such as 2026-03-01T12:00:00Z`},
		"startTime after the year 9999":       {startTime("'9999-12-31T23:59:59-00:01'"), policy.Facts{}, `startTime: "9999-12-31T23:59:59-00:01" is not a time in RFC 3339, such as 2026-03-01T12:00:00Z`},
		"startTime invalid":                   {startTime("object.metadata.name"), policy.Facts{}, `startTime: "report" is not a time in RFC 3339, such as 2026-03-01T12:00:00Z`},
		"startTime null":                      {startTime("dyn(null)"), policy.Facts{}, "startTime: returned null, must return timestamp or optional(timestamp)"},
		"startTime optional of null":          {startTime("optional.of(dyn(null))"), policy.Facts{}, "startTime: returned null, must return timestamp or optional(timestamp)"},
		"startTime a number":                  {startTime("object.status.succeeded"), policy.Facts{}, "startTime: returned int, must return timestamp or optional(timestamp)"},
		"startTime an error":                  {startTime("timestamp(object.metadata.name)"), policy.Facts{}, `startTime: invalid RFC 3339 timestamp "report"`},
		"ttl as duration":                     {ttl("duration('90m')"), with(eligible, 90*time.Minute), ""},
		"ttl in days":                         {ttl("failed(object) ? days(7) : days(1)"), with(eligible, 24*time.Hour), ""},
		"ttl in half days":                    {ttl("days(0.5)"), with(eligible, 12*time.Hour), ""},
		"ttl zero":                            {ttl("duration('0s')"), eligible, ""},
		"ttl as string":                       {ttl("object.metadata.?annotations[?'ttl'].orValue('1d12h')"), with(eligible, 36*time.Hour), ""},
		"ttl as optional":                     {ttl("optional.of(days(2))"), with(eligible, 48*time.Hour), ""},
		"ttl none is never":                   {ttl("optional.none()"), with(eligible, policy.NeverTTL), ""},
		"ttl negative":                        {ttl("duration('-1ns')"), policy.Facts{}, "ttlExpression: returned -1ns, but a time to live cannot be negative"},
		"ttl invalid":                         {ttl("'soon'"), policy.Facts{}, `ttlExpression: "soon" is not a duration; write a number and a unit such as 30m, 7d or 1d12h`},
		"ttl empty":                           {ttl("''"), policy.Facts{}, "ttlExpression: empty; write a duration such as 30m, 7d or 0s"},
		"ttl null":                            {ttl("dyn(null)"), policy.Facts{}, "ttlExpression: returned null, must return duration or optional(duration)"},
		"ttl too long":                        {ttl("days(200000)"), policy.Facts{}, "ttlExpression: days(): 200000 days: the limit is 292 years"},
		"ttl not a number":                    {ttl("days(0.0/0.0)"), policy.Facts{}, "ttlExpression: days(): NaN days: the limit is 292 years"},
		"ttl of a dynamic string":             {ttl("days(dyn('7'))"), policy.Facts{}, "ttlExpression: no such overload: days(string)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			tc.change(&r)
			got := factsOf(t, r, object(t, "job-complete"))
			if tc.err != "" {
				tc.want = policy.Facts{Selected: true, Err: got.Err}
				if got.Err == nil || got.Err.Error() != tc.err {
					t.Errorf("got error %v, want %s", got.Err, tc.err)
				}
			} else {
				expect.NoError(t, got.Err)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	variables := []v1alpha1.Variable{
		{Name: "done", Expression: "finished(object)"},
		{Name: "at", Expression: "variables.done ? finishedAt(object) : optional.none()"},
		{Name: "names", Expression: "object.status.?conditions.orValue([]).map(c, c.type)"},
		{Name: "both", Expression: "variables.names + variables.names"},
		{Name: "four", Expression: "variables.both + variables.both"},
		{Name: "object", Expression: "object.metadata"},
	}
	tests := map[string]string{
		"used once":                           "variables.done",
		"used twice":                          "variables.done && variables.done",
		"through two others":                  "size(variables.four) == 4 * size(variables.names)",
		"one through another":                 "variables.at.hasValue() && variables.at == finishedAt(object)",
		"in a loop":                           "['Complete'].all(n, n in variables.names && n in variables.both)",
		"a name that a loop variable has too": "['Complete'].all(done, variables.done && done in variables.names && variables.done)",
		"a variable with the name object":     "variables.object.name == object.metadata.name && variables.object == object.metadata",
		"all variables, many times":           "size(variables.both) == 2 * size(variables.names) && variables.both == variables.names + variables.names",
		"not evaluated if not needed":         "true || variables.names[7] == '' || variables.names[8] == ''",
	}
	c := fixture.Compiler(t)
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			r.Eligible = text
			got := mustCompile(t, c, r, variables...).Facts(t.Context(), object(t, "job-complete"))
			if got.Err != nil || !got.Eligible {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// slowObject is an object on which "object.list.all(a, object.list.all(b, ...))" takes minutes.
func slowObject(t testing.TB) map[string]any {
	list := make([]any, 30000)
	for i := range list {
		list[i] = int64(i)
	}
	list[0] = slowInt{}
	slow := object(t, "job-complete")
	slow["list"] = list
	return slow
}

// slowInt is a number that takes two milliseconds to add to itself. In a bubble of synctest, a deadline of one millisecond always
// passes during the addition, also on a busy machine.
type slowInt struct{ types.Int }

func (s slowInt) Add(other ref.Val) ref.Val {
	if _, isSlow := other.(slowInt); isSlow {
		time.Sleep(2 * time.Millisecond)
		return s.Int
	}
	return s.Int.Add(other)
}

const slowExpression = "object.?list.orValue([]).all(a, object.list.all(b, a + b >= 0))"

// TestLoopIsBoundedBySteps: the result does not depend on time, so it is the same on every machine.
func TestLoopIsBoundedBySteps(t *testing.T) {
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Hour})
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	loop := func(turns int) policy.Facts {
		r := rule()
		r.Eligible = fmt.Sprintf("lists.range(%d).all(a, lists.range(100).all(b, a >= 0))", turns)
		return e.Facts(mustCompile(t, c, r), object(t, "job-complete"))
	}
	const most = 930 // iterations: each has 100 iterations of 5 nodes, and 5 nodes of its own
	if got := loop(most / 2); got.Err != nil || !got.Eligible {
		t.Errorf("half of the steps: %+v", got)
	}
	for range 3 {
		if got := loop(2 * most); got.Err == nil || errors.Is(got.Err, engine.ErrDeadline) || !strings.Contains(got.Err.Error(), "500000 steps") {
			t.Errorf("twice the steps: %+v", got)
		}
	}
	// The expressions of a rule share the limit.
	r := rule()
	r.Eligible = fmt.Sprintf("lists.range(%d).all(a, lists.range(100).all(b, a >= 0))", most*2/3)
	r.StartTime = r.Eligible + " ? object.status.completionTime : ''"
	if got := e.Facts(mustCompile(t, c, r), object(t, "job-complete")); got.Err == nil || !strings.HasPrefix(got.Err.Error(), "startTime: ") {
		t.Errorf("two thirds twice: %+v", got)
	}
}

func TestDeadline(t *testing.T) { synctest.Test(t, testDeadline) }

func testDeadline(t *testing.T) {
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Millisecond})
	r := rule()
	r.StartTime = slowExpression + " ? finishedAt(object) : optional.none()"
	compiled := mustCompile(t, c, r)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	for range 3 {
		got := e.Facts(compiled, slowObject(t))
		if !errors.Is(got.Err, engine.ErrDeadline) || got.Err.Error() != "startTime: took too long: more than 1ms" {
			t.Fatalf("got %+v", got)
		}
		if got.Eligible || !got.Start.IsZero() {
			t.Errorf("facts in addition to an error: %+v", got)
		}
		// An interruption does not affect later evaluations.
		quick := object(t, "job-complete")
		quick["list"] = []any{int64(1), int64(2)}
		if got := e.Facts(compiled, quick); got.Err != nil || got.Start.IsZero() {
			t.Fatalf("after the deadline: %+v", got)
		}
	}
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the controller stops")
	cancel(stopped)
	r := rule()
	r.Eligible = slowExpression
	got := mustCompile(t, fixture.Compiler(t), r).Facts(ctx, slowObject(t))
	if !errors.Is(got.Err, stopped) || errors.Is(got.Err, engine.ErrDeadline) {
		t.Errorf("got %v", got.Err)
	}
}

// bomb is a value that panics on every use.
type bomb struct{}

func (bomb) ConvertToNative(reflect.Type) (any, error) { panic("boom") }
func (bomb) ConvertToType(ref.Type) ref.Val            { panic("boom") }
func (bomb) Equal(ref.Val) ref.Val                     { panic("boom") }
func (bomb) Type() ref.Type                            { return types.IntType }
func (bomb) Value() any                                { panic("boom") }

func TestPanicIsAnError(t *testing.T) {
	r := rule()
	r.Eligible = "[1].all(x, object.bomb == x)"
	compiled := mustCompile(t, fixture.Compiler(t), r)
	e := fixture.Compiler(t).NewEvaluator(t.Context())
	defer e.Close()
	bad := object(t, "job-complete")
	bad["bomb"] = bomb{}
	if got := e.Facts(compiled, bad); got.Err == nil || got.Err.Error() != "eligible: internal error: boom" || got.Eligible {
		t.Errorf("got %+v", got)
	}
	good := object(t, "job-complete")
	good["bomb"] = int64(1)
	if got := e.Facts(compiled, good); got.Err != nil || !got.Eligible {
		t.Errorf("after the panic: %+v", got)
	}
}

func TestErrorsAreShort(t *testing.T) {
	r := rule()
	r.StartTime = "object.long"
	o := object(t, "job-complete")
	o["long"] = strings.Repeat("ä", 100000)
	if got := factsOf(t, r, o); got.Err == nil || len(got.Err.Error()) > 256 {
		t.Errorf("got %d bytes", len(got.Err.Error()))
	}
}

// TestObjectIsLeftAlone: an evaluation must not change the object, because objects come from a shared cache.
func TestObjectIsLeftAlone(t *testing.T) {
	r := rule()
	r.Eligible = "object.status.conditions.sortBy(c, c.type)[0].type != '' && cel.bind(l, object.status.conditions, size(l + [1]) > 1)"
	o := object(t, "job-complete")
	factsOf(t, r, o)
	expect.Equal(t, "object after the evaluation", object(t, "job-complete"), o)
}

// TestFactsDoNotDependOnTheRun: the facts do not depend on the order of Go maps, which differs in every run.
func TestFactsDoNotDependOnTheRun(t *testing.T) {
	r := rule()
	r.StartTime = "object.times[object.times.map(k, k)[0]]"
	compiled := mustCompile(t, fixture.Compiler(t), r)
	o := object(t, "job-complete")
	o["times"] = map[string]any{"b": "2026-01-02T00:00:00Z", "a": "2026-01-01T00:00:00Z", "c": "2026-01-03T00:00:00Z", "d": "2026-01-04T00:00:00Z"}
	for range 100 {
		if got := compiled.Facts(t.Context(), o); got.Err != nil || got.Start.Day() != 1 {
			t.Fatalf("got %+v", got)
		}
	}
}
