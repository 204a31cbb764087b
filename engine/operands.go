package engine

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// operandsOf returns the operands of an expression, in the order of the text. The operand of a loop is its range.
func (v *view) operandsOf(e ast.Expr) []ast.Expr {
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
		if !goesOver(c) {
			return []ast.Expr{c.AccuInit()}
		}
		return []ast.Expr{c.IterRange()}
	case ast.CallKind:
		return v.argumentsOf(e)
	}
	return nil
}

// argumentsOf returns the operands of a call, the receiver first. The macro optMap() expands to a condition; its only
// operand is the value that it maps.
func (v *view) argumentsOf(e ast.Expr) []ast.Expr {
	args := e.AsCall().Args()
	if _, isMacro := v.tree.SourceInfo().GetMacroCall(e.ID()); isMacro && functionOf(e) == operators.Conditional {
		return []ast.Expr{args[0].AsCall().Target()}
	}
	if e.AsCall().IsMemberFunction() {
		args = append([]ast.Expr{e.AsCall().Target()}, args...)
	}
	return args
}

// boundBy returns the variable that a cel.bind() binds; false for any other expression. Macros bind names that begin
// with @.
func boundBy(e ast.Expr) (name string, ok bool) {
	if e.Kind() != ast.ComprehensionKind {
		return "", false
	}
	c := e.AsComprehension()
	return c.AccuVar(), !goesOver(c) && !strings.HasPrefix(c.AccuVar(), "@")
}

// needs reports whether the next operand is needed, given the results of the operands before it. Operands that were not
// needed have a nil result.
func needs(e ast.Expr, before []ref.Val) bool {
	if len(before) == 0 {
		return true
	}
	switch functionOf(e) {
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

func functionOf(e ast.Expr) string {
	if e.Kind() != ast.CallKind {
		return ""
	}
	return e.AsCall().FunctionName()
}

// isConstant reports whether an expression returns the same value for every object.
func isConstant(e ast.Expr) bool {
	constant := true
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) { constant = constant && e.Kind() != ast.IdentKind }))
	return constant
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
	f := functionOf(whole)
	switch f {
	case operators.LogicalAnd, operators.LogicalOr:
		return functionOf(operand) == f
	case operators.LogicalNot, operators.Negate:
		return true
	}
	return i == 0 && isStep(whole) && isStep(operand)
}

// isStep reports whether an expression is one step from its first operand: a field, an index, a default, or the time
// that a string represents.
func isStep(e ast.Expr) bool {
	switch functionOf(e) {
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
	return strings.CutPrefix(strings.TrimPrefix(e.AsIdent(), "."), variablesVariable+".")
}
