// SPDX-License-Identifier: Apache-2.0

// Package cost computes the cost of calls of CEL functions before they run: how many bytes they allocate, or how many
// steps they take.
//
// It promises that a price is never lower than the cost of the call, except for a constant amount. Computing a price
// takes no longer than its upper limit allows. Package engine rejects calls that cost too much.
package cost

import "github.com/google/cel-go/common/types/ref"

const (
	// MaxRange is the maximum number of elements of the results of lists.range and findAll.
	MaxRange = 10_000
	// MaxPrecision is the maximum number of decimals that format() writes.
	MaxPrecision = 100
)

// Operands are the operands of a call, the receiver first. It is an array, so that it stays on the stack.
type Operands [4]ref.Val

// Map is a map of an object. Fields returns its fields without copying them.
type Map interface{ Fields() map[string]any }

// List is a list of an object. Elements returns its elements without copying them.
type List interface{ Elements() []any }

// Price returns an upper bound of the bytes that a call allocates, or of the steps of a comparison. It may stop
// counting above most. It must not build large values.
type Price func(args Operands, most int) int
