package engine

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// MaxSteps is how many steps the loops of one rule may take on one object: one for each node of the syntax tree of what is
// done again and again. Unlike a time it is the same on every machine.
const MaxSteps = 500_000

var errSteps = fmt.Errorf("the loops of the rule take more than %d steps on this object", MaxSteps)

// stepsOf are the steps of each turn of a loop, by the id of the expression that makes it.
func stepsOf(tree ast.Expr) map[int64]int {
	all := map[int64]int{}
	ast.PreOrderVisit(tree, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind && goesOver(e.AsComprehension()) {
			step := e.AsComprehension().LoopStep()
			all[step.ID()] = nodes(step)
		}
	}))
	return all
}

func nodes(tree ast.Expr) int {
	n := 0
	ast.PreOrderVisit(tree, ast.NewExprVisitor(func(ast.Expr) { n++ }))
	return n
}

// countSteps makes every turn of a loop pay for its steps.
func countSteps(steps map[int64]int) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if n, ok := steps[i.ID()]; ok {
			return &turn{InterpretableV2: i, steps: n}, nil
		}
		return i, nil
	}
}

// turn is one turn of a loop.
type turn struct {
	interpreter.InterpretableV2
	steps int
}

// Eval implements interpreter.Interpretable.
func (c *turn) Eval(vars interpreter.Activation) ref.Val { return c.Exec(interpreter.AsFrame(vars)) }

// Exec implements interpreter.InterpretableV2. An error would not end the loop: || and exists() go on after one.
func (c *turn) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	budget := budgetOf(frame)
	if budget.steps += c.steps; budget.steps > MaxSteps {
		panic(interpreter.EvalCancelledError{Message: errSteps.Error(), Cause: interpreter.CostLimitExceeded})
	}
	return c.InterpretableV2.Exec(frame)
}

// tookTooMany reports whether an evaluation ended for its steps.
func tookTooMany(err error) bool { return errors.As(err, &interpreter.EvalCancelledError{}) }
