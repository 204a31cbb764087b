// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// alias is what a value may be: nodes of the object, or a list or map whose elements are nodes. It is nil for a value
// that contains no part of the object, or only parts that are already marked as read.
type alias struct {
	nodes    []*fields
	elements *alias
}

// or returns a value that may be a or b.
func (a *alias) or(b *alias) *alias {
	switch {
	case a == nil:
		return b
	case b == nil || a == b:
		return a
	}
	either := &alias{nodes: slices.Clone(a.nodes), elements: a.elements.or(b.elements)}
	for _, n := range b.nodes {
		if !slices.Contains(either.nodes, n) {
			either.nodes = append(either.nodes, n)
		}
	}
	return either
}

// at returns a field or an element of the value.
func (a *alias) at(name string) *alias {
	if a == nil {
		return nil
	}
	below := &alias{}
	for _, n := range a.nodes {
		below.nodes = append(below.nodes, n.at(name))
	}
	return below.or(a.elements)
}

// read marks everything that the value may be as read.
func (a *alias) read() {
	if a == nil {
		return
	}
	for _, n := range a.nodes {
		n.whole = true
	}
	a.elements.read()
}

// fieldAnalysis finds the fields of the object that a checked expression reads. It runs the expression with aliases instead of
// values. It may report more fields than necessary, but never fewer: an unknown function reads all of its arguments.
type fieldAnalysis struct {
	object        *fields
	contextFields perContextVar[*fields]
}

// fieldsRead returns the fields of the object and of the context variables that the expression reads. Evaluation on only these
// fields has the same result.
func fieldsRead(e ast.Expr) (object *fields, around perContextVar[*fields]) {
	r := &fieldAnalysis{object: &fields{}, contextFields: noFields()}
	r.run(e, nil).read()
	return r.object, r.contextFields
}

func noFields() (around perContextVar[*fields]) {
	for x := range around {
		around[x] = &fields{}
	}
	return around
}

// count returns the number of fields found so far.
func (r *fieldAnalysis) count() int {
	n := r.object.count()
	for _, f := range r.contextFields {
		n += f.count()
	}
	return n
}

// locals are the variables that comprehensions bind, the innermost last.
type locals []local

type local struct {
	name  string
	value *alias
}

func (l locals) with(name string, value *alias) locals {
	return append(slices.Clip(l), local{name, value})
}

func (r *fieldAnalysis) ident(name string, vars locals) *alias {
	for _, v := range slices.Backward(vars) {
		if v.name == name {
			return v.value
		}
	}
	name = strings.TrimPrefix(name, ".")
	if name == syntax.ObjectVariable {
		return &alias{nodes: []*fields{r.object}}
	}
	if x, ok := contextVarNamed(name); ok {
		return &alias{nodes: []*fields{r.contextFields[x]}}
	}
	return nil // the name of a type
}

func (r *fieldAnalysis) run(e ast.Expr, vars locals) *alias {
	switch e.Kind() {
	case ast.IdentKind:
		return r.ident(e.AsIdent(), vars)
	case ast.SelectKind:
		field := r.run(e.AsSelect().Operand(), vars).at(e.AsSelect().FieldName())
		if e.AsSelect().IsTestOnly() {
			return nil // the field is in the tree, which is enough to test whether it is present
		}
		return field
	case ast.ListKind:
		return &alias{elements: r.oneOf(e.AsList().Elements(), vars)}
	case ast.MapKind:
		var values []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			r.run(entry.AsMapEntry().Key(), vars).read()
			values = append(values, entry.AsMapEntry().Value())
		}
		return &alias{elements: r.oneOf(values, vars)}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.run(field.AsStructField().Value(), vars).read()
		}
	case ast.CallKind:
		return r.call(e.AsCall(), vars)
	case ast.ComprehensionKind:
		return r.comprehension(e.AsComprehension(), vars)
	}
	return nil
}

func (r *fieldAnalysis) call(c ast.CallExpr, vars locals) *alias {
	args := syntax.Operands(c)
	switch name := c.FunctionName(); name {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		return r.index(args, vars)
	case operators.Conditional:
		r.run(args[0], vars).read()
		return r.oneOf(args[1:], vars)
	case operators.Add, "or", "orValue", "value", "dyn", "optional.of":
		return r.oneOf(args, vars)
	case "hasValue":
		r.oneOf(args, vars)
		return nil
	case "first", "last":
		return r.oneOf(args, vars).at(anyField)
	default:
		return r.function(name, args, vars)
	}
}

// index handles a[i], a[?i] and a.?i.
func (r *fieldAnalysis) index(args []ast.Expr, vars locals) *alias {
	container := r.run(args[0], vars)
	if args[1].Kind() == ast.LiteralKind {
		if name, ok := args[1].AsLiteral().(types.String); ok {
			return container.at(string(name))
		}
	}
	r.run(args[1], vars).read()
	return container.at(anyField)
}

// oneOf returns a value that may be any of these.
func (r *fieldAnalysis) oneOf(args []ast.Expr, vars locals) *alias {
	var one *alias
	for _, a := range args {
		one = one.or(r.run(a, vars))
	}
	return one
}

// function marks all arguments as read. Of the first argument of our own functions it marks only the fields that they
// declare.
func (r *fieldAnalysis) function(name string, args []ast.Expr, vars locals) *alias {
	paths, ours := readsOfFunctions[name]
	for i, a := range args {
		v := r.run(a, vars)
		if !ours || i > 0 || v == nil || v.elements != nil {
			v.read()
			continue
		}
		for _, n := range v.nodes {
			for _, path := range paths {
				n.path(path).whole = true
			}
		}
	}
	return nil
}

// rounds limits the search for what the accumulator of a comprehension may be. No macro needs more than two rounds.
const rounds = 8

func (r *fieldAnalysis) comprehension(c ast.ComprehensionExpr, vars locals) *alias {
	element := r.run(c.IterRange(), vars).at(anyField)
	inner := vars.with(c.IterVar(), element)
	if c.HasIterVar2() {
		inner = vars.with(c.IterVar(), nil).with(c.IterVar2(), element)
	}
	result := r.run(c.AccuInit(), vars)
	for round := 0; ; round++ {
		before, grown := result, r.count()
		loop := inner.with(c.AccuVar(), result)
		r.run(c.LoopCondition(), loop).read()
		result = result.or(r.run(c.LoopStep(), loop))
		if result.same(before) && r.count() == grown {
			break
		}
		if round == rounds {
			result.read()
			break
		}
	}
	return r.run(c.Result(), vars.with(c.AccuVar(), result))
}

// same reports whether two aliases represent the same nodes.
func (a *alias) same(b *alias) bool {
	if a == nil || b == nil {
		return a.empty() && b.empty()
	}
	return a == b || len(a.nodes) == len(b.nodes) && !slices.ContainsFunc(a.nodes, func(n *fields) bool {
		return !slices.Contains(b.nodes, n)
	}) && a.elements.same(b.elements)
}

func (a *alias) empty() bool { return a == nil || len(a.nodes) == 0 && a.elements.empty() }
