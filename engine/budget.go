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

// MaxBuilt is how many bytes of text and lists the expressions of one rule may build about one object. Kubernetes holds
// no object of more than about 1.5 MB, so it is enough to rewrite all of one several times. What a loop collects is not
// counted: it is bounded by MaxSteps, within which cel-go was seen to allocate up to 94 MB.
const MaxBuilt = 16 << 20

// errBuilds is what a call gives that would build more than is left.
var errBuilds = errors.New(refusal())

func refusal() string {
	return fmt.Sprintf("builds more than %d MiB of text and lists, or compares as much", MaxBuilt>>20)
}

// builtVariable is where a guarded call finds the input and with it the budget. No expression can contain the name.
const builtVariable = "@built"

// spend takes what a call costs from the budget of the evaluation. Once a call was refused every later one is: || and
// exists() go on after an error, and could otherwise try again and again.
func (i *input) spend(price int) bool {
	if i.built > MaxBuilt || price > MaxBuilt-i.built {
		i.built = MaxBuilt + 1
		return false
	}
	i.built += price
	return true
}

// budgetOf finds the budget of the evaluation. What cel-go computes while it plans has none, and is made of literals.
func budgetOf(frame *interpreter.ExecutionFrame) *input {
	if v, ok := frame.ResolveName(builtVariable); ok {
		if in, ok := v.(*input); ok {
			return in
		}
	}
	return &input{}
}

// guarded is a call that pays before it is made. It is on purpose no interpreter.InterpretableCall: cel-go would put its
// own node for a regular expression in its place.
type guarded struct {
	id       int64
	function string
	args     []interpreter.InterpretableV2
	price    cost.Price
	after    func(result ref.Val) int // what cannot be known before, and is small for each call; may be nil
	impl     *functions.Overload
	always   bool // it costs something even of a number
	parses   bool // it costs nothing of a short text
}

// ID implements interpreter.Interpretable.
func (g *guarded) ID() int64 { return g.id }

// Eval implements interpreter.Interpretable.
func (g *guarded) Eval(vars interpreter.Activation) ref.Val { return g.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2, for functions that are strict, as all of ours are.
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

// pays tells the few calls that cost something worth counting from those that do not, which are faster for it.
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

// call calls the function the way cel-go's own nodes do.
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

// isScalar reports whether a value is so small that no function makes something large of it alone.
func isScalar(v ref.Val) bool {
	switch v.(type) {
	case types.Int, types.Uint, types.Double, types.Bool, types.Duration, types.Timestamp, types.Null:
		return true
	}
	return false
}
