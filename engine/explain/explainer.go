// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// Evaluator compiles expressions and evaluates their parts on one object.
type Evaluator interface {
	// Check returns the syntax tree of an expression, in which variables are not expanded; nil if it is invalid.
	Check(text string) *ast.AST
	// Variable returns the expression of a variable of the policy; false if there is none.
	Variable(name string) (text string, ok bool)
	// Evaluate returns the result of a part of an expression, which may be an error. lookup returns the values of local
	// variables around the part and of the variables of the policy.
	Evaluate(part *ast.AST, lookup func(name string) (ref.Val, bool)) ref.Val
	// Describe formats an error of Evaluate.
	Describe(err error) string
}

// Explainer explains the expressions of one rule on one object. It is for a single goroutine.
type Explainer struct {
	evaluator Evaluator
	variables map[string]*source // that occurred so far; nil for one that is unknown or invalid
}

// New returns an Explainer.
func New(e Evaluator) *Explainer { return &Explainer{evaluator: e, variables: map[string]*source{}} }

// Parts returns the parts of an expression, in the order of its text. It returns none for a text that does not compile.
func (x *Explainer) Parts(text string) []Part {
	s := x.source(text)
	if s == nil {
		return nil
	}
	return s.below(s.tree.Expr(), 0, true)
}

// source is an expression whose parts are evaluated: an expression of the rule, or of a variable. Variables are not
// expanded in it.
type source struct {
	*Explainer
	variable  string // empty for an expression of the rule
	text      string
	tree      *ast.AST
	locals    map[string]ref.Val // values of the variables that cel.bind binds around the current part
	values    map[int64]ref.Val  // by the id of the part
	explained bool
}

func (x *Explainer) source(text string) *source {
	tree := x.evaluator.Check(text)
	if tree == nil {
		return nil
	}
	return &source{Explainer: x, text: text, tree: tree, locals: map[string]ref.Val{}, values: map[int64]ref.Val{}}
}

// sourceOf returns the expression of a variable; nil if it is unknown or invalid.
func (x *Explainer) sourceOf(name string) *source {
	s, known := x.variables[name]
	if known {
		return s
	}
	if text, ok := x.evaluator.Variable(name); ok {
		if s = x.source(text); s != nil {
			s.variable = name
		}
	}
	x.variables[name] = s
	return s
}

// value returns the result of a part, which may be an error.
func (s *source) value(e ast.Expr) ref.Val {
	if e.Kind() == ast.LiteralKind {
		return e.AsLiteral()
	}
	value, known := s.values[e.ID()]
	if !known {
		value = s.evaluator.Evaluate(syntax.Part(s.tree, e), s.lookup)
		s.values[e.ID()] = value
	}
	return value
}

// lookup returns the value of a local variable or of a variable of the policy.
func (s *source) lookup(name string) (ref.Val, bool) {
	if value, ok := s.locals[name]; ok {
		return value, true
	}
	if variable, ok := syntax.CutVariable(name); ok {
		if v := s.sourceOf(variable); v != nil {
			return v.value(v.tree.Expr()), true
		}
	}
	return nil, false
}

// bind sets a local variable, and returns a function that restores the previous value.
func (s *source) bind(name string, value ref.Val) (undo func()) {
	before, shadows := s.locals[name]
	s.locals[name] = value
	return func() {
		delete(s.locals, name)
		if shadows {
			s.locals[name] = before
		}
	}
}
