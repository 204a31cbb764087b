// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/cost"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// Limits for the size of the expressions of policies, in bytes after their variables are expanded. Compiling takes
// about 5 microseconds and 50 bytes of memory for each byte. The time of CEL's type checker grows with the square of
// the number of calls in an expression, so this square, divided by callsPerByte, counts as bytes too. A repetition in a
// regular expression is short: each instruction beyond its length counts as instructionSize bytes.
const (
	MaxNamespaceSize = 64 << 10  // all RetentionPolicies of a namespace together
	MaxClusterSize   = 512 << 10 // each ClusterRetentionPolicy
	instructionSize  = 4
	callsPerByte     = 16
)

// extent is the size of an expression.
type extent struct {
	bytes int // of the text, and of its regular expressions
	calls int // operators, functions, lists and maps, after macros are expanded
}

func (e extent) plus(o extent) extent { return extent{add(e.bytes, o.bytes), add(e.calls, o.calls)} }

func (e extent) size() int { return add(e.bytes, cost.Times(e.calls, e.calls)/callsPerByte) }

// Size returns the size of the expressions of a policy after their variables are expanded. It only parses them, and
// neither checks nor compiles them.
func (c *Compiler) Size(p *policy.Policy) int {
	variables, sum := map[string]extent{}, 0
	for _, v := range p.Variables {
		e := c.written(v.Expression, variables)
		variables[v.Name] = e
		sum = add(sum, e.size())
	}
	for _, r := range p.Rules {
		s := source{rule: r.Spec}
		for _, e := range s.expressions() {
			sum = add(sum, c.written(e.text, variables).size())
		}
	}
	for _, r := range p.References {
		sum = add(add(sum, c.extentOf(r.Names).size()), c.extentOf(r.Selector).size())
	}
	return sum
}

// written returns the extent of a text including the variables that it uses. If the text has a comment, which can hide
// uses, it includes all variables.
func (c *Compiler) written(text string, variables map[string]extent) extent {
	sum := c.extentOf(text)
	if !strings.Contains(text, syntax.VariablesVariable) {
		return sum
	}
	if strings.Contains(text, "//") {
		for _, e := range variables {
			sum = sum.plus(e)
		}
		return sum
	}
	met := map[string]bool{}
	for _, name := range syntax.VariablesIn(text) {
		if !met[name] { // a variable is evaluated once
			sum = sum.plus(variables[name])
		}
		met[name] = true
	}
	return sum
}

// extentOf returns the extent of a text without its variables. A text that does not parse costs nothing more, because
// it is never checked.
func (c *Compiler) extentOf(text string) extent {
	e := extent{bytes: len(text)}
	if len(text) > MaxExpressionSize {
		return e
	}
	return c.extents.get(digest(text), func() (extent, int) {
		parsed, issues := c.env.Parse(text)
		if len(issues.Errors()) == 0 {
			for node := range syntax.All(parsed.NativeRep().Expr()) {
				e = e.plus(extentOfNode(node))
			}
		}
		return e, bytesOfExtent
	})
}

// bytesOfExtent estimates the memory of one cached extent.
const bytesOfExtent = 256

func extentOfNode(node ast.Expr) extent {
	switch node.Kind() {
	case ast.CallKind, ast.ListKind, ast.MapKind, ast.ComprehensionKind:
		return extent{calls: 1}
	}
	if text, ok := syntax.StringLiteral(node); ok { // which may be a regular expression
		size, _ := sizeOfRegex(text)
		return extent{bytes: instructionSize * max(0, size-len(text))}
	}
	return extent{}
}

// add adds sizes. The sum is at most tooMuch, so that it does not overflow.
func add(a, b int) int { return min(min(a, tooMuch)+min(b, tooMuch), tooMuch) }

const tooMuch = 1 << 40

// RoomFor returns the maximum size of the expressions of a policy if no other policy shares the limit.
func RoomFor(p *policy.Policy) int {
	if p.Namespace == "" {
		return MaxClusterSize
	}
	return MaxNamespaceSize
}

// tooLarge returns a problem that makes all rules of a policy invalid.
func tooLarge(p *policy.Policy, size, room int) policy.Problem {
	problem := policy.Problem{
		Path:    "spec",
		Message: fmt.Sprintf("the expressions have %d bytes after their variables are expanded; the limit is %d", size, RoomFor(p)),
		Hint:    "use smaller variables in fewer expressions, or several rules with simpler expressions; instead of many ==, write: name in ['a', 'b']",
	}
	if p.Namespace != "" {
		problem.Message += fmt.Sprintf(" for all RetentionPolicies of the namespace together, and %d are left", max(room, 0))
	}
	return problem
}
