// SPDX-License-Identifier: Apache-2.0

package mutants

// changeTable changes approvals and how they are counted: approval gates, previews, and what a change allows to delete.
var changeTable = map[string]Mutant{
	"a dry-run policy that no longer applies counts as allowing deletions": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "return !r.dryRun() && kinds.Has(",
		New: "return kinds.Has(",
	},
	"a dry run that was never counted needs no approval": {
		File: "policy/change_count.go", Test: "./policy TestPendingDueOmitsCountedDryRuns",
		Old: "case c.previewed && r.dryRun():",
		New: "case r.dryRun():",
	},
	"removing a hold allows no deletions": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "case !c.before.applies(p, namespace), was.Held && !is.Held,",
		New: "case !c.before.applies(p, namespace),",
	},
	"a preview does not cover a namespace that changed at the same moment": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "ok && !since.After(upTo)",
		New: "ok && since.Before(upTo)",
	},
	"a namespace that changes again keeps the time of its first change": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "\t\twider[namespace] = since\n",
		New: "\t\tif _, known := wider[namespace]; !known {\n\t\t\twider[namespace] = since\n\t\t}\n",
	},
	"selecting another namespace allows no deletions": {
		File: "policy/change.go", Test: "./policy TestApprovalScopeNewNamespaces",
		Old: "case !c.before.applies(p, namespace), was.Held",
		New: "case was.Held",
	},
	"a recreated policy counts as the same policy": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "if now != nil && now.UID == p.UID && now",
		New: "if now != nil && now",
	},
	"a policy does not apply to cluster-scoped objects": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "\tif p.Namespace == \"\" {\n\t\tall.Insert(\"\")",
		New: "\tif p.Namespace != \"\" {\n\t\tall.Insert(\"\")",
	},
	"a preview excludes objects that the previous rules would delete later": {
		File: "policy/change_count.go", Test: "./controllers/policyset TestChangeThatDeletesMoreIsCountedFirst",
		Old: "if c.isNew(soon) || c.isNew(later) || anytime.isNew(soon) ||",
		New: "if c.isNew(later) ||",
	},
	"adding a TTL to a rule allows no deletions": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "if was.TTL >= 0 { //",
		New: "if was.TTL >= 0 || is.TTL >= 0 { //",
	},
	"a rule that was never counted waits only in namespaces that changed": {
		File: "policy/approval_gate.go", Test: "./policy TestApprovalGateCovers",
		Old: "return g != nil && (g.Uncounted.Has(rule) ||\n",
		New: "return g != nil && (\n",
	},
	"narrowing the namespace selector of a policy allows no deletions": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "p.Namespaces.String() == was.Namespaces.String() && was",
		New: "was",
	},
	"lowering a TTL allows no deletions": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "is.TTL = min(is.TTL, was.TTL)",
		New: "is.TTL = max(is.TTL, was.TTL)",
	},
	"the worst case excludes objects that a suspension keeps": {
		File: "policy/change_count.go", Test: "./policy TestPendingWeekIncludesTemporaryHolds",
		Old: "made.Suspended, made.Overrides = false, nil",
		New: "made.Overrides = nil",
	},
	"an approval covers every policy with the same spec": {
		File: "policy/approval_gate.go", Test: "./policy TestCopyIsNotApproved",
		Old: "return hashOf(string(p.UID), p.Hash)",
		New: "return hashOf(p.Hash)",
	},
	"an approval of namespaces stays valid after the next change": {
		File: "policy/approval_gate.go", Test: "./policy TestScopeHashDependsOnPolicyTimeAndNamespaces",
		Old: "append([]string{p.ApprovalHash(), since.UTC().Format(time.RFC3339Nano)}, slices",
		New: "append([]string{p.ApprovalHash()}, slices",
	},
	"requiredFor AllChanges requires an approval only for many objects": {
		File: "policy/approval_gate.go", Test: "./policy TestApprovalExceeded",
		Old: "return a.AllChanges && due > 0 ||",
		New: "return a.AllChanges && due >= atLeast ||",
	},
	"an approved namespace stays approved after later changes": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "ok && at.Equal(since) {",
		New: "ok && !at.IsZero() {",
	},
	"excluding a namespace from a policy allows no deletions": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "was.Excluded.IsSuperset(p.Excluded)",
		New: "p.Excluded.IsSuperset(was.Excluded)",
	},
	"the worst case excludes objects that an override keeps": {
		File: "policy/change_count.go", Test: "./policy TestPendingWeekIncludesTemporaryHolds",
		Old: "made.Suspended, made.Overrides = false, nil",
		New: "made.Suspended = false",
	},
	"an override without a policy name applies to no policy": {
		File: "policy/change.go", Test: "./policy TestApprovalScopeNewNamespaces",
		Old: "o.Policy != \"\" && o.Policy != p.Name",
		New: "o.Policy != p.Name",
	},
	"a preview excludes Pods that the Job controller has not counted": {
		File: "policy/change_count.go", Test: "./policy TestPendingWeekIncludesTemporaryHolds",
		Old: "s.Flags &^= IsHeld | IsUncounted",
		New: "s.Flags &^= IsHeld",
	},
	"changing what a rule deletes needs no approval": {
		File: "policy/load_settings.go", Test: "./policy TestSpecHashHasEveryField",
		Old: "same == (v1alpha1.Delete{}) {",
		New: "same.Target != v1alpha1.TargetOwner || !same.AllowUnfinishedOwner {",
	},
	"a change needs no approval while results of other policies are unknown": {
		File: "policy/change_count.go", Test: "./policy TestStatsUnknownFactsOfOthersOpenNoGate",
		Old: "if isOwn || !v.isDoubt() {",
		New: "if true {",
	},
	"every new object counts as displacing another one": {
		File: "policy/recount.go", Test: "./policy TestPendingBacklogSinceRecount",
		Old: "if slices.ContainsFunc(c.own, func(o Evaluation) bool { return o.Facts.Selected && o.Rule.Ranks() }) {",
		New: "if len(c.own) > 0 {",
	},
	"a policy applies to protected namespaces": {
		File: "policy/change.go", Test: "./policy TestChangeScopeIncludesFreedNamespaces",
		Old: "if b.applies(p, namespace) && !b.protection.Namespace(namespace) {",
		New: "if b.applies(p, namespace) {",
	},
	"reading quotas for the first time counts as a change": {
		File: "policy/change.go", Test: "./policy TestQuotasThatBecomeKnownAreNoChange",
		Old: "if was.Quotas == nil || n.Quotas == nil {",
		New: "if was.Quotas == nil && n.Quotas == nil {",
	},
	"the first change of a scope counts, not the latest one": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "\t\tlatest = Latest(latest, since)",
		New: "\t\tif latest.IsZero() {\n\t\t\tlatest = since\n\t\t}",
	},
	"the percentage of an approval is rounded up": {
		File: "policy/approval_gate.go", Test: "./policy TestApprovalExceeded",
		Old: "due > percentRoundedDown(selected",
		New: "due > percentRoundedUp(selected",
	},
	"two changes at the same moment count as one": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "since = latest.Add(time.Microsecond)",
		New: "since = latest",
	},
	"an object that becomes due in the quiet period is not in the backlog": {
		File: "policy/change_count.go", Test: "./policy TestBacklogIsOneInItsQuietPeriodToo",
		Old: "soon, later := quietBy(policy, t.now), t.now.Add(horizon)",
		New: "soon, later := t.now, t.now.Add(horizon)",
	},
	"an approval of another namespace counts": {
		File: "controllers/policyset/approvals.go", Test: "./controllers/policyset TestApprovalIsForOnePolicyOfItsNamespace",
		Old: " && a.Namespace == p.GetNamespace()",
		New: "",
	},
	"an approval with the name of another policy counts": {
		File: "controllers/policyset/approvals.go", Test: "./controllers/policyset TestApprovalNamesItsPolicy",
		Old: " && a.policy.Name == p.GetName()",
		New: "",
	},
	"an approval with a misspelt field counts": {
		File: "controllers/policyset/approvals.go", Test: "./controllers/policyset TestApprovalWithAnUnknownFieldDoesNotCount",
		Old: "FromUnstructuredWithValidation(object.Object, read, true)",
		New: "FromUnstructuredWithValidation(object.Object, read, false)",
	},
	"an approval that is being deleted counts until the cache shows that": {
		File: "controllers/policyset/approvals.go", Test: "./controllers/policyset TestApprovalBeingDeletedDoesNotCount",
		Old: "if list.Items[i].DeletionTimestamp == nil {",
		New: "if true {",
	},
	"an approval that is being deleted is read again and again": {
		File: "controllers/policyset/approvals.go", Test: "./controllers/policyset TestApprovalBeingDeletedDoesNotCount",
		Old: "object.GetDeletionTimestamp() != nil || ",
		New: "",
	},
	"a hold that is removed while a version waits is compared with the time before the hold": {
		File: "controllers/policyset/past.go", Test: "./controllers/policyset TestHoldThatIsRemovedWhileAVersionWaits",
		Old: "\tif v.before == nil {\n",
		New: "\tif v.before == nil || len(v.scope) == 0 {\n",
	},
	"a version that waits is compared with itself where something else changes": {
		File: "controllers/policyset/past.go", Test: "./controllers/policyset TestHoldThatIsRemovedWhileAVersionWaits",
		Old: "earlierVersions(entries)",
		New: "earlierVersions(entries[:0])",
	},
	"a second change of a namespace that waits is compared only with the time before the first": {
		File: "controllers/policyset/past.go", Test: "./controllers/policyset TestSecondChangeOfANamespaceThatWaits",
		Old: "if waits && l.Clock.Since(since) < pastEvery {",
		New: "if waits && !since.IsZero() {",
	},
	"an approval never expires": {
		File: "controllers/policyset/approvals.go", Test: "./controllers/policyset TestApprovalExpires",
		Old: "a.listed.Has(v.UID) && !v.hasExpired(now)",
		New: "a.listed.Has(v.UID)",
	},
	"a withdrawn approval counts until the cache shows that it is gone": {
		File: "controllers/policyset/approvals.go", Test: "./controllers/policyset TestWithdrawnApprovalStopsTheNextCheck",
		Old: "a.listed.Has(v.UID) && !v.hasExpired(now)",
		New: "!v.hasExpired(now)",
	},
	"a withdrawn approval leaves the count that it permitted": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestWithdrawnApprovalOfACountedVersion",
		Old: "\t\tall.withdrawn(p, now)\n",
		New: "",
	},
	"a new leader does not know by which approvals a policy deletes": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestWithdrawnApprovalOfACountedVersion",
		Old: "before == nil && enforced != nil && enforced.Hash == p.Hash",
		New: "before == nil && enforced != nil && enforced.Hash == \"\"",
	},
	"an approval that a list lacks is gone": {
		File: "controllers/policyset/approvals.go", Test: "./controllers/policyset TestListThatLacksAnApprovalWithdrawsNone",
		Old: "a.listed.Has(uid) && !in[uid]",
		New: "false && a.listed.Has(uid) && !in[uid]",
	},
	"the approval of a spec covers rules that were not counted": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestApprovalOfAFormCountsForTheRulesThatWereCounted",
		Old: "if p.Accepted() && r.OnNodes() {",
		New: "if p.Accepted() {",
	},
	"the approval of rules covers other rules that were not counted": {
		File: "controllers/status/pending.go", Test: "./controllers/status TestStatusShowsPreviewsAndPendingApproval",
		Old: "gate.Rules.Difference(sets.New(uncounted...))",
		New: "gate.Rules.Difference(sets.New(uncounted[:0]...))",
	},
	"a late count of an earlier spec counts": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestCountOfAnotherFormIsNoPreview",
		Old: " && e.policy.Hash == c.Preview.Hash && c.Generation >= e.previews.generation",
		New: "",
	},
	"a change of other objects keeps the counts of earlier specs": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestEarlierFormIsCountedAgainAfterOtherChanges",
		Old: "if len(affected) > 0 || change.Concerns(e.policy) {",
		New: "if len(affected) > 0 {",
	},
	"a restart keeps the counts of earlier specs": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestEarlierFormIsCountedAgainAfterOtherChanges",
		Old: "if known, ok := status.Preview(p.Hash); ok {",
		New: "for _, known := range status.Previews {",
	},
	"a dry run that is enforced without a leader is compared with nothing": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestDryRunIsCountedAgainAfterOtherChanges",
		Old: "if known, ok := byHash[p.Hash]; ok {",
		New: "if known, ok := byHash[p.Hash]; ok && p.Mode == v1alpha1.Suspend {",
	},
	"rules that cannot be counted during a change are never counted": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestStatusShowsPreviewsAndPendingApproval",
		Old: "p.Gate != nil && (p.Gate.Recount != nil || p.Gate.Namespaces != nil):",
		New: "p.Gate != nil && p.Gate.Recount != nil && pending == nil:",
	},
	"the count of a spec covers objects that waited under the previous spec": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestCountOfOneFormReleasesNothingOfAnother",
		Old: "waits := all.scope != nil || !all.outdated.IsZero()",
		New: "waits := false",
	},
	"an earlier approval counts for a spec that returns": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestEarlierApprovalDoesNotCountForAFormThatReturns",
		Old: "return before.policy.Hash != p.Hash",
		New: "return false",
	},
	"an earlier approval counts for a spec that returns during a restart": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestEarlierApprovalDoesNotCountForAFormThatReturns",
		Old: "return status.ObservedGeneration > 0",
		New: "return status.ObservedGeneration < 0",
	},
	"the approval of rules covers them when they wait again": {
		File: "policy/approval_gate.go", Test: "./controllers/status TestStatusShowsPreviewsAndPendingApproval",
		Old: "\"rules\", since.UTC().Format(time.RFC3339Nano)}",
		New: "\"rules\"}",
	},
	"a late count of a spec that returned counts": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestLateCountOfAFormThatReturns",
		Old: " && c.Generation >= e.previews.generation",
		New: "",
	},
	"an earlier count approves a later change of a dry run": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestEarlierNumberApprovesNoLaterChange",
		Old: "case !all.outdated.IsZero() && p.Approved.Has(p.RecountHash(all.outdated)):",
		New: "case !all.outdated.IsZero() && p.Approved.Len() > 0:",
	},
	"a restart forgets an approval": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestRestartForgetsNoApproval",
		Old: "!counted && isShown(status, p)",
		New: "!counted && counted",
	},
	"a restart forgets that a dry run would delete more than the approval covers": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestRestartRemembersThatADryRunCouldDeleteMore",
		Old: "return status.ObservedGeneration > 0",
		New: "return false",
	},
	"the approval of a nonexistent change approves a spec": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestApprovalOfNothingApprovesNothing",
		Old: "case !all.outdated.IsZero() && p.Approved.Has(p.RecountHash(all.outdated)):",
		New: "case p.Approved.Has(p.RecountHash(all.outdated)):",
	},
	"a preview includes objects that wait for approval": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestPreviewLacksWhatWaitsForApproval",
		Old: "p.Gate.Uncounted.Len() > 0 || pending != nil {",
		New: "p.Gate.Uncounted.Len() > 0 {",
	},
	"the count of another spec ends the comparison with the previous leader": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestCountOfAnotherFormEndsNoComparison",
		Old: "known != nil && known.Hash == c.Preview.Hash &&",
		New: "known != nil &&",
	},
	"a spec that returns keeps its approval under its next hash": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestFormThatReturnsAsksForAnotherHash",
		Old: "case before != nil && !isSame && !all.outdated.IsZero(),",
		New: "case before != nil && isSame && !isSame,",
	},
	"a rule that cannot be counted requests an approval": {
		File: "controllers/status/pending.go", Test: "./controllers/status TestRuleThatCannotBeCountedAsksForNoApproval",
		Old: "len(shown.Rules) == 0 || p.Approved.Has(hash)",
		New: "p.Approved.Has(hash)",
	},
	"a dry run is compared with the rules before its last count": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestDryRunIsComparedWithItsLastCount",
		Old: "if e.gate() == nil { //",
		New: "if false { //",
	},
}
