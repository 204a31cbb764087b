// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/explain"
)

var _ explain.Evaluator = (*partEvaluator)(nil)

// partEvaluator evaluates single parts of expressions on one object. It evaluates each part separately, with the limits
// of a whole rule: expressions have no side effects, so a part has the same result outside of its expression.
type partEvaluator struct {
	ctx         context.Context
	compiler    *Compiler
	scope       *scope
	object      map[string]any
	contextVars perContextVar[map[string]any]
}

// Check implements explain.Evaluator. The expressions of a Program compile.
func (p *partEvaluator) Check(text string) *ast.AST {
	checked, findings := p.compiler.check(text, anything, p.scope)
	if len(findings) > 0 {
		return nil
	}
	return checked.NativeRep()
}

// Variable implements explain.Evaluator.
func (p *partEvaluator) Variable(name string) (text string, ok bool) {
	if v := p.scope.variable(name); v != nil {
		return v.text, true
	}
	return "", false
}

// Describe implements explain.Evaluator.
func (p *partEvaluator) Describe(err error) string {
	return shorten(diagnose.EvaluationError(err)).Error()
}

// Evaluate implements explain.Evaluator.
func (p *partEvaluator) Evaluate(part *ast.AST, lookup func(string) (ref.Val, bool)) (result ref.Val) {
	defer func() {
		if r := recover(); r != nil {
			result = types.NewErr("internal error: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(p.ctx, p.compiler.deadline, ErrDeadline)
	defer cancel()
	var err error
	if ctx.Err() != nil {
		err = interpreter.InterruptError{}
	} else {
		result, err = p.run(ctx, part, lookup)
	}
	switch {
	case errors.Is(err, interpreter.InterruptError{}):
		return types.WrapErr(interruption(ctx, p.compiler.deadline))
	case err != nil:
		return types.WrapErr(err)
	}
	return result
}

func (p *partEvaluator) run(ctx context.Context, part *ast.AST, lookup func(string) (ref.Val, bool)) (ref.Val, error) {
	options, _ := programOptions(p.scope.env, part.Expr())
	program, err := p.scope.env.PlanProgram(part, options...)
	if err != nil {
		return nil, err
	}
	frame, err := interpreter.NewExecutionFrame(&partInput{input: input{object: p.object, contextVars: p.contextVars}, lookup: lookup})
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	if err := frame.SetContext(ctx, interruptFrequency); err != nil {
		return nil, err
	}
	result, _, err := program.Eval(frame)
	return result, err
}

var _ cel.Activation = (*partInput)(nil)

// partInput resolves the names in a part: those of a whole expression, and those that lookup knows.
type partInput struct {
	input
	lookup func(name string) (ref.Val, bool)
}

// ResolveName implements cel.Activation.
func (p *partInput) ResolveName(name string) (any, bool) {
	if value, ok := p.lookup(name); ok {
		return immutable(value), true
	}
	return p.input.ResolveName(name)
}
