// SPDX-License-Identifier: Apache-2.0

package mutants

// permissionsTable changes the permissions of ServiceAccounts.
var permissionsTable = map[string]Mutant{
	"permissions: a cached answer counts as new": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestAgeOfAnAnswerCountsFromItsRequest",
		Old: "return latest.at, latest.err",
		New: "return now, latest.err",
	},
	"permissions: the age of an answer counts from its arrival": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestAgeOfAnAnswerCountsFromItsRequest",
		Old: "answer{at: now, err: err, allowed",
		New: "answer{at: c.clock.Now(), err: err, allowed",
	},
	"permissions: an owner is deleted without permission to read it": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestCheckOwner",
		Old: "const ownerVerbs = \"get,delete\"",
		New: "const ownerVerbs = \"delete\"",
	},
	"permissions: answers about owners are valid for too long": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestAnswersCountForASecond",
		Old: "kind: kind, verbs: ownerVerbs}, preflight.MaxAge)",
		New: "kind: kind, verbs: ownerVerbs}, allowedEvery)",
	},
	"permissions: answers are forgotten after a second": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestRefresherReportsChanges",
		Old: "return now.Sub(a.at) > forget",
		New: "return now.Sub(a.at) > preflight.MaxAge",
	},
	"permissions: the first answer does not count as a change": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestRefresherFollowsTheRules",
		Old: "!ok || fmt.Sprint(before.err)",
		New: "ok && fmt.Sprint(before.err)",
	},
	"permissions: an inconclusive answer replaces the previous one": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestAllowedIsTheLatestAnswerThatTold",
		Old: "err == nil || before.allowed && ",
		New: "err == nil && ",
	},
	"permissions: an error counts as a missing permission": {
		File: "controllers/policyset/permissions/checker.go", Test: "./controllers/policyset/permissions TestCheckDistinguishesMissingFromErrors",
		Old: "return fmt.Errorf(\"check the permissions of ServiceAccount %s/%s: %w\", q.namespace, q.account, err)",
		New: "return fmt.Errorf(\"%w: check the permissions of ServiceAccount %s/%s: %v\", preflight.ErrPermission, q.namespace, q.account, err)",
	},
}
