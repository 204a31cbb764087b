package engine

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// readsNode says that the variable node is there only in rules about images, at the place where an expression reads it or
// uses a variable that does; nil where it does not.
func (s *scope) readsNode(checked *cel.Ast) *finding {
	_, node := fieldsRead(checked.NativeRep().Expr())
	var variables []string
	for _, v := range s.variables {
		if v.readsNode && mentions(checked, v.name) {
			variables = append(variables, v.name)
		}
	}
	if node.isEmpty() && len(variables) == 0 {
		return nil
	}
	f := &finding{message: "node is there only in rules about images of nodes", line: 1, column: 1,
		hint: "what a rule says about any other object depends on nothing but the object"}
	if len(variables) > 0 {
		f.message = "variables." + strings.Join(variables, ", variables.") + " reads node, which is there only in rules about images of nodes"
	}
	locate(checked, func(e ast.Expr) bool {
		return e.Kind() == ast.IdentKind && strings.TrimPrefix(e.AsIdent(), ".") == nodeVariable
	}, f)
	return f
}

// bindsNode says that a loop variable hides the variable node. Where nothing reads that, the name is free.
func bindsNode(checked *cel.Ast) *finding {
	f := &finding{message: "a loop variable cannot be called " + nodeVariable + " where node is read", hint: "give it another name, such as n"}
	found := locate(checked, func(e ast.Expr) bool {
		if e.Kind() != ast.ComprehensionKind {
			return false
		}
		c := e.AsComprehension()
		return c.IterVar() == nodeVariable || c.IterVar2() == nodeVariable || c.AccuVar() == nodeVariable
	}, f)
	if !found {
		return nil
	}
	return f
}

// locate puts a finding where the first such part of an expression is.
func locate(checked *cel.Ast, is func(ast.Expr) bool, f *finding) (found bool) {
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if found || !is(e) {
			return
		}
		found = true
		at := checked.NativeRep().SourceInfo().GetStartLocation(e.ID())
		f.line, f.column = at.Line(), at.Column()+1
	}))
	return found
}
