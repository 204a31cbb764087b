// SPDX-License-Identifier: Apache-2.0

package policy

// Relations says what a rule asks about how its objects relate to others. The zero value asks nothing: the facts depend on the
// object alone.
type Relations uint8

const (
	AsksReferences Relations = 1 << iota // which objects refer to the object by name: the variable references
	AsksTargets                          // which objects the object refers to, and which of these do not exist: targets
	AsksSelected                         // how many objects the label selector of the object matches: selected
)

// Has reports whether some of the relations are asked.
func (r Relations) Has(some Relations) bool { return r&some != 0 }
