package images_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestAnImageThatTookTooLongToEvaluateIsEvaluatedAgain: after the next snapshot an unchanged image is evaluated again if its
// evaluation exceeded the deadline. Once that has succeeded, it is not.
func TestAnImageThatTookTooLongToEvaluateIsEvaluatedAgain(t *testing.T) {
	some := "[" + strings.Repeat("0,", 179) + "0]"
	loop := some + ".all(a, " + some + ".all(b, a + b == 0))"
	m := newMachine(t)
	m.has("registry/a:1", "a")
	document, err := policy.Parse([]byte(strings.Replace(rules, `"eligible": "true"`, `"eligible": "`+loop+`"`, 1)))
	expect.NoError(t, err)
	p := document.Load(policy.Protection{})
	programs := m.Compiler.Load(p)
	if p.Rules[0].Invalid() {
		t.Fatal(p.Problems)
	}
	questions := retention.NewRuleSet(p.Rules[0].Kind, []*engine.Program{programs[p.Rules[0].Key]}, nil)
	source := m.Open(questions)
	compiler := func(deadline time.Duration) *engine.Compiler {
		c := fixture.CompilerWith(t, engine.Options{EvalDeadline: deadline})
		return c
	}
	m.Compiler = compiler(time.Nanosecond)
	rows, told := images.Rows(t.Context(), source, nil)
	for range 100 { // on a busy machine an evaluation may end before its deadline is noticed
		if len(rows) != 1 || rows[0].Facts()[0].Err != nil {
			break
		}
		source = m.Open(questions)
		rows, told = images.Rows(t.Context(), source, nil)
	}
	if len(rows) != 1 || !errors.Is(rows[0].Facts()[0].Err, engine.ErrDeadline) {
		t.Fatalf("%d rows, %v", len(rows), rows[0].Facts())
	}
	m.Compiler = compiler(time.Hour)
	for _, want := range []int{1, 0} {
		m.clock.Step(interval)
		rows, told = images.Rows(t.Context(), source, told)
		if len(rows) != want {
			t.Fatalf("%d rows, want %d", len(rows), want)
		}
		for _, row := range rows {
			if f := row.Facts()[0]; f.Err != nil || !f.Eligible {
				t.Errorf("%+v", f)
			}
		}
	}
}
