// SPDX-License-Identifier: Apache-2.0

// Package mutants makes small changes to the product. A named test must fail for each.
//
// A mutant is one change of behaviour: a bound that is off by one, a missing check, a wrong result. A mutant is killed if its
// test fails. The table measures the tests: "make mutants" runs all of it, and every test run checks that each change still
// fits the source and that each named test exists.
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
	Old, New string // Old must occur exactly once
	Test     string // "PACKAGE NAME", as in "./policy TestDecide"
}

func (m Mutant) patch() overlay.Patch { return overlay.Patch{File: m.File, Old: m.Old, New: m.New} }

// all contains every mutant, by title.
var all = merged(
	policyMutants,
	throttleMutants,
	archiveTable,
	snapshotTable,
	permissionsTable,
	kubeTable,
	policyTable,
	changeTable,
	statusTable,
	ledgersTable,
	indexTable,
	engineTable,
	imagesTable,
	digestsTable,
	referencesTable,
	reportsTable,
	retentionTable,
	ledgerTable,
	policysetTable,
	timesTable,
)

// merged merges tables. It panics if two tables contain the same title.
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
