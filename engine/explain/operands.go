// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// operandsOf returns the operands of an expression, in the order of the text. The operand of a loop is its range.
func (s *source) operandsOf(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var all []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return all
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		if !syntax.Iterates(c) {
			return []ast.Expr{c.AccuInit()}
		}
		return []ast.Expr{c.IterRange()}
	case ast.CallKind:
		return s.argumentsOf(e)
	}
	return nil
}

// argumentsOf returns the operands of a call, the receiver first. The macro optMap() expands to a condition; its only
// operand is the value that it maps.
func (s *source) argumentsOf(e ast.Expr) []ast.Expr {
	if _, isMacro := s.tree.SourceInfo().GetMacroCall(e.ID()); isMacro && syntax.Function(e) == operators.Conditional {
		return []ast.Expr{e.AsCall().Args()[0].AsCall().Target()}
	}
	return syntax.Operands(e.AsCall())
}

// boundBy returns the variable that a cel.bind() binds; false for any other expression. Macros bind names that begin
// with @.
func boundBy(e ast.Expr) (name string, ok bool) {
	if e.Kind() != ast.ComprehensionKind {
		return "", false
	}
	c := e.AsComprehension()
	return c.AccuVar(), !syntax.Iterates(c) && !strings.HasPrefix(c.AccuVar(), "@")
}

// isNeeded reports whether the next operand is needed, given the results of the operands before it. Operands that were
// not needed have a nil result.
func isNeeded(e ast.Expr, before []ref.Val) bool {
	if len(before) == 0 {
		return true
	}
	switch syntax.Function(e) {
	case operators.LogicalAnd:
		return !slices.Contains(before, ref.Val(types.False))
	case operators.LogicalOr:
		return !slices.Contains(before, ref.Val(types.True))
	case operators.Conditional:
		return before[0] == types.Bool(len(before) == 1)
	case "orValue", "or":
		o, ok := before[0].(*types.Optional)
		return ok && !o.HasValue()
	}
	return !slices.ContainsFunc(before, func(v ref.Val) bool { return types.IsError(v) })
}

// isSilent reports whether an operand adds nothing to the result of the whole: object itself, a step on the path to a
// field, or one of several chained conditions.
func isSilent(whole ast.Expr, i int, operand ast.Expr) bool {
	if _, ok := variableOf(operand); ok {
		return false
	}
	switch operand.Kind() {
	case ast.IdentKind, ast.ListKind, ast.MapKind:
		return true
	}
	f := syntax.Function(whole)
	switch f {
	case operators.LogicalAnd, operators.LogicalOr:
		return syntax.Function(operand) == f
	case operators.LogicalNot, operators.Negate:
		return true
	}
	return i == 0 && isStep(whole) && isStep(operand)
}

// isStep reports whether an expression is one step from its first operand: a field, an index, a default, or the time
// that a string represents.
func isStep(e ast.Expr) bool {
	switch syntax.Function(e) {
	case operators.Index, operators.OptIndex, operators.OptSelect, "orValue", "or", "value", "hasValue", "dyn", "timestamp", "duration":
		return true
	}
	return e.Kind() == ast.SelectKind
}

// variableOf returns the name of the variable if an expression is one.
func variableOf(e ast.Expr) (name string, ok bool) {
	if e.Kind() != ast.IdentKind {
		return "", false
	}
	return syntax.CutVariable(strings.TrimPrefix(e.AsIdent(), "."))
}
