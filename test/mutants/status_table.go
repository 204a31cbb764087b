// SPDX-License-Identifier: Apache-2.0

package mutants

// statusTable changes when counts are made and statuses are written.
var statusTable = map[string]Mutant{
	"status: a deletion that a ledger counts is counted twice": {
		File: "controllers/status/event_buffer.go", Test: "./controllers/status TestStatusDoesNotCountWhatTheLedgerCounts",
		Old: "if !removal.InLedger {",
		New: "if removal.Kind.Kind != \"\" {",
	},
	"status: deletions without a ledger are counted again once the ledger has them": {
		File: "controllers/status/ledger.go", Test: "./controllers/status TestStatusDoesNotCountWhatTheLedgerCounts",
		Old: "sameBase := before != nil && h.rebases == kept.Rebases",
		New: "sameBase := before != nil",
	},
	"status: deletions without a ledger are lost if the ledger does not have them": {
		File: "controllers/status/ledger.go", Test: "./controllers/status TestStatusDoesNotCountWhatTheLedgerCounts",
		Old: "return max(known, now) //",
		New: "return now //",
	},
	"a status has only the latest deleted storage": {
		File: "controllers/status/status.go", Test: "./controllers/status TestDeletedStorageGoesOn",
		Old: "all.storage.Plus(latest.storage)",
		New: "latest.storage",
	},
	"kinds of policies that are not in force yet seem to be listed": {
		File: "controllers/status/status.go", Test: "./controllers/status TestPolicyThatIsNotInForceYetIsNotListed",
		Old: "if v.notInForce.Has(p.UID) && !v.last {",
		New: "if false {",
	},
	"a count by an earlier snapshot is a preview": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestCountThatMixesSnapshotsIsNoPreview",
		Old: "case watched && v.listed[r.ID]:",
		New: "case watched && v.watched[r.ID]:",
	},
	"an edit waits until a report has written all statuses": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestStatusOfAnEditIsWrittenBeforeOthers",
		Old: "writesFor    = 500 * time.Millisecond ",
		New: "writesFor    = time.Hour ",
	},
	"an edit waits until a report has read the statuses of all new policies": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestNewPoliciesDelayNoEdit",
		Old: "readsFor     = 500 * time.Millisecond ",
		New: "readsFor     = time.Hour ",
	},
	"a long count delays an edit as much as other reports": {
		File: "controllers/status/schedule.go", Test: "./controllers/status TestCountThatTakesLongDelaysAnEditLess",
		Old: "return min(editFactor*r.took",
		New: "return min(restFactor*r.took",
	},
	"the status that deletions wait for waits for the statuses of others": {
		File: "controllers/status/schedule.go", Test: "./controllers/status TestCountIsWrittenBeforeOtherStatuses",
		Old: "case w.count != nil:\n\t\treturn 0",
		New: "case false:\n\t\treturn 0",
	},
	"writing takes the deletions' time": {
		File: "controllers/status/schedule.go", Test: "./controllers/status TestCountThatTakesLongDelaysAnEditLess",
		Old: "r.rest()/writingShare",
		New: "r.rest()",
	},
	"slow statuses of ClusterRetentionPolicies are written once per report": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestSlowWritesOfClusterRetentionPoliciesGoOn",
		Old: "took > slowWrite && !isOfCluster(laneOf(w.policy))",
		New: "took > slowWrite",
	},
	"each count alone publishes all rules": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestPreviewedIsCalledForManyPoliciesAtOnce",
		Old: "now.Sub(r.previews.since) < editFactor*r.previews.took",
		New: "now.Before(r.previews.since)",
	},
	"the status of a small edited policy waits for the statuses of large ones": {
		File: "controllers/status/schedule.go", Test: "./controllers/status TestSmallStatusIsWrittenBeforeLargeOnes",
		Old: "return len(w.policy.Rules)",
		New: "return 0",
	},
	"an edit waits until the statuses of new policies are read": {
		File: "controllers/status/reporter.go", Test: "./controllers/status TestNewPoliciesDelayNoEdit",
		Old: "[][]*policy.Policy{edited, unknown, others}",
		New: "[][]*policy.Policy{unknown, edited, others}",
	},
	"a slow count leaves little time for writing statuses": {
		File: "controllers/status/schedule.go", Test: "./controllers/status TestCountThatTakesLongDelaysAnEditLess",
		Old: "return max(least, min(editFactor*r.took, countAtLeast))",
		New: "return least",
	},
	"statuses of ClusterRetentionPolicies are written one at a time": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestClusterPoliciesAreWrittenEightAtATime",
		Old: "const clusterLanes = 8",
		New: "const clusterLanes = 1",
	},
	"as many large statuses as small ones are written at a time": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestLargeStatusesAreWrittenFewAtATime",
		Old: "bytes < bytesAtOnce",
		New: "bytes >= 0",
	},
	"statuses are written in alphabetical order": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestNamespaceThatWaitedLongestIsWrittenFirst",
		Old: "r.compareUrgency(queues[a][0], queues[b][0]), r.writes.lane(a).began.Compare(r.writes.lane(b).began)",
		New: "r.compareUrgency(queues[a][0], queues[b][0])",
	},
	"approval: the count for the next leader includes what waits": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestLeaderComparesItsFirstCountWithTheOneBefore",
		Old: "due.Now, due.Week = max(0, due.Now-waiting.Now), max(0, due.Week-waiting.Week)",
		New: "_ = waiting",
	},
	"approval: of a first count is for any number": {
		File: "controllers/status/pending.go", Test: "./controllers/status TestApprovalOfAFirstCountIsForTheNumberShown",
		Old: "p.Approved.Has(before.Hash) && !exceeds(added):",
		New: "p.Approved.Has(before.Hash):",
	},
	"approval: namespaces of a shown approval open one by one": {
		File: "controllers/status/pending.go", Test: "./controllers/status TestApprovalGateOpensByNamespace",
		Old: "case len(shown) > 0 && slices.Contains(before.Namespaces, namespace):",
		New: "case false:",
	},
	"approval: of two halves, the second opens after the first": {
		File: "controllers/status/pending.go", Test: "./controllers/status TestApprovalGateOpensByNamespace",
		Old: "!exceeds(sum) && exceeds(others):",
		New: "!exceeds(sum) && others.Week >= 0:",
	},
	"approval: a first count releases what it did not count": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestEarlierNumberApprovesNoLaterChange",
		Old: "isOfAll := !isRecount && ",
		New: "isOfAll := ",
	},
	"approval: a rule that cannot be counted hides others": {
		File: "policy/recount.go", Test: "./controllers/status TestRuleThatCannotBeCountedHidesNoOther",
		Old: "if !sets.New(r.Uncounted...).HasAll(uncounted...) {",
		New: "if !sets.New(uncounted...).HasAll(r.Uncounted...) {",
	},
	"approval: a status forgets namespaces that its pending approval does not show": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestStatusNamesEveryNamespaceThatWaits",
		Old: "scope := v.compiled.Waiting[p.UID]",
		New: "var scope policy.ApprovalScope\n\tif p.Gate != nil {\n\t\tscope = p.Gate.Namespaces\n\t}",
	},
	"approval: a leader reads only namespaces of the pending approval": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestChangesThatTheStatusDoesNotShowSurviveARestart",
		Old: "e != nil && len(e.WaitingNamespaces) > 0 {",
		New: "e != nil && len(e.WaitingNamespaces) > 0 && !scoped {",
	},
}
