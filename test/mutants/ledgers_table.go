package mutants

// ledgersTable changes what is written into ledgers, and when.
var ledgersTable = map[string]Mutant{
	"ledgers: a busy server's 5xx is certain": {
		File: "controllers/ledgers/request.go", Test: "./controllers/ledgers TestStuckObjectsDoNotUseUpLimits",
		Old: "\tcase o.Unsure:\n",
		New: "\tcase o.Unsure && o.Result != retention.Busy:\n",
	},
	"ledgers: a subject that has changed stands": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestADeletionIsSentAsRecorded",
		Old: "r == nil || !r.stands || r.subject != subjectOf(i) {",
		New: "r == nil || !r.stands {",
	},
	"ledgers: an entry outlives allowUnfinishedOwner": {
		File: "controllers/ledgers/request.go", Test: "./controllers/ledgers TestADeletionIsSentAsRecorded",
		Old: "Outcome: i.Outcome, AllowUnfinished: i.Rule.AllowUnfinished,",
		New: "Outcome: i.Outcome,",
	},
	"ledgers: an owner that was named before is written down": {
		File: "controllers/ledgers/request.go", Test: "./controllers/ledgers TestAnOwnerIsWrittenDownForTheVersionThatNamesIt",
		Old: "return e, s, s == r.subject",
		New: "return e, s, true",
	},
	"ledgers: another policy's deletion is recorded": {
		File: "controllers/ledgers/request.go", Test: "./controllers/ledgers TestNoLedgerRecordsADeletionOfAnotherPolicy",
		Old: "if !ok || i.Rule.PolicyUID != policyUID {",
		New: "if !ok {",
	},
	"ledgers: another target is sent than was written down": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestADeletionIsSentAsRecorded",
		Old: "!r.entry.Is(t) || r.subject != subjectOf(i)",
		New: "r.subject != subjectOf(i)",
	},
	"ledgers: entries are opened whatever the clocks say": {
		File: "controllers/ledgers/step.go", Test: "./controllers/ledgers TestNothingIsWrittenDownInDoubt",
		Old: "if waits && a.manager.Check(ctx) != nil {",
		New: "if waits && a.manager.Check(ctx) != nil && a.short {",
	},
	"ledgers: limits that were lowered stop nothing": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestLoweredLimitsApplyToRecordedEntries",
		Old: "a.machine.Charged(a.manager.Clock.Now(), budget) > budget.Max",
		New: "a.machine.Charged(a.manager.Clock.Now(), budget) > 2*budget.Max",
	},
	"ledgers: the one of a policy that is only not in the snapshot is deleted": {
		File: "controllers/ledgers/prepare.go", Test: "./controllers/ledgers TestALedgerOfAnotherShapeGoesWithItsPolicy",
		Old: "\tif !gone {\n\t\treturn nil",
		New: "\tif !gone && named.Namespace == \"*\" {\n\t\treturn nil",
	},
	"ledgers: the pause of a stuck object does not grow": {
		File: "controllers/ledgers/prepare.go", Test: "./controllers/ledgers TestStuckObjectsAreRetriedWithBackoff",
		Old: "min(max(stuckFirst, 2*a.stuck[e.UID].pause), stuckMost)",
		New: "stuckFirst",
	},
	"ledgers: what was not sent in time keeps its room": {
		File: "controllers/ledgers/step.go", Test: "./controllers/ledgers TestEntriesThatAreNotSentInTimeFreeTheirRoom",
		Old: "!r.stillWants(a.uid), r.slow && a.short:",
		New: "!r.stillWants(a.uid):",
	},
	"ledgers: who does not lead any more sends": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestADeletionIsSentAsRecorded",
		Old: "a.manager.Leadership.Check() != nil || !a.machine",
		New: "!a.machine",
	},
}
