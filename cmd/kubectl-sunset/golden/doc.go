// Package golden runs want.yaml files: policies and objects beside them, a fixed time, and the verdicts that are wanted.
//
// It promises that a case passes only if every subject has the verdict that is wanted, every field given matches, and
// no verdict, error or problem is left over.
//
// It refuses to read a clock.
package golden
