// SPDX-License-Identifier: Apache-2.0

package test

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/policy"
)

// recoveries names the tests that show how each bad state ends automatically, within a bounded time, once its cause is
// removed. The states are reasons, and fields of structs in controllers that keep an error or a SourceError. The tests are
// written as "PACKAGE TEST", separated by commas.
var recoveries = map[string]string{
	// The kinds of objects.
	"retention.listing.lost":          "retention TestLostStopsAKindUntilItsNextList, kube TestSourceErrorsAreReportedAndRetried",
	"retention.listing.undeletable":   "retention TestKindThatCannotBeDeletedSaysSo, kube TestPermissionToDelete",
	"retention.listing.unmarkable":    "kube TestPermissionToMark",
	"KindNotFound":                    "kube TestSourceErrorsAreReportedAndRetried, kube TestRemovedKindIsLostWithinSeconds",
	"AggregatedAPI":                   "kube TestSourceErrorsAreReportedAndRetried",
	"ListFailed":                      "kube TestSourceErrorsAreReportedAndRetried, kube TestUnreadableKeptObjectsAreRelisted, node/hub TestReportsThatCannotBeReadAreReadAgain",
	"Listing":                         "retention TestSlowListOfANamespaceDelaysNoOther, retention TestAddedRuleKeepsUntilItsListingIsComplete",
	"index.note.err":                  "retention TestObjectThatWasNotEvaluatedIsEvaluatedAgain, kube TestNamespacesShareTheTimeOfEvaluations",
	"index.note.stale":                "retention TestObjectThatWasNotEvaluatedIsEvaluatedAgain",
	"index.partition.stale":           "retention TestObjectThatWasNotEvaluatedIsEvaluatedAgain",
	"EvaluationFailed":                "retention/index TestTransientErrorsAreEvaluatedAgain, status TestPolicyThatFailsSaysSoOnItselfAndOnThoseItBlocks",
	"Unmarked":                        "retention TestMarkThatFailsIsTriedAgain",
	"retention.KindState.Lost":        "retention TestKindThatCannotListStopsNoOther",
	"retention.KindState.Undeletable": "retention TestKindThatCannotBeDeletedSaysSo",
	"retention.KindState.Unmarkable":  "kube TestPermissionToMark",

	"retention.listing.stale": "retention TestNamespacesAreListedOneByOne, retention TestSlowListOfANamespaceDelaysNoOther",

	// Deletions in a namespace, or of an object.
	"NamespaceInDoubt":              "retention TestNamespaceInDoubtHoldsBackOnlyItself, policyset TestNamespaceThatComesBackIsAllowed",
	"Denied":                        "retention TestDeniedNamespaceIsProbedWithADueObject",
	"Failing":                       "retention TestRecoveredNamespaceIsThrottledNoMore, retention TestAttemptThatHangsStopsItsNamespaceForAWhileOnly",
	"Refused":                       "retention TestFailuresBackOffAlone, retention TestObstacleThatPassesIsNoDelay",
	"ArchiveUnavailable":            "retention TestUnavailableArchiveKeepsObjects, status TestEveryReasonIsReported",
	"SnapshotPending":               "retention TestSnapshotComesFirst, status TestEveryReasonIsReported",
	"SnapshotFailed":                "retention TestSnapshotThatIsMissingKeepsTheClaim, status TestEveryReasonIsReported",
	"SnapshotUnavailable":           "retention TestSnapshotThatIsMissingKeepsTheClaim, status TestEveryReasonIsReported",
	"OwnerWaits":                    "retention TestOwnerThatWaitsIsADelay",
	"OwnerKept":                     "retention TestOwnerIsRetriedWithBackoff",
	"retention.load.throttled":      "retention TestRecoveredNamespaceIsThrottledNoMore",
	"retention.KindState.Throttled": "retention TestRecoveredNamespaceIsThrottledNoMore",
	"Throttled":                     "retention TestRecoveredNamespaceIsThrottledNoMore, status TestEveryReasonIsReported",
	"Recreated":                     "retention/index TestRecreationCountResets",
	"Paced":                         "retention TestMaxPerSecond",

	// The checks before each deletion.
	"retention.Reconciler.preflightError":          "retention TestPreflightErrorStopsDeletions",
	"retention.preflightError.err":                 "retention TestPreflightErrorStopsDeletions",
	"Stale":                                        "retention TestPreflightErrorStopsDeletions, policyset TestDoubtFailsClosed",
	"policyset.liveResult.err":                     "policyset TestDoubtFailsClosed, policyset TestNamespaceThatComesBackIsAllowed",
	"skew.Clocks.err":                              "policyset TestWrongClockCountsAsLongAsItsAnswer, policyset TestDoubtFailsClosed",
	"policyset.Reconciler.skewed":                  "policyset TestClocksAreComparedThoughNothingIsDue",
	"policyset.unread.err":                         "policyset TestPolicyThatComesAndGoesStopsItsOwnNamespaceAlone, policyset TestSlowEditDelaysNoOtherNamespace",
	"policyset.permission.err":                     "policyset TestEditCopiesNoPolicyOfAnotherNamespace",
	"policyset.freshness.unread":                   "policyset TestPolicyThatComesAndGoesStopsItsOwnNamespaceAlone",
	"policyset.failing.err":                        "policyset TestCacheThatRelistsFromALiarForgetsNone",
	"policyset.CompiledSnapshot.QuotaError":        "policyset TestUnreadableQuotasBindNothing",
	"policyset.namespaceQuotas.err":                "policyset TestUnreadableQuotasBindNothing",
	"policyset.CompiledSnapshot.QuotasUnread":      "policyset TestListThatLacksQuotasBindsNothing",
	"policyset.CompiledSnapshot.InvalidReferences": "kube/referrers TestInvalidReferenceMayReferToAnything",
	"policyset.Reconciler.invalidReferences":       "kube/referrers TestInvalidReferenceMayReferToAnything",
	"policyset.read.err":                           "policyset TestRuleIsCheckedWhenItsDocumentIsThere",
	"permissions.answer.err":                       "policyset/permissions TestRecoveredReviewIsPublished, policyset/permissions TestRefresherReportsChanges",
	"Forbidden":                                    "policyset/permissions TestRecoveredReviewIsPublished, kube TestPermissionToDelete, kube/referrers TestPermissionsAreDeniedAndGranted",
	"Counting":                                     "status TestRulesThatAskAreCountedOnceTheyCanBe, policyset TestNamespaceRestsFromCompiling",
	"LimitReached":                                 "ledgers TestLimitsWaitAndGoOn",
	"ledgers.worker.writeErr":                      "ledgers TestWriteErrorsAreRetriedWithPauses",
	"ledgers.State.WriteError":                     "ledgers TestWriteErrorsAreRetriedWithPauses",
	"LedgerUnavailable":                            "ledgers TestWriteErrorsAreRetriedWithPauses, ledgers TestLedgerThatIsDeletedByHandStopsDeletionsUntilItIsRestored",
	"LedgerNotRead":                                "ledgers TestLedgersThatCannotBeListed, ledgers TestLedgersThatCannotBeSealedDelayTheOthersForABoundedTime",
	"ledgers.worker.readErr":                       "ledgers TestEntryStaysInDoubtWithoutReadPermission",
	"ledgers.State.ReadError":                      "ledgers TestEntryStaysInDoubtWithoutReadPermission",
	"EntriesUnread":                                "ledgers TestEntryStaysInDoubtWithoutReadPermission, ledgers TestObjectThatCannotBeReadStopsNoOther",

	// Archives.
	"archives.worker.refusal":   "archives TestSegmentThatTheStoreNeverTakes",
	"archives.worker.damage":    "archives TestStoreFails",
	"archives.worker.invalid":   "archives TestArchiveThatCannotBeUsed, archives TestSecretsNeedEncryption",
	"archives.worker.expired":   "archives TestRefusedDayThatIsDeleted, archives TestRefusedDaysOfAnotherSpec",
	"archives.reading.invalid":  "archives TestArchiveThatCannotBeUsed",
	"archives.reading.shared":   "archives TestArchivesThatShareAURL",
	"archives.worker.shared":    "archives TestArchivesThatShareAURL, archives TestSharedURLIsFoundLater",
	"archives.lastCheck.err":    "archives TestRetainDoesNotRelyOnACache",
	"archives.trimmer.unlisted": "archives TestRetainNeedsAListing",
	"archives.trimmer.cause":    "archives TestRetainAndRequestsThatFail, archives TestRetainThatIsLate",
	"archives.index.err":        "archives TestIndexThatCannotBeWritten",
	"archives.failures.err":     "archives TestSegmentThatTheStoreNeverTakes",
	"archives.failures.lostErr": "archives TestRequiredLogOfAPodThatVanishes",
	"archives.Manager.unread":   "archives TestArchivesAreReadAgain",
	"archives.request.err":      "archives TestUnreadableObjectsStopOnlyTheirNamespace",
	"archives.request.stale":    "archives TestChangedObjectIsNotRecorded",
	"store.Probe.Write":         "archives TestStoreFails",
	"store.Probe.Read":          "archives TestStoreFails",
	"store.Probe.Delete":        "archives TestStoreRefusesToDelete",

	// References.
	"references.from.lost":       "kube/referrers TestPermissionsAreDeniedAndGranted, kube/references TestDoubtSaysWhoCannotBeRead",
	"references.failure.err":     "kube/referrers TestObjectThatCannotBeRead",
	"references.Referrer.Err":    "kube/referrers TestObjectThatCannotBeRead",
	"references.Uses.Doubt":      "kube/references TestDoubtSaysWhoCannotBeRead",
	"references.Uses.Unread":     "kube TestMissingTargetsAreReevaluated",
	"references.Doubted.Why":     "kube/references TestDoubtsAreAllSourcesInDoubt",
	"references.from.unread":     "kube/referrers TestObjectThatCannotBeRead",
	"references.Referrer.Unread": "kube/referrers TestObjectThatCannotBeRead",
	"references.Source.Doubted":  "kube/references TestDoubtsAreAllSourcesInDoubt",
	"referrers.State.Denied":     "kube/referrers TestPermissionsAreDeniedAndGranted",
	"references.from.paused":     "kube/references TestPauseIsNoDoubt, retention TestConfirmDefersSubjectsWithOutdatedFacts",
	"referrers.source.why":       "kube/referrers TestPermissionsAreDeniedAndGranted, kube/referrers TestWatchThatIsFrozen",
	"ReferencesUnknown":          "kube/referrers TestPermissionsAreDeniedAndGranted, status TestReferencesKnownCondition",

	// Nodes.
	"hub.RulePublisher.writeErr":  "node/hub TestUnwrittenUntilTheErrorEnds",
	"RulesNotWritten":             "node/hub TestUnwrittenUntilTheErrorEnds",
	"hub.ReportCollector.readErr": "node/hub TestReportsThatCannotBeReadAreReadAgain",
	"NoAgents":                    "status TestReportOfANodeIsInTheStatusSoon, status TestEveryReasonIsReported",
	"AgentsSilent":                "status TestReportOfANodeIsInTheStatusSoon, status TestEveryReasonIsReported",
	"RulesTooLarge":               "node/hub TestRuleThatDoesNotFitIsTold",
	"agent.disk.err":              "node/agent TestDiskThatIsNotSeenIsLookedAtAgain",
	"FilesystemUnseen":            "node/agent TestDiskThatIsNotSeenIsLookedAtAgain",
	"history.History.doubted":     "node/images/history TestDoubtOutlivesARestart, node/images/history TestEmptyListingAfterARestartIsBelieved",
	"images.Node.lastErr":         "node/images TestUnreachableEndsWhenTheRuntimeAnswers",
	"RuntimeUnreachable":          "node/images TestUnreachableEndsWhenTheRuntimeAnswers, node/images TestF41RuntimeErrors",
	"PodsUnknown":                 "node/agent TestPodsThatWereNotListedAreListedAgain",
	"agent.rules.unread":          "node/agent TestConfirmErrorEnds",
	"agent.rules.confirmErr":      "node/agent TestConfirmErrorEnds",
	"RulesUnknown":                "node/agent TestConfirmErrorEnds, node/agent TestRulesThatAnAnswerLackedComeBack",
	"history.Store.saveErr":       "node/images/history TestSaveIsRetriedAfterAFullDisk",
	"history.Store.agesReset":     "node/images/history TestAgesResetIsReportedForADay",
	"StateNotKept":                "node/images/history TestSaveIsRetriedAfterAFullDisk, node/images/history TestAgesResetIsReportedForADay",
}

