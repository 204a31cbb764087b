// SPDX-License-Identifier: Apache-2.0

package mutants

var policyMutants = map[string]Mutant{
	"a subject is deleted a moment before it is due": {
		File: "policy/combine.go",
		Old:  "Due: moved, Owner: v.owner}",
		New:  "Due: moved.Add(-1), Owner: v.owner}",
		Test: "./policy TestDecideWithOneRule",
	},
}
