// Package preview says what would go and when: a stream of objects, policies and a time become verdicts, and with the
// rules in force beside them, changes.
//
// It promises that the answer is the one the controller would give at that time, that what it holds is one small row a
// subject (two where something changes) and never the objects, and that every expression that fails is told.
//
// It refuses to read a clock, to talk to a cluster and to delete anything.
package preview
