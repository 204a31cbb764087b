// SPDX-License-Identifier: Apache-2.0

package mutants

var policyMutants = map[string]Mutant{
	"a subject is deleted a moment before it is due": {
		File: "policy/combine.go",
		Old:  "Due: v.due, Owner: v.owner}",
		New:  "Due: v.due.Add(-1), Owner: v.owner}",
		Test: "./policy TestDecideWithOneRule",
	},
}
