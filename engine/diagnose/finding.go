// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// Finding is a problem of an expression, independent of the field that contains the expression. Lines and columns count
// from 1.
type Finding struct {
	Message, Hint string
	Line, Column  int
	Unsure        bool   // wrong according to a schema, but may work at run time
	Field         string // path of the missing field, such as object.spec.tag, if the finding is about one and it has a path
}

// Whole returns one finding about a whole expression.
func Whole(message, hint string) []Finding {
	return []Finding{{Message: message, Hint: hint, Line: 1, Column: 1}}
}

// At returns the finding at the position of an expression.
func (f Finding) At(tree *ast.AST, e ast.Expr) Finding {
	at := tree.SourceInfo().GetStartLocation(e.ID())
	f.Line, f.Column = at.Line(), at.Column()+1
	return f
}

func findingAt(tree *ast.AST, e ast.Expr, message, hint string) Finding {
	return Finding{Message: message, Hint: hint}.At(tree, e)
}

// Problems returns findings as problems of the expression at path.
func Problems(path, text string, findings []Finding) []policy.Problem {
	var problems []policy.Problem
	for _, f := range findings {
		problems = append(problems, policy.Problem{
			Path: path, Message: f.Message, Hint: f.Hint,
			Expression: text, Line: f.Line, Column: f.Column,
		})
	}
	return problems
}

// Inlined returns the findings of an expression that is invalid only after its variables are expanded.
func Inlined(issues *cel.Issues) []Finding {
	var findings []Finding
	for _, e := range issues.Errors() {
		findings = append(findings, Whole("after its variables are expanded: "+syntax.TypeName(e.Message),
			"a variable that contains a loop counts as a loop where it is used; loops nest at most two levels deep")...)
	}
	return findings
}
