package engine

import (
	"context"
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// probe evaluates single parts of expressions on one object. It evaluates each part separately, with the limits of a
// whole rule: expressions have no side effects, so a part has the same result outside of its expression.
type probe struct {
	ctx      context.Context
	compiler *Compiler
	scope    *scope
	object   map[string]any
	extras   ofExtras[map[string]any]
	views    map[string]*view // of the variables met so far
}

// view is an expression whose parts are evaluated: an expression of the rule, or of a variable. Variables are not
// expanded in it.
type view struct {
	probe    *probe
	variable string // empty for an expression of the rule
	text     string
	tree     *ast.AST
	locals   map[string]ref.Val // values of the variables that cel.bind binds around the current part
	values   map[int64]ref.Val  // by the id of the part
	told     bool
}

func (r *Program) newProbe(ctx context.Context, object map[string]any, around ofExtras[map[string]any]) (*probe, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience*r.compiler.deadline, ErrDeadline)
	return &probe{
		ctx: ctx, compiler: r.compiler, scope: r.compiler.scope(r.source.variables), object: object, extras: around,
		views: map[string]*view{},
	}, cancel
}

// view returns nil if the text does not compile. The expressions of a Program compile.
func (p *probe) view(text string) *view {
	checked, findings := p.compiler.check(text, anything, p.scope)
	if len(findings) > 0 {
		return nil
	}
	return &view{probe: p, text: text, tree: checked.NativeRep(), locals: map[string]ref.Val{}, values: map[int64]ref.Val{}}
}

// viewOf returns the view of a variable; nil if it is unknown or invalid.
func (p *probe) viewOf(name string) *view {
	v, met := p.views[name]
	if met {
		return v
	}
	if declared := p.scope.variable(name); declared != nil {
		if v = p.view(declared.text); v != nil {
			v.variable = name
		}
	}
	p.views[name] = v
	return v
}

// value returns the result of a part, which may be an error.
func (v *view) value(e ast.Expr) ref.Val {
	if e.Kind() == ast.LiteralKind {
		return e.AsLiteral()
	}
	value, asked := v.values[e.ID()]
	if !asked {
		value = v.ask(e)
		v.values[e.ID()] = value
	}
	return value
}

func (v *view) ask(e ast.Expr) (answer ref.Val) {
	defer func() {
		if r := recover(); r != nil {
			answer = types.NewErr("internal error: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(v.probe.ctx, v.probe.compiler.deadline, ErrDeadline)
	defer cancel()
	var err error
	if ctx.Err() != nil {
		err = interpreter.InterruptError{}
	} else {
		answer, err = v.run(ctx, e)
	}
	switch {
	case errors.Is(err, interpreter.InterruptError{}):
		return types.WrapErr(interruption(ctx, v.probe.compiler.deadline))
	case err != nil:
		return types.WrapErr(err)
	}
	return answer
}

func (v *view) run(ctx context.Context, e ast.Expr) (ref.Val, error) {
	env := v.probe.scope.env
	part := ast.NewCheckedAST(ast.NewAST(e, v.tree.SourceInfo()), v.tree.TypeMap(), v.tree.ReferenceMap())
	options, _ := programOptions(env, e)
	program, err := env.PlanProgram(part, options...)
	if err != nil {
		return nil, err
	}
	frame, err := interpreter.NewExecutionFrame(&question{view: v, input: input{object: v.probe.object, extras: v.probe.extras}})
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	if err := frame.SetContext(ctx, interruptFrequency); err != nil {
		return nil, err
	}
	answer, _, err := program.Eval(frame)
	return answer, err
}

// bind sets a local variable, and returns a function that restores the previous value.
func (v *view) bind(name string, value ref.Val) (undo func()) {
	before, shadows := v.locals[name]
	v.locals[name] = value
	return func() {
		delete(v.locals, name)
		if shadows {
			v.locals[name] = before
		}
	}
}

var _ cel.Activation = (*question)(nil)

// question resolves the names in a part: those of a whole expression, the local variables around the part, and the
// variables of the policy.
type question struct {
	view *view
	input
}

// ResolveName implements cel.Activation.
func (q *question) ResolveName(name string) (any, bool) {
	if value, ok := q.view.locals[name]; ok {
		return immutable(value), true
	}
	if variable, ok := syntax.CutVariable(name); ok {
		if v := q.view.probe.viewOf(variable); v != nil {
			return immutable(v.value(v.tree.Expr())), true
		}
	}
	return q.input.ResolveName(name)
}
