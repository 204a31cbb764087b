// Package cost knows what calls of CEL functions cost before they are made: how many bytes they allocate, or how many steps they take.
//
// It promises that no price is less than what the call costs, but for a constant amount, and that finding it takes no longer than the most
// that it may be. engine refuses calls that cost too much.
package cost

import "github.com/google/cel-go/common/types/ref"

const (
	// MaxRange is how many elements lists.range and findAll give at most.
	MaxRange = 10_000
	// MaxPrecision is how many decimals format() writes at most.
	MaxPrecision = 100
)

// Operands are the arguments of a call, the receiver first. An array, so that it stays on the stack.
type Operands [4]ref.Val

// Map is a map of an object, whose fields can be had without copying them.
type Map interface{ Fields() map[string]any }

// List is a list of an object, likewise.
type List interface{ Elements() []any }

// Price is at least what a call will allocate, or for a comparison its steps. It may stop counting above most, and it
// must not itself build anything that is large.
type Price func(args Operands, most int) int
