package mutants

// rightsTable changes the permissions of ServiceAccounts.
var rightsTable = map[string]Mutant{
	"rights: a remembered answer is of now": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestTheAgeOfAnAnswerCountsFromItsRequest",
		Old: "return latest.at, latest.err",
		New: "return now, latest.err",
	},
	"rights: an answer counts from when it came": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestTheAgeOfAnAnswerCountsFromItsRequest",
		Old: "answer{at: now, err: err, allowed",
		New: "answer{at: c.clock.Now(), err: err, allowed",
	},
	"rights: an owner is deleted without permission to read it": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestRightsToAnOwner",
		Old: "const owning = \"get,delete\"",
		New: "const owning = \"delete\"",
	},
	"rights: answers about owners count for long": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestAnswersCountForASecond",
		Old: "kind: kind, verbs: owning}, freshFor)",
		New: "kind: kind, verbs: owning}, allowedEvery)",
	},
	"rights: answers are forgotten after a second": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestTheLoopTellsChanges",
		Old: "return now.Sub(a.at) > forget",
		New: "return now.Sub(a.at) > freshFor",
	},
	"rights: the first answer is no change": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestTheLoopTellsChanges",
		Old: "!ok || fmt.Sprint(before.err)",
		New: "ok && fmt.Sprint(before.err)",
	},
	"rights: an answer that does not tell forgets the one before": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestAllowedIsTheLatestAnswerThatTold",
		Old: "err == nil || before.allowed && ",
		New: "err == nil && ",
	},
	"rights: trouble is a missing right": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestARightThatIsMissingIsToldFromTrouble",
		Old: "return fmt.Errorf(\"check the permissions of ServiceAccount %s/%s: %w\", q.namespace, q.account, err)",
		New: "return fmt.Errorf(\"%w: check the permissions of ServiceAccount %s/%s: %v\", ErrMissing, q.namespace, q.account, err)",
	},
}
