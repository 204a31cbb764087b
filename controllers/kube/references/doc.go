// SPDX-License-Identifier: Apache-2.0

// Package references tracks the references to ConfigMaps and Secrets.
//
// It promises:
//   - The cost of a change of a referrer depends on the references of this referrer, not on the number of all references.
//   - No object counts as unreferenced while a kind of referrers is not completely known, or a referrer could not be read.
//
// It refuses to watch anything and to evaluate CEL: its callers do so and pass it the references. Policies decide what happens
// to an unreferenced object.
package references
