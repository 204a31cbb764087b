package mutants

// rightsTable changes the permissions of ServiceAccounts.
var rightsTable = map[string]Mutant{
	"rights: a remembered answer is of now": {
		File: "controllers/rights/checker.go", Test: "./controllers/rights TestTheAgeOfAnAnswerCountsFromItsRequest",
		Old: "return latest.at, latest.err",
		New: "return now, known.err",
	},
	"rights: an answer counts from when it came": {
		File: "controllers/rights/checker.go", Test: "./controllers/rights TestTheAgeOfAnAnswerCountsFromItsRequest",
		Old: "\tc.answers[q] = answer{at: now, err: err}\n\treturn now, err",
		New: "\tnow = c.clock.Now()\n\tc.answers[q] = answer{at: now, err: err}\n\treturn now, err",
	},
	"rights: answers are forgotten after a second": {
		File: "controllers/rights/checker.go", Test: "./controllers/rights TestTheLoopTellsChanges",
		Old: "return now.Sub(a.at) > forget",
		New: "return now.Sub(a.at) > freshFor",
	},
	"rights: the first answer is no change": {
		File: "controllers/rights/checker.go", Test: "./controllers/rights TestTheLoopTellsChanges",
		Old: "!known || fmt.Sprint(before.err)",
		New: "known && fmt.Sprint(before.err)",
	},
	"rights: trouble is a missing right": {
		File: "controllers/rights/checker.go", Test: "./controllers/rights TestARightThatIsMissingIsToldFromTrouble",
		Old: "return fmt.Errorf(\"ask for the rights of %s/%s: %w\", q.namespace, q.account, err)",
		New: "return fmt.Errorf(\"%w: ask for the rights of %s/%s: %v\", ErrMissing, q.namespace, q.account, err)",
	},
}
