// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// Part is a sub-expression and its result. A loop is one part: its iterations are not listed. Sub-expressions that do
// not depend on the object, such as literals, are not parts.
type Part struct {
	Text     string `json:"text"`               // on one line, with the quotes and spaces of docs/reference/cel.md
	Variable string `json:"variable,omitempty"` // the variable whose expression contains this part; empty for the rule's own
	Line     int    `json:"line"`               // its position in that expression, from 1
	Column   int    `json:"column"`             // from 1
	Depth    int    `json:"depth"`              // 0 for the parts of the expression itself
	Value    string `json:"value,omitempty"`    // for people; empty if it failed or was not needed
	Err      string `json:"error,omitempty"`    // the error of this part or of a part below it
	Skipped  bool   `json:"skipped,omitempty"`  // not evaluated, because the result does not depend on it: the right side of false && ...
}

// part returns a part and, if it is needed, the parts below it.
func (s *source) part(e ast.Expr, depth int, needed bool) []Part {
	at := s.start(e)
	part := Part{Text: syntax.Format(e, s.tree.SourceInfo()), Variable: s.variable, Line: at.Line(), Column: at.Column() + 1, Depth: depth, Skipped: !needed}
	if !needed {
		return []Part{part}
	}
	if value := s.value(e); types.IsError(value) {
		part.Err = s.evaluator.Describe(value.(*types.Err))
	} else {
		part.Value = Display(value)
	}
	return append([]Part{part}, s.below(e, depth+1, true)...)
}

// below returns the parts of an expression that is already listed, or that adds nothing to its parts.
func (s *source) below(e ast.Expr, depth int, needed bool) []Part {
	if name, ok := variableOf(e); ok {
		return s.definition(name, depth)
	}
	if name, ok := boundBy(e); ok {
		return s.belowBinding(e, name, depth, needed)
	}
	var parts []Part
	var before []ref.Val
	for i, operand := range s.operandsOf(e) {
		needed := needed && isNeeded(e, before)
		parts = append(parts, s.operand(e, i, operand, depth, needed)...)
		var value ref.Val
		if needed {
			value = s.value(operand)
		}
		before = append(before, value)
	}
	return parts
}

// belowBinding returns the parts of a cel.bind(): the bound value, and the result.
func (s *source) belowBinding(e ast.Expr, name string, depth int, needed bool) []Part {
	bound, result := e.AsComprehension().AccuInit(), e.AsComprehension().Result()
	parts := s.operand(e, 0, bound, depth, needed)
	if needed {
		defer s.bind(name, s.value(bound))()
	}
	return append(parts, s.operand(e, 1, result, depth, needed)...)
}

func (s *source) operand(whole ast.Expr, i int, operand ast.Expr, depth int, needed bool) []Part {
	switch {
	case syntax.IsConstant(operand):
		return nil
	case isSilent(whole, i, operand):
		return s.below(operand, depth, needed)
	}
	return s.part(operand, depth, needed)
}

// definition returns the parts of the expression of a variable, the first time that the variable occurs.
func (x *Explainer) definition(name string, depth int) []Part {
	s := x.sourceOf(name)
	if s == nil || s.explained || syntax.IsConstant(s.tree.Expr()) {
		return nil
	}
	s.explained = true
	return s.part(s.tree.Expr(), depth, true)
}
