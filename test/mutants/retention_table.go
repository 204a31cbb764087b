// SPDX-License-Identifier: Apache-2.0

package mutants

// retentionTable changes what happens between a verdict and its request.
var retentionTable = map[string]Mutant{
	"listing: a namespace waits for namespaces with constant edits": {
		File: "controllers/retention/listing.go", Test: "./controllers/retention TestEditsInManyNamespacesDelayNoOther",
		Old: "cmp.Or(again.Compare(f.listed[namespace]), since.Compare",
		New: "cmp.Or(since.Compare",
	},
	"throttle: a subject that is being recorded is put off": {
		File: "controllers/retention/worker_slots.go", Test: "./controllers/retention TestThrottledSubjectIsRecordedDespiteChanges",
		Old: "if p.reconciler.Ledger.Awaits(j.Expected, c) {",
		New: "if _ = c; false {",
	},
	"standby: a ledger records objects that only the standby has read": {
		File: "controllers/retention/standby.go", Test: "./controllers/retention TestLeaderReadsWhatItKnewOnStandby",
		Old: "\tif !early {\n",
		New: "\tif true || !early {\n",
	},
	"standby: a new leader reads everything again although its watch is up to date": {
		File: "controllers/retention/standby.go", Test: "./controllers/retention TestLeaderReadsWhatItKnewOnStandby",
		Old: "\t\tf.early = false\n",
		New: "",
	},
	"standby: rules of a standby delete": {
		File: "controllers/retention/reconciler.go", Test: "./controllers/retention TestStandbyDeletesNothing",
		Old: "\tcase <-r.ruled:\n\t\tr.tick(ctx)\n\t}\n",
		New: "\tdefault:\n\t\tr.tick(ctx)\n\t}\n",
	},
	"standby: a changed object is recorded at the version that was known": {
		File: "controllers/retention/standby.go", Test: "./controllers/retention TestLeaderReadsWhatItKnewOnStandby",
		Old: "if j.Expected.Rule == nil || j.Expected.Subject.ResourceVersion != i.Subject.ResourceVersion {",
		New: "if j.Expected.Rule == nil {",
	},
	"limiter: a 5xx lowers the concurrency for the whole API server": {
		File: "controllers/retention/limiter.go", Test: "./controllers/retention TestLimiterLowersConcurrencyForAFailingServer",
		Old: "return o.Result == Busy && !o.Unsure",
		New: "return o.Result == Busy",
	},
	"limiter: a later answer shortens the Retry-After wait": {
		File: "controllers/retention/limiter.go", Test: "./controllers/retention TestLimiterUsesTheLongerRetryAfter",
		Old: "retryAfter > 0 && until.After(l.notBefore)",
		New: "retryAfter > 0",
	},
	"limiter: one Retry-After stops everything for an hour": {
		File: "controllers/retention/limiter.go", Test: "./controllers/retention TestLimiterRetryAfterPausesAll",
		Old: "now.Add(min(retryAfter, longestRest))",
		New: "now.Add(retryAfter)",
	},
	"mark: a missing permission to mark throttles deletions": {
		File: "controllers/retention/mark.go", Test: "./controllers/retention TestMarkWithoutPermissionStopsNoDeletion",
		Old: "\tif outcome.Result == Denied {\n",
		New: "\tif outcome.Result == Denied && outcome.Unsent {\n",
	},
	"owner: a kind that is not listed keeps no owners": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestOwnerVerdictOfItsOwnRules",
		Old: "\tcase !wanted:\n\t\treturn policy.Verdict{}, errNotListed",
		New: "\tcase !wanted:\n\t\treturn policy.Verdict{Reason: policy.NotSelected}, nil",
	},
	"owner: a kind that is watched without rules allows the deletion": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestOwnerVerdictOfAKindWithoutRules",
		Old: "\twanted := w != nil && w.until.IsZero()\n",
		New: "\twanted := w != nil\n",
	},
	"kinds: a kind without a rule is dropped immediately": {
		File: "controllers/retention/kinds.go", Test: "./controllers/retention TestRuleThatComesAndGoesListsItsKindOnce",
		Old: "w.until = now.Add(unwantedLasts)",
		New: "w.until = now",
	},
	"listing: the pause after a list counts from the start of the list": {
		File: "controllers/retention/listing.go", Test: "./controllers/retention TestSlowListOfANamespaceDelaysNoOther",
		Old: "= ended.Add(max(relistAgain",
		New: "= began.Add(max(relistAgain",
	},
	"owner: an owner version that was not evaluated is deleted": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestOwnerVerdictOfTheVersionThatWasRead",
		Old: "\treturn policy.Verdict{}, errUnseen\n",
		New: "\treturn policy.Verdict{Reason: policy.NotSelected}, nil\n",
	},
	"owner: an owner that its rules make wait is deleted": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestOwnerVerdictOfItsOwnRules",
		Old: "return v.Action == policy.Delete || v",
		New: "return v.Action != policy.Keep || v",
	},
	"owner: rules that have not listed the kind keep no owners": {
		File: "controllers/retention/owner.go", Test: "./controllers/retention TestOwnerVerdictOfTheVersionThatWasRead",
		Old: "!synced {\n\t\treturn policy.Verdict{}, errNotListed",
		New: "!synced {\n\t\treturn policy.Verdict{Reason: policy.NotSelected}, nil",
	},
	"preflight: a mark needs no live check": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestMarkIsNotWritten",
		Old: "return []preflight.Precondition{f.permission, f.live}",
		New: "return []preflight.Precondition{f.permission}",
	},
	"preflight: another rule decides without a permission check": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestAttemptUsesNoAnswerOlderThanASecond",
		Old: "case !areAmong(j.Rules(), likely.Rules()), j.Permit",
		New: "case j.Permit",
	},
	"preflight: another version than the target is deleted": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestNewVersionDuringASlowStepIsPreparedAgain",
		Old: "j.Permit.Valid() && !j.Permit.Same(likely.Permit), ",
		New: "",
	},
	"confirm: rules that rank do not wait for the watch": {
		File: "controllers/retention/kinds.go", Test: "./controllers/retention TestRulesThatRankAreConfirmed",
		Old: "!w.beyond.Load() && !w.index.Ranks()",
		New: "!w.beyond.Load()",
	},
	"preflight: answers are valid for two seconds": {
		File: "controllers/retention/preflight/preflight.go", Test: "./controllers/retention TestAttemptUsesNoAnswerOlderThanASecond",
		Old: "lease.Elapsed(now, since) <= MaxAge",
		New: "lease.Elapsed(now, since) <= 2*MaxAge",
	},
	"preflight: references that may be outdated count": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestConfirmDefersSubjectsWithOutdatedFacts",
		Old: "confirm(f.kind, likely.Permit.Subject()); err != nil {",
		New: "confirm(f.kind, likely.Permit.Subject()); err != nil && f.target.UID == \"\" {",
	},
	"preflight: a shutdown interrupts a request in flight": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestFailingNamespaceIsAskedOnceAtATime",
		Old: "startSpan(context.WithoutCancel(ctx), ",
		New: "startSpan(ctx, ",
	},
	"preflight: the age of the last answer counts for all answers": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestChangeDuringASlowStepCounts",
		Old: "if oldest := preflight.Oldest(since...); preflight.Fresh",
		New: "if oldest := since[len(since)-1]; preflight.Fresh",
	},
	"preflight: the ledger receives only successful deletions": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestLedgerDecidesLastAndLearnsEachResult",
		Old: "inLedger := f.reconciler.Ledger.Finish(w.Intent(), f.target, outcome)",
		New: "inLedger := outcome.Result == Removed && f.reconciler.Ledger.Finish(w.Intent(), f.target, outcome)",
	},
	"preflight: the ledger records subjects that are kept as sent": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestLedgerDecidesLastAndLearnsEachResult",
		Old: "if w.Rule().Ledger && !f.reconciler.Ledger.MarkSent(w.Intent(), f.target) {",
		New: "if !f.reconciler.Ledger.MarkSent(w.Intent(), f.target) && w.Rule().Ledger && !w.Valid() {",
	},
	"preflight: the permission for the owner is not checked again": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestAttemptUsesNoAnswerOlderThanASecond",
		Old: "\t\tf.withSpan(\"owner permission\", f.ownerPermission), //",
		New: "\t\t//",
	},
	"preflight: the rules for an owner are evaluated only before the checks": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestOwnerVerdictOfItsOwnRules",
		Old: "return j, !j.Permit.Valid() || f.ownerAgrees(ctx, f.it, j.Permit.Intent(), f.target)",
		New: "return j, true",
	},
	"preflight: an outdated answer is not refreshed": {
		File: "controllers/retention/preflight/preflight.go", Test: "./controllers/retention TestAttemptUsesNoAnswerOlderThanASecond",
		Old: "if Fresh(now(), since[i]) {",
		New: "if !since[i].IsZero() {",
	},
	"preflight: a request that was not sent counts as an attempt": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestUnsentRequestIsNoAttempt",
		Old: "\tif !outcome.Unsent {\n\t\tf.",
		New: "\tif outcome.Result != Removed || !outcome.Unsent {\n\t\tf.",
	},
	"remove: a failed check of one namespace stops the worker": {
		File: "controllers/retention/remove.go", Test: "./controllers/retention TestNamespaceInDoubtHoldsBackOnlyItself",
		Old: "if errors.Is(err, preflight.ErrNamespace) {",
		New: "if errors.Is(err, preflight.ErrNamespace) && it.namespace == \"\" {",
	},
	"remove: an object reported as gone is never checked again": {
		File: "controllers/retention/remove.go", Test: "./controllers/retention TestSubjectReportedGoneIsRetried",
		Old: "\t\tp.retry(it, p.backoffs.again(it, i.Subject.ResourceVersion, o.Result))\n\t\treturn\n",
		New: "\t\treturn\n",
	},
	"backoff: a conflict without a change is retried every second": {
		File: "controllers/retention/backoffs.go", Test: "./controllers/retention TestReadAfterConflictsKeepsTheBackoff",
		Old: "case t.result == Changed && !t.same:",
		New: "case t.result == Changed:",
	},
	"preflight: the age of the latest permission answer counts": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestMarkRestsOnThePermissionsOfAllItsRules",
		Old: "since = preflight.Oldest(since, at)",
		New: "since = at",
	},
	"preflight: the permissions of another ServiceAccount count": {
		File: "controllers/retention/remove.go", Test: "./controllers/retention TestMarkRestsOnThePermissionsOfAllItsRules",
		Old: " && o.ServiceAccount == r.ServiceAccount",
		New: "",
	},
	"throttle: slow refusals count as good answers": {
		File: "controllers/retention/throttle.go", Test: "./controllers/retention TestFailingNamespaceIsAskedOnceAtATime",
		Old: "return took >= slowAfter",
		New: "return false",
	},
	"throttle: slow answers end the throttling": {
		File: "controllers/retention/throttle.go", Test: "./controllers/retention TestNamespaceThatAnswersSlowlyStaysThrottled",
		Old: "l.failures, l.good, l.window = 0, 0, min",
		New: "l.failures, l.good, l.window = 0, l.good+1, min",
	},
	"backoff: another result continues the backoff": {
		File: "controllers/retention/backoffs.go", Test: "./controllers/retention TestBackoffRestartsWithAnotherResult",
		Old: "\t\tlast = failures{result: result}\n",
		New: "\t\tlast.result = result\n",
	},
	"pipeline: a retried deletion keeps its ledger entry": {
		File: "controllers/retention/pipeline.go", Test: "./controllers/retention TestRetryWithdrawsLedgerEntry",
		Old: "\tp.kind.index.Release(it.uid, p.reconciler.Clock.Now())\n\tp.withdraw(it)\n",
		New: "\tp.kind.index.Release(it.uid, p.reconciler.Clock.Now())\n",
	},
	"preflight: a deletion that the ledger does not permit is not retried": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestDeletionDeniedByLedgerIsRetried",
		Old: "\t\tf.retry(f.it, ledgerPause)\n\t\treturn nil\n",
		New: "\t\treturn nil\n",
	},
	"listing: rows of older rules are accepted": {
		File: "controllers/retention/listing.go", Test: "./controllers/retention TestListOfANamespaceThatComesTooLate",
		Old: "if f.kind.current != f || f.rules.About(namespace).Layout != layout {",
		New: "if f.kind.current != f {",
	},
	"rule set: rules without permission to watch are evaluated": {
		File: "controllers/retention/rule_set.go", Test: "./controllers/retention TestRuleThatMayNotWatchIsNotAsked",
		Old: "if program == nil || rule.Unwatched {",
		New: "if program == nil {",
	},
	"preflight: marking does not need permission to mark": {
		File: "controllers/retention/remove.go", Test: "./controllers/retention TestRuleThatComesToMarkNeedsThePermissionToMark",
		Old: "o.Kind == r.Kind && o.Mark == r.Mark",
		New: "o.Kind == r.Kind",
	},
	"kinds: removed rules delete queued subjects": {
		File: "controllers/retention/kinds.go", Test: "./controllers/retention TestPreflightMayChangeTheRules",
		Old: "\t\t\tw.index.SetSnapshot(r.snapshot, now) //",
		New: "\t\t\t//",
	},
	"preflight: a subject that is no longer due is forgotten": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestClockThatIsSet",
		Old: "\t\tf.kind.index.Reconsider(f.it.uid, now)\n\t\tf.backoffs.forget(f.it)\n",
		New: "\t\tf.backoffs.forget(f.it)\n",
	},
	"preflight: deletions in a backlog wait for the reads of each second": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestBacklogPrefetches",
		Old: "f.reconciler.prefetch(ctx, soonest{now, f.it.namespace})",
		New: "_ = now",
	},
	"rule set: an object is evaluated by every rule of its namespace": {
		File: "controllers/retention/rule_set.go", Test: "./controllers/retention TestRuleSetSelects",
		Old: "for _, i := range in.selection.Of(object) {",
		New: "for i := range len(in.Rules) - len(q.Everywhere.Rules) {",
	},
}
