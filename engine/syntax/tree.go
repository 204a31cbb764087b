// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"iter"
	"math"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// All returns an expression and all of its parts, each before its own parts.
func All(e ast.Expr) iter.Seq[ast.Expr] {
	return func(yield func(ast.Expr) bool) {
		more := true
		ast.PreOrderVisit(e, ast.NewExprVisitor(func(part ast.Expr) { more = more && yield(part) }))
	}
}

// Function returns the function or operator that an expression calls; empty if it is not a call.
func Function(e ast.Expr) string {
	if e.Kind() != ast.CallKind {
		return ""
	}
	return e.AsCall().FunctionName()
}

// Operands returns the receiver, if there is one, and the arguments of a call.
func Operands(call ast.CallExpr) []ast.Expr {
	if !call.IsMemberFunction() {
		return call.Args()
	}
	return append([]ast.Expr{call.Target()}, call.Args()...)
}

// Path returns the path of a field of a variable, such as object.status.phase, with or without .?; empty for any other
// expression.
func Path(e ast.Expr) string {
	parent, field := "", ""
	switch {
	case e.Kind() == ast.IdentKind:
		return strings.TrimPrefix(e.AsIdent(), ".")
	case e.Kind() == ast.SelectKind:
		parent, field = Path(e.AsSelect().Operand()), e.AsSelect().FieldName()
	case Function(e) == operators.OptSelect:
		args := e.AsCall().Args()
		field, _ = StringLiteral(args[1])
		parent = Path(args[0])
	}
	if parent == "" {
		return ""
	}
	return parent + "." + field
}

// StringLiteral returns the string if an expression is a string literal.
func StringLiteral(e ast.Expr) (text string, ok bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok = e.AsLiteral().Value().(string)
	return text, ok
}

// IsConstant reports whether an expression returns the same value for every object.
func IsConstant(e ast.Expr) bool {
	for part := range All(e) {
		if part.Kind() == ast.IdentKind {
			return false
		}
	}
	return true
}

// Part returns a part of a checked tree as a checked tree of its own.
func Part(tree *ast.AST, e ast.Expr) *ast.AST {
	return ast.NewCheckedAST(ast.NewAST(e, tree.SourceInfo()), tree.TypeMap(), tree.ReferenceMap())
}

// Iterates reports whether a comprehension iterates over elements. cel.bind does not.
func Iterates(c ast.ComprehensionExpr) bool {
	over := c.IterRange()
	return over.Kind() != ast.ListKind || over.AsList().Size() > 0
}

// Format returns an expression on one line, as written except for spaces and parentheses.
func Format(e ast.Expr, info *ast.SourceInfo) string {
	text, err := parser.Unparse(e, info, parser.WrapOnColumn(math.MaxInt))
	if err != nil {
		return "..."
	}
	if !strings.ContainsAny(text, `'\`) {
		text = strings.ReplaceAll(text, `"`, `'`) // every " begins or ends a literal
	}
	return text
}
