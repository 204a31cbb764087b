// SPDX-License-Identifier: Apache-2.0

package test

import (
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// elsewhere are packages that start goroutines without a test in a bubble, and why no goroutine leaks.
var elsewhere = map[string]string{
	"controllers/node/images/cri":         "a removal may outlive its caller until its own deadline: TestRemovalOutlivesItsCaller",
	"controllers/node/images/cri/critest": "a runtime for tests that stops with the test",
	"cmd/kubectl-sunset/cluster":          "a command waits for all its goroutines before it ends",
	"cmd/kubectl-sunset/command":          "a command waits for all its goroutines before it ends",
	"cmd/kubectl-sunset/preview":          "a command waits for all its goroutines before it ends",
}

// TestGoroutinesEnd: every package that starts goroutines has a test in a testing/synctest bubble, which fails if a
// goroutine leaks.
func TestGoroutinesEnd(t *testing.T) {
	starts, bubbles := map[string]string{}, map[string]bool{}
	for _, s := range sources(t) {
		switch {
		case !underAny(s.dir, "cmd", "controllers", "engine", "policy"):
		case s.isTest:
			bubbles[s.dir] = bubbles[s.dir] || mentions(s, "synctest", "Test")
		case startsGoroutines(s):
			starts[s.dir] = s.name
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(starts)) {
		if _, ok := elsewhere[dir]; !ok && !bubbles[dir] {
			t.Errorf("%s starts goroutines, but no test of %s runs in a bubble that detects leaks", starts[dir], dir)
		}
	}
	for dir := range elsewhere {
		if starts[dir] == "" || bubbles[dir] {
			t.Errorf("%s needs no exception anymore", dir)
		}
	}
}

// startsGoroutines reports whether a file has a go statement, or calls Go of a group.
func startsGoroutines(s source) (found bool) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if _, isGo := n.(*ast.GoStmt); isGo {
			found = true
		}
		call, isCall := n.(*ast.CallExpr)
		if !isCall {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && len(call.Args) == 1 {
			found = true
		}
		return true
	})
	return found
}

// mentions reports whether a file contains of.name.
func mentions(s source, of, name string) (found bool) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		x, y := selector(n)
		found = found || x == of && y == name
		return true
	})
	return found
}
