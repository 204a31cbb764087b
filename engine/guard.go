// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/engine/cost"
)

// guard charges the calls whose results or work exceed a constant amount. It leaves all other calls as they are,
// including those that cel-go evaluates once when it plans.
func guard(env *cel.Env) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if ok && isMembershipInLiteral(call) {
			return hashing(call), nil
		}
		if !ok || len(call.Args()) == 0 || len(call.Args()) > len(cost.Operands{}) || isCheap(call) {
			return i, nil
		}
		price, ok := cost.Functions[call.Function()]
		parses := slices.Contains(cost.Parsers, call.Function())
		if !ok && !parses {
			return i, nil
		}
		if parses {
			price = cost.PriceOfParse
		}
		g := &guarded{id: call.ID(), function: call.Function(), args: call.Args(), price: price, parses: parses}
		g.always = g.function == cost.RangeFunction || g.function == operators.In
		switch g.function {
		case operators.Equals:
			g.impl = &functions.Overload{Binary: types.Equal}
		case operators.NotEquals:
			g.impl = &functions.Overload{Binary: unequal}
		case cost.MatchesFunction, cost.FindFunction, cost.FindAllFunction:
			return guardRegex(g)
		case "configMapsIn", "secretsIn":
			g.after = cost.OfFound
			fallthrough
		default:
			if g.impl = implementation(env, call); g.impl == nil {
				return nil, fmt.Errorf("no such overload: %s", g.function)
			}
		}
		return g, nil
	}
}

// isCheap recognizes calls of a guarded function that are always cheap. The accumulator of a macro grows in place by
// one element. A comparison with a literal number or string stops at the end of the literal. cel-go evaluates the
// conversion of a literal when it plans.
func isCheap(call interpreter.InterpretableCall) bool {
	args := call.Args()
	switch call.Function() {
	case operators.Add:
		a, ok := args[0].(interpreter.InterpretableAttribute)
		return ok && isAccumulator(a.Attr())
	case operators.Equals, operators.NotEquals:
		return isSmallLiteral(args[0]) || isSmallLiteral(args[1])
	}
	_, literal := args[0].(interpreter.InterpretableConst)
	return literal && overloads.IsTypeConversionFunction(call.Function())
}

// isMembershipInLiteral reports whether a call is x in ['a', 'b']. cel-go turns most such lists into sets, and the others are short.
func isMembershipInLiteral(call interpreter.InterpretableCall) bool {
	if call.Function() != operators.In || len(call.Args()) != 2 {
		return false
	}
	_, literal := call.Args()[1].(interpreter.InterpretableConst)
	return literal
}

// hashing returns the same call with an operand that can be looked up in a set: as a key, a mapValue or a listValue would panic.
func hashing(call interpreter.InterpretableCall) interpreter.InterpretableCall {
	args := []interpreter.InterpretableV2{&hashed{call.Args()[0]}, call.Args()[1]}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), args, func(args ...ref.Val) ref.Val {
		return args[1].(traits.Container).Contains(args[0])
	})
}

type hashed struct{ interpreter.InterpretableV2 }

// Eval implements interpreter.Interpretable.
func (h *hashed) Eval(vars interpreter.Activation) ref.Val { return h.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2.
func (h *hashed) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	switch v := h.InterpretableV2.Exec(frame).(type) {
	case mapValue:
		return v.slow()
	case listValue:
		return v.slow()
	default:
		return v
	}
}

func isSmallLiteral(i interpreter.InterpretableV2) bool {
	c, ok := i.(interpreter.InterpretableConst)
	if !ok {
		return false
	}
	_, isText := c.Value().(types.String)
	return isText || isScalar(c.Value())
}

// implementation returns the function that cel-go would call: the overload that the checker chose, or the function that
// selects an overload by the arguments.
func implementation(env *cel.Env, call interpreter.InterpretableCall) *functions.Overload {
	bindings, err := env.Functions()[call.Function()].Bindings()
	if err != nil {
		return nil
	}
	var byName *functions.Overload
	for _, b := range bindings {
		switch b.Operator {
		case call.OverloadID():
			return b
		case call.Function():
			byName = b
		}
	}
	return byName
}

func unequal(a, b ref.Val) ref.Val { return types.Bool(types.Equal(a, b) != types.True) }
