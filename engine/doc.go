// SPDX-License-Identifier: Apache-2.0

// Package engine evaluates the CEL expressions of rules and returns facts about objects.
//
// It promises that a rule is compiled once, and that an invalid rule is rejected with all of its problems at once. The
// facts are a pure function of the object and, if the rule reads them, of its references. No expression exceeds its limits:
// the compiler limits size and nesting, and the evaluation limits what an expression builds and how long its loops run.
// Errors, panics and exceeded deadlines are facts too, so that Sunset keeps the object. Explain shows how each part of an
// expression evaluates.
//
// The package does no I/O, does not read the clock or let expressions read it, and never reads another object than the
// one it evaluates.
package engine

//go:generate go run ./celdoc -o ../docs/reference/cel.md
