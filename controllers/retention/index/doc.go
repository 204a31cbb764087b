// Package index keeps, for one kind, the facts about every subject, ordered by when each is due.
//
// It promises that facts are all it keeps (the objects are gone), that a subject is judged again whenever its facts, the
// rules that apply to it or the time have changed, and that nothing is due before every rule that has a say has facts
// about it.
//
// It refuses to do I/O, to read a clock and to start goroutines. All methods are safe for concurrent use.
package index
