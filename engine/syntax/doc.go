// SPDX-License-Identifier: Apache-2.0

// Package syntax reads the syntax trees and the texts of CEL expressions, and formats them for people.
//
// It promises that trees stay as they are, and that expressions and types are formatted as in docs/reference/cel.md. It knows
// the names of the variables of Sunset and the limits of an expression, but no rules and no objects. It neither
// compiles nor evaluates.
package syntax

// Limits of an expression, checked when it is compiled.
const (
	MaxExpressionSize = 10240 // characters
	MaxDepth          = 100   // nested parentheses, calls and operators
	MaxNodes          = 10000 // of the syntax tree, after variables and macros are expanded
	MaxNesting        = 2     // nested comprehensions (all, exists, map, filter, ...)
)
