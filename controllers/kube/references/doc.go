// SPDX-License-Identifier: Apache-2.0

// Package references tracks which objects refer to which others by name, which of these exist, and how many objects selectors match.
// An Index has what was read of the objects. Asked and Declared say what rules ask about which kinds, and how kinds refer to others:
// those of Kubernetes, and those that policies declare.
//
// It promises:
//   - The cost of a change of an object depends on its own references and on those to it, not on the number of all references.
//     Labels are compared with the selectors of a namespace only when the first object has them.
//   - It stores only what rules ask about.
//   - Nothing counts as unreferenced, missing or unselected while a kind that matters is not completely known, or an object of such
//     a kind could not be read. An interrupted watch is no doubt for a few seconds: Paused reports it.
//   - It remembers for a minute when an object was last used less, so that its callers can wait for a quiet period.
//
// It refuses to watch anything and to evaluate CEL: package referrers watches the objects, package extract reads them, and both pass the
// results. Policies decide what happens to an object.
package references
