// Package mutants changes the product in small ways, each of which a named test must notice.
//
// A mutant is one change of meaning: a bound that is off by one, a check left out, a result taken for another. It is killed when
// its test fails. The table is a measure of the tests: make mutants runs all of it, and every test run checks that each change
// still fits the source and that each named test exists.
package mutants

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sunset-k8s/sunset/test/overlay"
)

// Mutant is one change and the test that must notice it.
type Mutant struct {
	File     string // from the root of the repository
	Old, New string // Old must be there exactly once
	Test     string // "PACKAGE NAME", as in "./policy TestDecide"
}

func (m Mutant) patch() overlay.Patch { return overlay.Patch{File: m.File, Old: m.Old, New: m.New} }

// all has every mutant, by what it does.
var all = merged(
	policyMutants,
	throttleMutants,
	rightsTable,
	objectsTable,
	policyTable,
	changeTable,
	ledgersTable,
	indexTable,
	engineTable,
	imagesTable,
	retentionTable,
	ledgerTable,
	policiesTable,
)

// merged joins tables. It panics when two tables use one name.
func merged(tables ...map[string]Mutant) map[string]Mutant {
	all := map[string]Mutant{}
	for _, table := range tables {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if _, twice := all[name]; twice {
				panic(fmt.Sprintf("two mutants are named %q", name))
			}
			all[name] = table[name]
		}
	}
	return all
}
