// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestExamples evaluates every example of the documentation.
func TestExamples(t *testing.T) {
	c := fixture.Compiler(t)
	for _, f := range engine.Functions {
		if f.Doc == "" || len(f.Signatures) == 0 || len(f.Examples) == 0 {
			t.Errorf("%s lacks documentation", f.Name)
		}
		for _, example := range f.Examples {
			t.Run(example.Expression+" of "+example.Object, func(t *testing.T) { checkExample(t, c, example) })
		}
	}
}

func checkExample(t *testing.T, c *engine.Compiler, example engine.Example) {
	o := object(t, example.Object)
	if part, isError := strings.CutPrefix(example.Gives, "error: "); isError {
		e, ok := c.Expression(example.Expression)
		if !ok {
			t.Fatal("does not compile")
		}
		if v, err := e.Value(o); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("returns %v, %v", v, err)
		}
		return
	}
	equal, ok := c.Expression(fmt.Sprintf("(%s) == (%s)", example.Expression, example.Gives))
	if !ok {
		t.Fatal("does not compile")
	}
	if v, err := equal.Value(o); err != nil || v != types.True {
		t.Errorf("does not return %s: %v", example.Gives, err)
	}
}