// others are fields and reasons that are not such states, and why.
var others = map[string]string{
	// Created again each time, or never kept.
	"agent.conditionCause.err":            "made for each report",
	"images.singleflight.err":             "one snapshot, which is taken again",
	"images.prepared.lost":                "one removal, which is prepared again",
	"cri.checkAtWrite.failed":             "one request",
	"kube.evaluationBudget.noTime":        "errors to share, made when needed",
	"ledgers.Manager.failed":              "ends the process",
	"policyset.Reconciler.failed":         "ends the process",
	"extract.Refused.Err":                 "about a declaration, made again with each edit",
	"referrers.State.Why":                 "see referrers.source.why",
	"status.statusInput.preflightErr":     "made for each count",
	"status.statusInput.throttled":        "made for each count",
	"status.statusInput.archives":         "made for each count",
	"status.write.err":                    "one request, which is sent again",
	"status.nodesNow.unread":              "made for each status",
	"status.nodesNow.unwritten":           "made for each status",
	"status.referred.doubt":               "made for each status",
	"retention.Outcome.Err":               "one attempt",
	"history.Outcome.Doubted":             "one listing; see history.History.doubted",
	"history.Outcome.Stale":               "one listing",
	"history.content.Doubted":             "the saved part of history.History.doubted",
	"ledgers.State.Doubtful":              "a number; docs/contributing/ledger.md says when entries leave this state",
	"retention.Reconciler.failingRate":    "a limit, not a state",
	"retention.Reconciler.throttledSlots": "a limit, not a state",

	// States without a problem.
	"Ready": "no problem", "AsExpected": "no problem", "Valid": "no problem", "Watching": "no problem", "Enforcing": "no problem",
	"Permitted": "no problem", "ReferencesKnown": "no problem", "Archiving": "no problem",
	"Expired": "it is deleted", "OverCapacity": "it is deleted",

	// Known facts, which last until the object or the time changes.
	"Held": "of the object", "Uncounted": "of the object", "Pinned": "of the image", "InUse": "of the image", "Unpullable": "of the image",
	"KeptNewest": "of the object", "NeverDue": "of the object", "NoStartTime": "of the object", "NotEligible": "of the object", "NotSelected": "of the object",
	"NoOwner": "of the object", "NoCommonWindow": "of the object and the time", "Waiting": "of the object", "Deferred": "of the object", "WithinCapacity": "of the object",
	"ManagedByArgoCD": "of the object", "ManagedByFlux": "of the object", "ManagedByHelm": "of the object", "ManagedByMultiKueue": "of the object",

	// The choices of a person.
	"DryRun": "of the policy", "Suspended": "of the policy", "Frozen": "of the policy", "OutsideWindows": "of the policy", "Terminating": "of the policy or object", "RuleInvalid": "of the policy",
	"PermissionsUnknown": "ends with the first answer of the API server",
	"ApprovalRequired":   "waits for an approval", "ChangeTooLarge": "waits for an approval", "RequiredForAllChanges": "waits for an approval",
}

