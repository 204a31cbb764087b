// Package policytest compares the verdicts on objects with those that a want.yaml wants: policies and objects beside it, and a fixed
// time.
//
// It promises that a test passes only if every subject has the verdict that is wanted, every field given matches, and
// no verdict, error or problem is left over.
//
// It refuses to read a clock, and files: it gets what they hold.
package policytest
