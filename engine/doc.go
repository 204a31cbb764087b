// Package engine turns the CEL of a rule into facts about objects.
//
// It promises that a rule is compiled once and understood completely or refused with every reason at once; that the
// facts are a pure function of the object; and that no expression runs away: size and nesting are bounded when it is
// compiled, what it builds and the time of its loops are bounded when it runs. An error, a panic and a deadline are facts
// too, so that doubt keeps. Explain takes the facts apart for people.
//
// It refuses to do I/O, to read the clock and to let expressions read it, and to look at any object but the one it is
// asked about.
package engine

//go:generate go run ./celdoc -o ../docs/cel.md
