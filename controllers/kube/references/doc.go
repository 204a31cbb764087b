// SPDX-License-Identifier: Apache-2.0

// Package references tracks which objects refer to which others by name, which of these exist, and which labels selectors match.
//
// It promises:
//   - The cost of a change of an object depends on its own references and on those to it, not on the number of all references.
//     Labels are compared with the selectors of a namespace only when the first object has them.
//   - It stores only what rules ask about.
//   - Nothing counts as unreferenced, missing or unselected while a kind that matters is not completely known, or an object of such
//     a kind could not be read.
//
// It refuses to watch anything and to evaluate CEL: its callers do so and pass it the references. Policies decide what happens
// to an unreferenced object.
package references
