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

// contextVarsRead returns, for each contextVar, a finding that only some rules have it. The finding points at the place
// where the expression reads it or uses a variable that reads it. It is nil for a contextVar that the expression does
// not read.
func (s *scope) contextVarsRead(checked *cel.Ast) (at perContextVar[*diagnose.Finding]) {
	_, read := fieldsRead(checked.NativeRep().Expr())
	for x := range contextVars {
		var variables []string
		for _, v := range s.variables {
			if v.reads[x] && mentions(checked, v.name) {
				variables = append(variables, v.name)
			}
		}
		if !read[x].isEmpty() || len(variables) > 0 {
			at[x] = x.misplaced(checked, variables)
		}
	}
	return at
}

// misplaced returns the finding that only some rules have a contextVar.
func (x contextVar) misplaced(checked *cel.Ast, by []string) *diagnose.Finding {
	f := &diagnose.Finding{Message: x.name() + " is available only in ", Line: 1, Column: 1}
	if len(by) > 0 {
		f.Message = "variables." + strings.Join(by, ", variables.") + " reads " + x.name() + ", which is available only in "
	}
	locate(checked, func(e ast.Expr) bool {
		return e.Kind() == ast.IdentKind && strings.TrimPrefix(e.AsIdent(), ".") == x.name()
	}, f)
	return f
}

// hiddenContextVar returns a finding if a loop variable hides a contextVar that the expression reads. If the expression
// reads none, loop variables may have its name.
func hiddenContextVar(checked *cel.Ast, reads perContextVar[*diagnose.Finding]) *diagnose.Finding {
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
	found := locate(checked, func(e ast.Expr) bool {
		if e.Kind() != ast.ComprehensionKind {
			return false
		}
		c := e.AsComprehension()
		return c.IterVar() == x.name() || c.IterVar2() == x.name() || c.AccuVar() == x.name()
	}, f)
	if !found {
		return nil
	}
	return f
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
