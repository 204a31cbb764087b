// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
)

// freezeAttributes makes bound values immutable, as the CEL specification requires. cel-go v0.31.0 uses an empty list that
// cel.bind binds as an accumulator: with l bound to [], size(l + [1]) is 1, and afterwards size(l) is 1 too. Variables
// that an expression uses twice are bound in the same way. The results of the steps of loops are accumulators, which stay mutable.
func freezeAttributes(steps map[int64]int) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		a, ok := i.(interpreter.InterpretableAttribute)
		if _, isStep := steps[i.ID()]; !ok || isStep || isAccumulator(a.Attr()) {
			return i, nil
		}
		return &frozenAttribute{a}, nil
	}
}

// isAccumulator reports whether an attribute is the accumulator of a macro, which must stay mutable.
func isAccumulator(a interpreter.Attribute) bool {
	named, ok := a.(interpreter.NamespacedAttribute)
	return ok && slices.Equal(named.CandidateVariableNames(), []string{parser.HiddenAccumulatorName})
}

type frozenAttribute struct {
	interpreter.InterpretableAttribute
}

// Exec implements interpreter.InterpretableV2.
func (s *frozenAttribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return immutable(s.InterpretableAttribute.Exec(frame))
}

// Eval implements interpreter.Interpretable.
func (s *frozenAttribute) Eval(vars interpreter.Activation) ref.Val {
	return immutable(s.InterpretableAttribute.Eval(vars))
}

func immutable(v ref.Val) ref.Val {
	if list, ok := v.(traits.MutableLister); ok && list.Size() == types.IntZero {
		return types.NewRefValList(adapter{}, nil)
	}
	return v
}
