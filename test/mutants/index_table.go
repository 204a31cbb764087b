// SPDX-License-Identifier: Apache-2.0

package mutants

// indexTable changes what the index stores about objects: marks and loops.
var indexTable = map[string]Mutant{
	"index: rows evaluated with an earlier snapshot are counted with the new one": {
		File: "controllers/retention/index/has.go", Test: "./controllers/retention/index TestLenAndHas",
		Old: "return x.snapshot == snapshot && x",
		New: "return x",
	},
	"index: a rule whose facts are unknown keeps nothing": {
		File: "controllers/retention/index/partition.go", Test: "./controllers/retention/index TestRuleWithoutFactsKeepsSubjects",
		Old: "\trules = append(rules, p.always...)\n",
		New: "",
	},
	"index: a namespace with unknown labels keeps nothing": {
		File: "controllers/retention/index/partition.go", Test: "./controllers/retention/index TestAgainstTheModel",
		Old: "\tif !synced || !p.known {\n",
		New: "\tif !synced {\n",
	},
	"index: a rule without permission keeps only what it selects": {
		File: "controllers/retention/index/partition.go", Test: "./controllers/retention/index TestAgainstTheModel",
		Old: " || r.Unpermitted {",
		New: " {",
	},
	"index: a rule without permission counts twice": {
		File: "controllers/retention/index/partition.go", Test: "./controllers/retention/index TestAgainstTheModel",
		Old: "if !p.Rules[i].Unpermitted {",
		New: "if true {",
	},
	"index: only one of two rules with the same facts decides": {
		File: "controllers/retention/index/partition.go", Test: "./controllers/retention/index TestRulesWithTheSameExpressions",
		Old: "\tfor end < len(p.byColumn) &&",
		New: "\tfor end == begin && end < len(p.byColumn) &&",
	},
	"marks: an object that was not selected keeps an old mark": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestSinceWhenItIsEligible",
		Old: "column(key); c >= 0 {",
		New: "column(key); c >= 0 && r.fact(c).bits != 0 {",
	},
	"marks: a gap in the watch keeps the mark": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestSinceWhenItIsEligible",
		Old: "case gap, old != nil && old.voids(f):",
		New: "case old != nil && old.voids(f):",
	},
	"marks: a newer version of a deleted object is deleted": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestMarkGone",
		Old: "old.is(isGone) && sameVersion",
		New: "old.is(isGone)",
	},
	"marks: a start in the future that is gone counts": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestSinceWhenItIsEligible",
		Old: "\tif first.After(now) {",
		New: "\tif first.IsZero() && first.After(now) {",
	},
	"marks: an observed use keeps the mark": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestSinceWhenItIsEligible",
		Old: "\tcase !f.has(eligible):\n\t\treturn true\n",
		New: "",
	},
	"marks: a short-lived reference keeps the mark": {
		File: "controllers/retention/index/marks.go", Test: "./controllers/retention/index TestSinceWhenItIsEligible",
		Old: "return next.notBefore().After(f.notBefore())",
		New: "return false",
	},
	"returns: a name that is recreated late counts as recreated": {
		File: "controllers/retention/index/returns.go", Test: "./controllers/retention/index TestObjectsThatAreRecreatedRepeatedlyAreKept",
		Old: " || now.Sub(time.Unix(0, d.at)) > returnsWithin {",
		New: " {",
	},
	"returns: a recreated owner counts as new": {
		File: "controllers/retention/index/returns.go", Test: "./controllers/retention/index TestOwnerThatComesBack",
		Old: "if i.Owner != nil && d.streak > 0 {",
		New: "if i.Owner != nil && d.streak > maxReturns {",
	},
	"returns: any change in the namespace resets the count of recreations": {
		File: "controllers/retention/index/returns.go", Test: "./controllers/retention/index TestRecreationCountResets",
		Old: "if found && rules[k].EditedSince(was) {",
		New: "if found && rules[k] != was {",
	},
	"counts: a changed rank changes no version of its namespace": {
		File: "controllers/retention/index/ranks.go", Test: "./controllers/retention/index TestAgainstTheModel",
		Old: "\t\tx.change(row.partition.namespace)\n",
		New: "",
	},
	"returns: a deletion by others counts as a recreation": {
		File: "controllers/retention/index/returns.go", Test: "./controllers/retention/index TestRecreationCountResets",
		Old: "\tcase row.is(isLeaving):\n",
		New: "\tcase row.is(isLeaving) || row.isPrompt():\n",
	},
	"snapshot: few changed subjects keep their place in the schedule": {
		File: "controllers/retention/index/index.go", Test: "./controllers/retention/index TestSnapshotThatAffectsFewSubjects",
		Old: "\tx.unschedule(row)\n\tx.setNextDue(row, now)\n\tx.reschedule(row)\n",
		New: "\tx.setNextDue(row, now)\n",
	},
}
