// SPDX-License-Identifier: Apache-2.0

package mutants

// ledgersTable changes what ledgers record, and when.
var ledgersTable = map[string]Mutant{
	"ledgers: a ledger has caught up although its policy does not keep it": {
		File: "controllers/ledgers/prepare.go", Test: "./controllers/ledgers TestLedgerCatchesUpWhenThePolicyKeepsItAgain",
		Old: "w.caughtUp = w.policy == p && w.read",
		New: "w.caughtUp = w.read",
	},
	"ledgers: a ledger catches up with a status about the earlier spec": {
		File: "controllers/ledgers/prepare.go", Test: "./controllers/ledgers TestLedgerCatchesUpWhenThePolicyKeepsItAgain",
		Old: "status.ObservedGeneration < p.Generation:",
		New: "status.ObservedGeneration < 0:",
	},
	"ledgers: raised counts look like deletions": {
		File: "controllers/ledgers/prepare.go", Test: "./controllers/ledgers TestLedgerCatchesUpWhenThePolicyKeepsItAgain",
		Old: "w.rebases, w.raising = w.rebases+1, \"\"",
		New: "w.raising = \"\"",
	},
	"ledgers: a write of raised counts that had no answer did not happen": {
		File: "controllers/ledgers/prepare.go", Test: "./controllers/ledgers TestLedgerCatchesUpWhenThePolicyKeepsItAgain",
		Old: "w.machine.Lost()\n\t\tw.read = false\n\t\tw.mu.Unlock()\n\t\treturn fmt.Errorf(\"write",
		New: "w.raising = \"\"\n\t\tw.mu.Unlock()\n\t\treturn fmt.Errorf(\"write",
	},
	"ledgers: an object with a doubtful entry is counted twice": {
		File: "policy/ledger/send.go", Test: "./controllers/ledgers TestDeletionByARuleWithoutALedgerIsCountedOnce",
		Old: "return s != nil && s.end == none && s.doubtful\n}\n\n// Withdrawn",
		New: "return s != nil && s.end != none && s.doubtful\n}\n\n// Withdrawn",
	},
	"ledgers: the outcome of a 5xx from a busy server is known": {
		File: "controllers/ledgers/request.go", Test: "./controllers/ledgers TestStuckObjectsDoNotUseUpLimits",
		Old: "\tcase o.Unsure:\n",
		New: "\tcase o.Unsure && o.Result != retention.Busy:\n",
	},
	"ledgers: the entry of a changed subject stays valid": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestDeletionIsSentAsRecorded",
		Old: "r == nil || !r.isConfirmed() || r.recorded.subject != subjectOf(i) {",
		New: "r == nil || !r.isConfirmed() {",
	},
	"ledgers: an entry stays valid after allowUnfinishedOwner changes": {
		File: "controllers/ledgers/request.go", Test: "./controllers/ledgers TestDeletionIsSentAsRecorded",
		Old: "Outcome: i.Outcome, AllowUnfinished: i.Rule.AllowUnfinished,",
		New: "Outcome: i.Outcome,",
	},
	"ledgers: the owner of an earlier version is recorded": {
		File: "controllers/ledgers/request.go", Test: "./controllers/ledgers TestOwnerIsWrittenDownForTheVersionThatNamesIt",
		Old: "return e, s, s == r.owner.of",
		New: "return e, s, true",
	},
	"ledgers: a ledger records a deletion of another policy": {
		File: "controllers/ledgers/request.go", Test: "./controllers/ledgers TestNoLedgerRecordsADeletionOfAnotherPolicy",
		Old: "if !ok || i.Rule.PolicyUID != policyUID {",
		New: "if !ok {",
	},
	"ledgers: a DELETE has another target than its entry": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestDeletionIsSentAsRecorded",
		Old: "if r == nil || !r.recorded.entry.Is(t) {",
		New: "if r == nil {",
	},
	"ledgers: entries are opened although the clock check fails": {
		File: "controllers/ledgers/step.go", Test: "./controllers/ledgers TestLedgerRecordsNothingDuringClockSkew",
		Old: "if waits && w.manager.Check(ctx) != nil {",
		New: "if waits && w.manager.Check(ctx) != nil && w.short {",
	},
	"ledgers: lowered limits do not apply": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestLoweredLimitsApplyToRecordedEntries",
		Old: "w.machine.Charged(w.manager.Clock.Now(), budget) > budget.Max",
		New: "w.machine.Charged(w.manager.Clock.Now(), budget) > 2*budget.Max",
	},
	"ledgers: the ledger of a policy that is only missing from the snapshot is deleted": {
		File: "controllers/ledgers/prepare.go", Test: "./controllers/ledgers TestLedgerOfAnotherShapeGoesWithItsPolicy",
		Old: "\tcase err == nil:\n\t\treturn nil\n\tcase !apierrors.IsNotFound(err):",
		New: "\tcase err == nil && named.Namespace == \"*\":\n\t\treturn nil\n\tcase err != nil && !apierrors.IsNotFound(err):",
	},
	"ledgers: the backoff of a stuck object does not grow": {
		File: "controllers/ledgers/doubt.go", Test: "./controllers/ledgers TestStuckObjectsAreRetriedWithBackoff",
		Old: "min(max(stuckFirst, 2*w.stuck[e.UID].pause), stuckMost)",
		New: "stuckFirst",
	},
	"ledgers: an entry that was not sent in time keeps its place": {
		File: "controllers/ledgers/step.go", Test: "./controllers/ledgers TestEntriesThatAreNotSentInTimeFreeTheirRoom",
		Old: "!r.stillWants(w.uid), is.slow && w.short:",
		New: "!r.stillWants(w.uid):",
	},
	"ledgers: a replica that lost leadership sends": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestDeletionIsSentAsRecorded",
		Old: "w.manager.Leadership.Check() != nil || !w.machine",
		New: "!w.machine",
	},
}
