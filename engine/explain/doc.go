// SPDX-License-Identifier: Apache-2.0

// Package explain shows people how the parts of a CEL expression evaluate on one object.
//
// It promises that the value of a part is the value of its text outside of the expression, and that a part on which the
// result does not depend is not evaluated. It evaluates nothing itself: an Evaluator does, with the limits of rules.
//
// The package knows no rules and no facts, does no I/O, and caches nothing between explanations.
package explain
