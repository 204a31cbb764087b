// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
)

// contextVar is a variable besides object. Only some rules have it, and their facts depend on it.
type contextVar int

const (
	nodeVar       contextVar = iota // the node of an image
	referencesVar                   // the objects that refer to the object
	targetsVar                      // the objects that the object refers to
	selectedVar                     // the objects that its label selector matches
	contextVars
)

// perContextVar holds one value for each contextVar.
type perContextVar[T any] [contextVars]T

// contextVarInfo describes each contextVar.
var contextVarInfo = perContextVar[struct{ name, doc, where, hint string }]{
	{syntax.NodeVariable, "In rules about images: the node of the image, with node.name, node.labels and, if known, node.imageFs.",
		"rules about images of nodes", "rules about other objects can read only the object"},
	{syntax.ReferencesVariable, "The references to the object. references.count is the number of objects that refer to it by name. references.by lists " +
		"them, as maps with kind, namespace and name.",
		"rules about objects that others refer to by name", ownersHint + declareHint},
	{syntax.TargetsVariable, "The references of the object. targets.count is the number of objects that it refers to by name. targets.missing lists those " +
		"that do not exist, as maps with kind, namespace and name.",
		"rules about objects that refer to others by name", ownersHint + declareHint},
	{syntax.SelectedVariable, "In rules about kinds with a label selector for Pods: selected.count is the number of Pods and Pod templates in its namespace " +
		"that the selector matches.",
		"rules about objects with a label selector", declareHint},
}

const (
	ownersHint  = "metadata.ownerReferences names the owners of an object"
	declareHint = "; to declare references of custom resources, write spec.references in this policy"
)

func (x contextVar) name() string { return contextVarInfo[x].name }

// contextVarNamed returns the contextVar with this name; false for none.
func contextVarNamed(name string) (contextVar, bool) {
	for x := range contextVars {
		if x.name() == name {
			return x, true
		}
	}
	return 0, false
}

func declareContextVars() []cel.EnvOption {
	var options []cel.EnvOption
	for _, about := range contextVarInfo {
		options = append(options, cel.VariableWithDoc(about.name, cel.DynType, about.doc))
	}
	return options
}

// contextVarUse is that an expression reads a contextVar, itself or by variables of the policy.
type contextVarUse struct {
	name         string
	by           []string // the variables; empty if it reads the contextVar itself
	line, column int
}

// onlyIn returns the finding that only some rules have the contextVar.
func (u *contextVarUse) onlyIn(where, hint string) diagnose.Finding {
	reads := u.name + " is"
	if len(u.by) > 0 {
		reads = "variables." + strings.Join(u.by, ", variables.") + " reads " + u.name + ", which is"
	}
	return diagnose.Finding{Message: reads + " available only in " + where, Hint: hint, Line: u.line, Column: u.column}
}

// contextVarsRead returns where the expression reads each contextVar, or uses a variable that reads it. It is nil for a contextVar
// that the expression does not read.
func (s *scope) contextVarsRead(checked *cel.Ast) (at perContextVar[*contextVarUse]) {
	_, read := fieldsRead(checked.NativeRep().Expr())
	for x := range contextVars {
		var variables []string
		for _, v := range s.variables {
			if v.reads[x] && mentions(checked, v.name) {
				variables = append(variables, v.name)
			}
		}
		if !read[x].isEmpty() || len(variables) > 0 {
			at[x] = x.useIn(checked, variables)
		}
	}
	return at
}

func (x contextVar) useIn(checked *cel.Ast, by []string) *contextVarUse {
	at := diagnose.Finding{Line: 1, Column: 1}
	locate(checked, func(e ast.Expr) bool {
		return e.Kind() == ast.IdentKind && strings.TrimPrefix(e.AsIdent(), ".") == x.name()
	}, &at)
	return &contextVarUse{x.name(), by, at.Line, at.Column}
}

// hiddenContextVar returns a finding if a loop variable hides a contextVar that the expression reads. If the expression
// reads none, loop variables may have its name.
func hiddenContextVar(checked *cel.Ast, reads perContextVar[*contextVarUse]) *diagnose.Finding {
	for x := range contextVars {
		if reads[x] == nil {
			continue
		}
		if f := x.loopVariableFinding(checked); f != nil {
			return f
		}
	}
	return nil
}

// loopVariableFinding returns a finding for the first loop variable with the name of a contextVar; nil if there is none.
func (x contextVar) loopVariableFinding(checked *cel.Ast) *diagnose.Finding {
	f := &diagnose.Finding{
		Message: "a loop variable cannot have the name " + x.name() + " if the expression reads " + x.name(),
		Hint:    "rename it, for example to " + x.name()[:1],
	}
	if !locate(checked, isLoopOver(x.name()), f) {
		return nil
	}
	return f
}

// isLoopOver reports whether an expression is a macro with a loop variable of this name.
func isLoopOver(name string) func(ast.Expr) bool {
	return func(e ast.Expr) bool {
		if e.Kind() != ast.ComprehensionKind {
			return false
		}
		c := e.AsComprehension()
		return c.IterVar() == name || c.IterVar2() == name || c.AccuVar() == name
	}
}

// locate sets the position of a finding to the first part of an expression for which is returns true.
func locate(checked *cel.Ast, is func(ast.Expr) bool, f *diagnose.Finding) (found bool) {
	for e := range syntax.All(checked.NativeRep().Expr()) {
		if is(e) {
			*f = f.At(checked.NativeRep(), e)
			return true
		}
	}
	return false
}
