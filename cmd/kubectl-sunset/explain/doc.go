// SPDX-License-Identifier: Apache-2.0

// Package explain explains why one object is deleted or kept: what each rule says about it, where the rule's settings come
// from, what keeps the object, and what would change that.
//
// A Page is a pure function of its Input, so live objects and objects in files have the same pages.
//
// The package reads nothing and decides nothing: decisions come from package policy.
package explain
