// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestImageThatTookTooLongToEvaluateIsEvaluatedAgain: after the next snapshot an unchanged image is evaluated again if its
// evaluation exceeded the deadline. Once that has succeeded, it is not.
func TestImageThatTookTooLongToEvaluateIsEvaluatedAgain(t *testing.T) {
	some := "[" + strings.Repeat("0,", 179) + "0]"
	loop := some + ".all(a, " + some + ".all(b, a + b == 0))"
	m := newMachine(t)
	m.has("registry/a:1", "a")
	_, set := m.load(strings.Replace(rules, `"eligible": "true"`, `"eligible": "`+loop+`"`, 1))
	source := m.Open(set)
	m.Compiler = fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Nanosecond})
	rows, told := images.Rows(t.Context(), source, nil)
	for range 100 { // on a busy machine an evaluation may end before its deadline is noticed
		if len(rows) != 1 || rows[0].Facts()[0].Err != nil {
			break
		}
		source = m.Open(set)
		rows, told = images.Rows(t.Context(), source, nil)
	}
	if len(rows) != 1 || !errors.Is(rows[0].Facts()[0].Err, engine.ErrDeadline) {
		t.Fatalf("%d rows, %v", len(rows), rows[0].Facts())
	}
	m.Compiler = fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Hour})
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
