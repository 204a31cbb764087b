// SPDX-License-Identifier: Apache-2.0

// Package policytest compares decisions about objects with the expected decisions in a want.yaml, at a fixed time. Policies and
// objects are in files beside it.
//
// A test passes only if every subject has the expected decision, all given fields match, and no other decision, error or
// problem occurs.
//
// The package reads neither a clock nor files: the caller passes their content.
package policytest