// TestRecoveriesCoverReasonsAndErrors: each reason, and each field of a struct in controllers that keeps an error or a SourceError, is in
// recoveries with existing tests, or in others with the reason why it does not belong there.
func TestRecoveriesCoverReasonsAndErrors(t *testing.T) {
	found := map[string]bool{}
	all := sources(t)
	for _, s := range all {
		if s.isTest || !under(s.dir, "controllers") {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if of, ok := spec.Type.(*ast.StructType); ok {
				for _, name := range doubts(of) {
					found[fmt.Sprintf("%s.%s.%s", s.syntax.Name.Name, spec.Name.Name, name)] = true
				}
			}
			return true
		})
	}
	if len(found) < 30 {
		t.Errorf("found only %d fields", len(found))
	}
	_, reasons := conditionsAndReasons(t)
	for _, r := range policy.Reasons() {
		reasons[string(r)] = true
	}
	for reason := range reasons {
		found[reason] = true
	}
	for state := range found {
		if recoveries[state] == "" && others[state] == "" {
			t.Errorf("%s is neither in recoveries nor in others", state)
		}
	}
	for state, tests := range recoveries {
		if others[state] != "" {
			t.Errorf("%s is in both tables", state)
		}
		if !found[state] {
			t.Errorf("state %s does not exist", state)
		}
		for named := range strings.SplitSeq(tests, ", ") {
			dir, name, _ := strings.Cut(named, " ")
			if !hasTest(all, "controllers/"+dir, name) {
				t.Errorf("%s: test %s does not exist in controllers/%s", state, name, dir)
			}
		}
	}
	for state := range others {
		if !found[state] {
			t.Errorf("state %s does not exist", state)
		}
	}
}

var (
	doubtType = regexp.MustCompile(`\b(error|SourceError)$`)
	doubtName = regexp.MustCompile(`(?i)unread|lost|doubt|denied|paused|throttled|skew|failing|stale|unknown|invalid|preflightError`)
)

// doubts returns the fields of a struct that keep an error or a SourceError, or that are named like a doubt.
func doubts(of *ast.StructType) (names []string) {
	for _, field := range of.Fields.List {
		if _, is := field.Type.(*ast.FuncType); is {
			continue
		}
		for _, name := range field.Names {
			if doubtType.MatchString(types.ExprString(field.Type)) || doubtName.MatchString(name.Name) {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// hasTest reports whether a package has a test.
func hasTest(all []source, dir, name string) bool {
	for _, s := range all {
		if s.isTest && s.dir == dir {
			for _, d := range s.syntax.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
					return true
				}
			}
		}
	}
	return false
}
