// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
)

// Relations says what a rule asks about how its objects relate to others. The zero value asks nothing: the facts depend on the
// object alone.
type Relations uint8

const (
	AsksReferences Relations = 1 << iota // which objects refer to the object by name: the variable references
	AsksTargets                          // which objects the object refers to, and which of these do not exist: targets
	AsksSelected                         // how many objects the label selector of the object matches: selected
)

// String returns the variables that the relations are about.
func (r Relations) String() string {
	var names []string
	for i, name := range []string{"references", "targets", "selected"} {
		if r.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Undeclared returns why rules that read these variables keep their objects, if nothing says how objects of the kind are related.
func (r Relations) Undeclared() error {
	return fmt.Errorf("no policy declares %s for this kind; write spec.references", r)
}

// Has reports whether some of the relations are asked.
func (r Relations) Has(some Relations) bool { return r&some != 0 }
