// SPDX-License-Identifier: Apache-2.0

// Package policy interprets retention rules: which settings apply in which namespace, and which decision follows from the facts
// about a subject.
//
// Every function is a pure function of its arguments, and every result has a reason. If something is unknown, the subject is
// kept: the zero value of every result deletes nothing.
//
// The package does no I/O, reads no clock and does not know CEL. Package engine turns expressions into facts.
package policy
