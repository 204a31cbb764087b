package engine

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// extra is a variable beside the object. It is there only in some rules, and what they say depends on it.
type extra int

const (
	nodeExtra       extra = iota // the node of an image
	referencesExtra              // what refers to a ConfigMap or Secret
	extras
)

// ofExtras is something of each of them.
type ofExtras[T any] [extras]T

// about is what to know of each.
var aboutExtras = ofExtras[struct{ name, doc, where, hint string }]{
	{
		name:  nodeVariable,
		doc:   "In rules about images, the node they are on: node.name, node.labels and, if known, node.imageFs.",
		where: "rules about images of nodes",
		hint:  "what a rule says about any other object depends on nothing but the object",
	},
	{
		name: referencesVariable,
		doc: "In rules about ConfigMaps and Secrets, what refers to the object: references.count, how many objects do, and references.by, " +
			"a list of maps with kind, namespace and name.",
		where: "rules about ConfigMaps and Secrets",
		hint:  "what refers to other kinds nobody follows; metadata.ownerReferences say what an object belongs to",
	},
}

func (x extra) name() string { return aboutExtras[x].name }

// extraNamed is the extra that an identifier names; false for none.
func extraNamed(name string) (extra, bool) {
	for x := range extras {
		if x.name() == name {
			return x, true
		}
	}
	return 0, false
}

func extraVariables() []cel.EnvOption {
	var options []cel.EnvOption
	for _, about := range aboutExtras {
		options = append(options, cel.VariableWithDoc(about.name, cel.DynType, about.doc))
	}
	return options
}

// reads says of each extra that it is there only in some rules, at the place where an expression reads it or uses a variable
// that does; nil where it does not.
func (s *scope) reads(checked *cel.Ast) (at ofExtras[*finding]) {
	_, read := fieldsRead(checked.NativeRep().Expr())
	for x := range extras {
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

// misplaced says that an extra is there only in some rules.
func (x extra) misplaced(checked *cel.Ast, by []string) *finding {
	f := &finding{message: x.name() + " is there only in " + aboutExtras[x].where, line: 1, column: 1, hint: aboutExtras[x].hint}
	if len(by) > 0 {
		f.message = "variables." + strings.Join(by, ", variables.") + " reads " + x.name() + ", which is there only in " + aboutExtras[x].where
	}
	locate(checked, func(e ast.Expr) bool {
		return e.Kind() == ast.IdentKind && strings.TrimPrefix(e.AsIdent(), ".") == x.name()
	}, f)
	return f
}

// hidden says that a loop variable hides an extra that the expression reads. Where nothing reads one, its name is free.
func hidden(checked *cel.Ast, reads ofExtras[*finding]) *finding {
	for x := range extras {
		if reads[x] == nil {
			continue
		}
		if f := x.boundIn(checked); f != nil {
			return f
		}
	}
	return nil
}

// boundIn is where a loop variable has the name of an extra; nil for nowhere.
func (x extra) boundIn(checked *cel.Ast) *finding {
	f := &finding{
		message: "a loop variable cannot be called " + x.name() + " where " + x.name() + " is read",
		hint:    "give it another name, such as " + x.name()[:1],
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
