package mutants

// retentionTable changes what happens between a verdict and its request.
var retentionTable = map[string]Mutant{
	"feed: a namespace waits for those that are edited all the time": {
		File: "controllers/retention/listing.go", Test: "./controllers/retention TestEditsInManyNamespacesDelayNoOther",
		Old: "cmp.Or(again.Compare(f.listed[namespace]), since.Compare",
		New: "cmp.Or(since.Compare",
	},
	"limiter: a 5xx asks the whole API server for less": {
		File: "controllers/retention/limiter.go", Test: "./controllers/retention TestAWholeServerThatFailsIsAskedLess",
		Old: "return o.Result == Busy && !o.Unsure",
		New: "return o.Result == Busy",
	},
	"limiter: a later answer shortens the rest": {
		File: "controllers/retention/limiter.go", Test: "./controllers/retention TestTheLongerRestCounts",
		Old: "retryAfter > 0 && until.After(l.notBefore)",
		New: "retryAfter > 0",
	},
	"limiter: one answer stops everything for an hour": {
		File: "controllers/retention/limiter.go", Test: "./controllers/retention TestRetryAfterRestsEverybody",
		Old: "now.Add(min(retryAfter, longestRest))",
		New: "now.Add(retryAfter)",
	},
	"mark: a missing right to mark throttles deletions": {
		File: "controllers/retention/mark.go", Test: "./controllers/retention TestARightToMarkThatIsMissingStopsNoDeletion",
		Old: "\tif outcome.Result == Denied {\n",
		New: "\tif outcome.Result == Denied && outcome.Unsent {\n",
	},
	"owner: a kind that is not listed keeps nothing": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestTheRulesAboutAnOwnersKindHaveTheirSay",
		Old: "\tcase !wanted:\n\t\treturn policy.Verdict{}, errNotListed",
		New: "\tcase !wanted:\n\t\treturn policy.Verdict{Reason: policy.NotSelected}, nil",
	},
	"owner: a kind that is only watched on says that it goes": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestWhatIsStillWatchedSaysNothingOfAnOwner",
		Old: "\twanted := w != nil && w.until.IsZero()\n",
		New: "\twanted := w != nil\n",
	},
	"kinds: one without a rule is dropped at once": {
		File: "controllers/retention/kinds.go", Test: "./controllers/retention TestARuleThatComesAndGoesListsItsKindOnce",
		Old: "w.until = now.Add(unwantedLasts)",
		New: "w.until = now",
	},
	"feed: a list rests from its beginning": {
		File: "controllers/retention/listing.go", Test: "./controllers/retention TestASlowListOfANamespaceDelaysNoOther",
		Old: "= ended.Add(max(relistAgain",
		New: "= began.Add(max(relistAgain",
	},
	"owner: a version that was not judged goes": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestAnOwnerIsJudgedAtTheVersionThatWasRead",
		Old: "\treturn policy.Verdict{}, errUnseen\n",
		New: "\treturn policy.Verdict{Reason: policy.NotSelected}, nil\n",
	},
	"owner: one that waits goes": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestTheRulesAboutAnOwnersKindHaveTheirSay",
		Old: "return v.Action == policy.Delete || v",
		New: "return v.Action != policy.Keep || v",
	},
	"owner: rules that have not listed the kind keep nothing": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestAnOwnerIsJudgedAtTheVersionThatWasRead",
		Old: "!synced {\n\t\treturn policy.Verdict{}, errNotListed",
		New: "!synced {\n\t\treturn policy.Verdict{Reason: policy.NotSelected}, nil",
	},
	"preflight: a mark needs no fence": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestWhatIsNotMarked",
		Old: "return []preflight.Precondition{f.permission, f.live}",
		New: "return []preflight.Precondition{f.permission}",
	},
	"preflight: another rule decides without permission": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestNothingIsSentByAnAnswerOlderThanASecond",
		Old: "case !areAmong(j.Rules(), likely.Rules()), j.Permit",
		New: "case j.Permit",
	},
	"preflight: another version goes than the one aimed at": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestANewVersionDuringASlowStepIsPreparedAgain",
		Old: "j.Permit.Valid() && !j.Permit.Same(likely.Permit):",
		New: "false:",
	},
	"preflight: answers count for two seconds": {
		File: "controllers/retention/preflight/preflight.go", Test: "./controllers/retention TestNothingIsSentByAnAnswerOlderThanASecond",
		Old: "lease.Elapsed(now, since) <= MaxAge",
		New: "lease.Elapsed(now, since) <= 2*MaxAge",
	},
	"preflight: references that may be out of date count": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestWhatMayBeOutOfDateIsPutOff",
		Old: "confirm(f.kind, likely.Permit.Subject()); err != nil {",
		New: "confirm(f.kind, likely.Permit.Subject()); err != nil && f.target.UID == \"\" {",
	},
	"preflight: stopping interrupts a deletion that has begun": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestAFailingNamespaceIsAskedOnceAtATime",
		Old: "f.prepared.Send(context.WithoutCancel(ctx), w, since)",
		New: "f.prepared.Send(ctx, w, since)",
	},
	"preflight: the age of the last answer counts for all": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestAChangeDuringASlowStepCounts",
		Old: "if oldest := preflight.Oldest(since...); preflight.Fresh",
		New: "if oldest := since[len(since)-1]; Fresh",
	},
	"preflight: the ledger is told of what was removed alone": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestTheLedgerDecidesLastAndLearnsEachResult",
		Old: "\tif counted {\n",
		New: "\tif counted && outcome.Result == Removed {\n",
	},
	"preflight: the ledger of what does not go is asked later": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestTheLedgerDecidesLastAndLearnsEachResult",
		Old: "if counted && !f.owner.Ledger.MarkSent(w.Intent(), f.target) {",
		New: "if !f.owner.Ledger.MarkSent(w.Intent(), f.target) && counted && !w.Valid() {",
	},
	"preflight: the permission to the owner is not asked again": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestNothingIsSentByAnAnswerOlderThanASecond",
		Old: "\t\tf.ownerPermission, // and",
		New: "\t\t// and",
	},
	"preflight: the rules about an owner are asked before the checks alone": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestTheRulesAboutAnOwnersKindHaveTheirSay",
		Old: "return j, !j.Permit.Valid() || f.ownerAgrees(ctx, f.it, j.Permit.Intent(), f.target)",
		New: "return j, true",
	},
	"preflight: what was answered once is not asked again": {
		File: "controllers/retention/preflight/preflight.go", Test: "./controllers/retention TestNothingIsSentByAnAnswerOlderThanASecond",
		Old: "if Fresh(now(), since[i]) {",
		New: "if !since[i].IsZero() {",
	},
	"preflight: what was never sent is an attempt": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestAnUnsentRequestIsNoAttempt",
		Old: "\tif !outcome.Unsent {\n\t\tf.",
		New: "\tif outcome.Result != Removed || !outcome.Unsent {\n\t\tf.",
	},
	"remove: a namespace in doubt stops the worker": {
		File: "controllers/retention/remove.go", Test: "./controllers/retention TestANamespaceInDoubtHoldsBackOnlyItself",
		Old: "if errors.Is(err, preflight.ErrNamespace) {",
		New: "if errors.Is(err, ErrNamespace) && it.namespace == \"\" {",
	},
	"remove: what is said to be gone is never asked for again": {
		File: "controllers/retention/remove.go", Test: "./controllers/retention TestWhatWasSaidToBeGoneAndIsThereGoesLater",
		Old: "\t\tp.retry(it, p.tries.again(it, i.Subject.ResourceVersion, o.Result))\n\t\treturn\n",
		New: "\t\treturn\n",
	},
	"tries: a conflict without a change is tried each second": {
		File: "controllers/retention/backoffs.go", Test: "./controllers/retention TestWhatIsReadAfterConflicts",
		Old: "case t.result == Changed && !t.same:",
		New: "case t.result == Changed:",
	},
	"preflight: the last of several answers about permissions counts": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestAMarkRestsOnThePermissionsOfAllItsRules",
		Old: "since = preflight.Oldest(since, at)",
		New: "since = at",
	},
	"preflight: the permission of another ServiceAccount counts": {
		File: "controllers/retention/remove.go", Test: "./controllers/retention TestAMarkRestsOnThePermissionsOfAllItsRules",
		Old: " && o.ServiceAccount == r.ServiceAccount",
		New: "",
	},
	"throttle: slow refusals are good answers": {
		File: "controllers/retention/throttle.go", Test: "./controllers/retention TestAFailingNamespaceIsAskedOnceAtATime",
		Old: "return took >= slowAfter",
		New: "return false",
	},
	"throttle: slow answers end it": {
		File: "controllers/retention/throttle.go", Test: "./controllers/retention TestANamespaceThatAnswersSlowlyStaysThrottled",
		Old: "l.failures, l.good, l.window = 0, 0, min",
		New: "l.failures, l.good, l.window = 0, l.good+1, min",
	},
	"tries: the wait goes on with another result": {
		File: "controllers/retention/backoffs.go", Test: "./controllers/retention TestAnotherResultRestartsTheBackoff",
		Old: "\t\tlast = failures{result: result}\n",
		New: "\t\tlast.result = result\n",
	},
	"pipeline: what is retried keeps its room in the ledger": {
		File: "controllers/retention/pipeline.go", Test: "./controllers/retention TestWhatIsRetriedLeavesTheLedger",
		Old: "\tp.kind.index.Release(it.uid, p.owner.Clock.Now())\n\tp.withdraw(it)\n",
		New: "\tp.kind.index.Release(it.uid, p.owner.Clock.Now())\n",
	},
	"preflight: what the ledger does not permit is not retried": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestWhatTheLedgerDoesNotPermitIsRetried",
		Old: "\t\tf.retry(f.it, ledgerPause)\n\t\treturn nil\n",
		New: "\t\treturn nil\n",
	},
	"feed: rows that answer older questions are taken": {
		File: "controllers/retention/listing.go", Test: "./controllers/retention TestAListOfANamespaceThatComesTooLate",
		Old: "if f.kind.current != f || f.asks.About(namespace).Layout != asked {",
		New: "if f.kind.current != f {",
	},
	"questions: rules without permission are asked": {
		File: "controllers/retention/rule_set.go", Test: "./controllers/retention TestARuleThatMayNotWatchIsNotAsked",
		Old: "if program == nil || rule.Unwatched {",
		New: "if program == nil {",
	},
	"preflight: the permissions without the one to mark suffice to mark": {
		File: "controllers/retention/remove.go", Test: "./controllers/retention TestARuleThatComesToMarkNeedsThePermissionToMark",
		Old: "o.Kind == r.Kind && o.Mark == r.Mark",
		New: "o.Kind == r.Kind",
	},
	"kinds: queued subjects are deleted by rules that are gone": {
		File: "controllers/retention/kinds.go", Test: "./controllers/retention TestTheFenceMayChangeTheRules",
		Old: "\t\t\tw.index.SetSnapshot(r.snapshot, now) // what is queued already is judged by it\n",
		New: "",
	},
	"preflight: what is not due any more is forgotten": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestAClockThatIsSet",
		Old: "\t\tf.kind.index.Reconsider(f.it.uid, now)\n\t\tf.tries.forget(f.it)\n",
		New: "\t\tf.tries.forget(f.it)\n",
	},
}
