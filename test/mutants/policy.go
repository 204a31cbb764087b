package mutants

var policyMutants = map[string]Mutant{
	"a subject is deleted a moment before it is due": {
		File: "policy/combine.go",
		Old:  "case now.Before(v.due):",
		New:  "case now.Before(v.due.Add(-1)):",
		Test: "./policy TestDecideWithOneRule",
	},
}
