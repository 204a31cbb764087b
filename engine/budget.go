// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/engine/cost"
)

// MaxBuilt is how many bytes of text and lists the expressions of one rule may build for one object. Kubernetes stores
// objects of at most about 1.5 MB, so the limit allows several rewrites of a whole object. Lists that a loop collects
// do not count: MaxSteps bounds them, and within it cel-go allocated at most 94 MB in measurements.
const MaxBuilt = 16 << 20

// errBuilds is the result of a call that exceeds the rest of the budget.
var errBuilds = errors.New(refusal())

func refusal() string {
	return fmt.Sprintf("builds more than %d MiB of text and lists, or compares as much", MaxBuilt>>20)
}

// builtVariable is the name by which a guarded call finds the input, which holds the budget. Expressions cannot contain
// the name.
const builtVariable = "@built"

// spend subtracts the price of a call from the budget of the evaluation. After one refusal it refuses every later call:
// || and exists() continue after an error, and could otherwise retry without a limit.
func (i *input) spend(price int) bool {
	if i.built > MaxBuilt || price > MaxBuilt-i.built {
		i.built = MaxBuilt + 1
		return false
	}
	i.built += price
	return true
}

// budgetOf finds the budget of the evaluation. Calls that cel-go evaluates while it plans have none: their operands are
// literals. If something else has the name, which cannot be, nothing is left to spend.
func budgetOf(frame *interpreter.ExecutionFrame) *input {
	v, ok := frame.ResolveName(builtVariable)
	if !ok {
		return &input{}
	}
	if in, ok := v.(*input); ok {
		return in
	}
	return &input{built: MaxBuilt + 1, steps: MaxSteps}
}

// guarded is a call that is charged before it runs. It deliberately does not implement interpreter.InterpretableCall:
// cel-go would replace it with its own node for regular expressions.
type guarded struct {
	id       int64
	function string
	args     []interpreter.InterpretableV2
	price    cost.Price
	after    func(result ref.Val) int // for a cost that is unknown before the call, and small for each call; may be nil
	impl     *functions.Overload
	always   bool // numbers cost something too
	parses   bool // short strings cost nothing
}

// ID implements interpreter.Interpretable.
func (g *guarded) ID() int64 { return g.id }

// Eval implements interpreter.Interpretable.
func (g *guarded) Eval(vars interpreter.Activation) ref.Val { return g.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2 for strict functions. All of our functions are strict.
func (g *guarded) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var args cost.Operands
	for i, arg := range g.args {
		if args[i] = arg.Exec(frame); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	if g.pays(args) {
		budget := budgetOf(frame)
		if budget.built > MaxBuilt || !budget.spend(g.price(args, MaxBuilt-budget.built)) {
			return types.LabelErrNode(g.id, types.WrapErr(errBuilds))
		}
	}
	result := g.call(args)
	if g.after != nil && !budgetOf(frame).spend(g.after(result)) {
		result = types.WrapErr(errBuilds)
	}
	return types.LabelErrNode(g.id, result)
}

// pays reports whether a call costs something worth counting. Most calls do not, and skipping the count makes them
// faster.
func (g *guarded) pays(args cost.Operands) bool {
	switch {
	case g.always:
		return true
	case g.parses:
		return cost.LongestText(args) > cost.FreeText
	default:
		return !isScalar(args[0])
	}
}

// call calls the function in the same way as cel-go's own nodes.
func (g *guarded) call(args cost.Operands) ref.Val {
	trait := g.impl.OperandTrait
	switch {
	case trait != 0 && !args[0].Type().HasTrait(trait):
		return types.NewErr("no such overload: %s", g.function)
	case len(g.args) == 1 && g.impl.Unary != nil:
		return g.impl.Unary(args[0])
	case len(g.args) == 2 && g.impl.Binary != nil:
		return g.impl.Binary(args[0], args[1])
	}
	return g.impl.Function(append([]ref.Val(nil), args[:len(g.args)]...)...)
}

// isScalar reports whether a value is so small that no function can build a large value from it alone.
func isScalar(v ref.Val) bool {
	switch v.(type) {
	case types.Int, types.Uint, types.Double, types.Bool, types.Duration, types.Timestamp, types.Null:
		return true
	}
	return false
}
