// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// MaxSteps is the maximum number of steps of the loops of one rule on one object: each iteration counts one step for
// each node of the syntax tree of the loop's body. Unlike a time limit it is the same on every machine.
const MaxSteps = 500_000

var errSteps = fmt.Errorf("the loops of the rule take more than %d steps on this object", MaxSteps)

// stepsOf returns the steps of one iteration of each loop, by the id of the expression that the loop repeats.
func stepsOf(tree ast.Expr) map[int64]int {
	all := map[int64]int{}
	for e := range syntax.All(tree) {
		if e.Kind() == ast.ComprehensionKind && syntax.Iterates(e.AsComprehension()) {
			step := e.AsComprehension().LoopStep()
			all[step.ID()] = nodes(step)
		}
	}
	return all
}

func nodes(tree ast.Expr) int {
	n := 0
	for range syntax.All(tree) {
		n++
	}
	return n
}

// countSteps charges every iteration of a loop for its steps.
func countSteps(steps map[int64]int) interpreter.InterpretableDecoratorV2 {
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if n, ok := steps[i.ID()]; ok {
			return &iteration{InterpretableV2: i, steps: n}, nil
		}
		return i, nil
	}
}

// iteration is one iteration of a loop.
type iteration struct {
	interpreter.InterpretableV2
	steps int
}

// Eval implements interpreter.Interpretable.
func (c *iteration) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// Exec implements interpreter.InterpretableV2. It panics, because an error does not end the loop: || and exists()
// continue after an error.
func (c *iteration) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	budget := budgetOf(frame)
	if budget.steps += c.steps; budget.steps > MaxSteps {
		panic(interpreter.EvalCancelledError{Message: errSteps.Error(), Cause: interpreter.CostLimitExceeded})
	}
	return c.InterpretableV2.Exec(frame)
}

// exceededSteps reports whether an evaluation ended because of its steps.
func exceededSteps(err error) bool { return errors.As(err, &interpreter.EvalCancelledError{}) }
