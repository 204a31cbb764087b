// Package policy says what a retention rule means: which settings apply where, and what the facts about a subject add
// up to.
//
// It promises that everything here is a pure function of its arguments, that every answer has a reason, and that doubt
// keeps: the zero value of every answer deletes nothing.
//
// It refuses to do I/O, to read a clock and to know CEL. Expressions become facts in package engine.
package policy
