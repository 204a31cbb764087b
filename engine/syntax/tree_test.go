// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestAll compares All with the visitor of cel-go, on every kind of expression.
func TestAll(t *testing.T) {
	env, err := cel.NewEnv(cel.OptionalTypes())
	expect.NoError(t, err)
	const text = "object.a.map(x, [x, f(1, x.y)][0]) == {'k': has(object.b), g(): -c.?d} || a.B{field: h(object.size(), 'x')}.all(y, y > 1 ? true : false)"
	parsed, issues := env.Parse(text)
	expect.NoError(t, issues.Err())
	tree := parsed.NativeRep().Expr()
	var want, got []int64
	ast.PreOrderVisit(tree, ast.NewExprVisitor(func(e ast.Expr) { want = append(want, e.ID()) }))
	for e := range syntax.All(tree) {
		got = append(got, e.ID())
	}
	expect.Equal(t, "ids", want, got)
	for stop := range want {
		seen := 0
		for range syntax.All(tree) {
			if seen++; seen > stop {
				break
			}
		}
		expect.Equal(t, "parts before the loop stops", stop+1, seen)
	}
}
