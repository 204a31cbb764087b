package engine

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
)

// partsOf returns the parts of an expression of the rule.
func (p *probe) partsOf(text string) []Part {
	v := p.view(text)
	if v == nil {
		return nil
	}
	return v.below(v.tree.Expr(), 0, true)
}

// part returns a part and, if it is needed, the parts below it.
func (v *view) part(e ast.Expr, depth int, needed bool) []Part {
	at := v.start(e)
	part := Part{Text: v.textOf(e), Variable: v.variable, Line: at.Line(), Column: at.Column() + 1, Depth: depth, Skipped: !needed}
	if !needed {
		return []Part{part}
	}
	if value := v.value(e); types.IsError(value) {
		part.Err = shorten(diagnose.EvaluationError(value.(*types.Err))).Error()
	} else {
		part.Value = display(value)
	}
	return append([]Part{part}, v.below(e, depth+1, true)...)
}

// below returns the parts of an expression that is already listed, or that adds nothing to its parts.
func (v *view) below(e ast.Expr, depth int, needed bool) []Part {
	if name, ok := variableOf(e); ok {
		return v.probe.definition(name, depth)
	}
	if name, ok := boundBy(e); ok {
		return v.belowBinding(e, name, depth, needed)
	}
	var parts []Part
	var before []ref.Val
	for i, operand := range v.operandsOf(e) {
		needed := needed && needs(e, before)
		parts = append(parts, v.operand(e, i, operand, depth, needed)...)
		var value ref.Val
		if needed {
			value = v.value(operand)
		}
		before = append(before, value)
	}
	return parts
}

// belowBinding returns the parts of a cel.bind(): the bound value, and the result.
func (v *view) belowBinding(e ast.Expr, name string, depth int, needed bool) []Part {
	bound, result := e.AsComprehension().AccuInit(), e.AsComprehension().Result()
	parts := v.operand(e, 0, bound, depth, needed)
	if needed {
		defer v.bind(name, v.value(bound))()
	}
	return append(parts, v.operand(e, 1, result, depth, needed)...)
}

func (v *view) operand(whole ast.Expr, i int, operand ast.Expr, depth int, needed bool) []Part {
	switch {
	case syntax.IsConstant(operand):
		return nil
	case isSilent(whole, i, operand):
		return v.below(operand, depth, needed)
	}
	return v.part(operand, depth, needed)
}

// definition returns the parts of the expression of a variable, the first time that the variable occurs.
func (p *probe) definition(name string, depth int) []Part {
	v := p.viewOf(name)
	if v == nil || v.told || syntax.IsConstant(v.tree.Expr()) {
		return nil
	}
	v.told = true
	return v.part(v.tree.Expr(), depth, true)
}
