// Package explain gathers why one object goes or stays: what each rule says about it and where its settings come from,
// what keeps it, and what would change that.
//
// It promises that a Page is a pure function of its Input, so that the page of a live object and that of one in a file
// are alike.
//
// It refuses to read anything, and to decide: verdicts are those of package policy.
package explain
