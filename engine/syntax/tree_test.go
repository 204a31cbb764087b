// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"slices"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestLoopOverAllPartsCanStop(t *testing.T) {
	env, err := cel.NewEnv(cel.OptionalTypes())
	expect.NoError(t, err)
	const text = "object.a.map(x, [x, f(1, x.y)][0]) == {'k': has(object.b), g(): -c.?d} || a.B{field: h(object.size(), 'x')}.all(y, y > 1 ? true : false)"
	parsed, issues := env.Parse(text)
	expect.NoError(t, issues.Err())
	tree := parsed.NativeRep().Expr()
	for stop := range len(slices.Collect(syntax.All(tree))) {
		seen := 0
		for range syntax.All(tree) {
			if seen++; seen > stop {
				break
			}
		}
		expect.Equal(t, "parts before the loop stops", stop+1, seen)
	}
}
