package mutants

// changeTable changes what waits for approval, and how it is counted: gates, previews and what a change frees.
var changeTable = map[string]Mutant{
	"a dry run that goes frees what it never kept": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "return !r.dryRun() && kinds.Has(",
		New: "return kinds.Has(",
	},
	"a dry run that was not counted has shown what it deletes": {
		File: "policy/backlog.go", Test: "./policy TestWhatADryRunHasShownIsNotNew",
		Old: "case c.previewed && r.dryRun():",
		New: "case r.dryRun():",
	},
	"a hold that is lifted frees nothing": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "case !c.before.applies(p, namespace), was.Held && !is.Held,",
		New: "case !c.before.applies(p, namespace),",
	},
	"a namespace that changed when the preview was made is not among it": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "ok && !since.After(upTo)",
		New: "ok && since.Before(upTo)",
	},
	"a namespace that changes again keeps its first time": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "\t\twider[namespace] = since\n",
		New: "\t\tif _, known := wider[namespace]; !known {\n\t\t\twider[namespace] = since\n\t\t}\n",
	},
	"a namespace that comes to be selected frees nothing": {
		File: "policy/change.go", Test: "./policy TestWhereAPolicyAppliesAnew",
		Old: "case !c.before.applies(p, namespace), was.Held",
		New: "case was.Held",
	},
	"a policy of the same name is the same policy": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "if now != nil && now.UID == p.UID && now",
		New: "if now != nil && now",
	},
	"a policy reaches no cluster-scoped objects": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "\tif p.Namespace == \"\" {\n\t\tall.Insert(\"\")",
		New: "\tif p.Namespace != \"\" {\n\t\tall.Insert(\"\")",
	},
	"a preview leaves out what would be deleted later anyway": {
		File: "policy/backlog.go", Test: "./controllers/policyset TestWhatAChangeLetsGoIsCountedFirst",
		Old: "if c.isNew(soon) || c.isNew(later) {",
		New: "if c.isNew(later) {",
	},
	"a rule that gets a TTL keeps as before": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "if was.TTL >= 0 { // a rule",
		New: "if was.TTL >= 0 || is.TTL >= 0 { // a rule",
	},
	"a rule that was never counted waits only where something changed": {
		File: "policy/approval_gate.go", Test: "./policy TestWhatAGateCovers",
		Old: "return g != nil && (g.Uncounted.Has(rule) ||\n",
		New: "return g != nil && (\n",
	},
	"a selector that is narrowed frees nothing": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "p.Namespaces.String() == was.Namespaces.String() && was",
		New: "was",
	},
	"a shorter time to live keeps like the longer": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "is.TTL = min(is.TTL, was.TTL)",
		New: "is.TTL = max(is.TTL, was.TTL)",
	},
	"a suspension hides what a rule would delete": {
		File: "policy/backlog.go", Test: "./policy TestWhatIsHeldForNowIsInTheWorstCase",
		Old: "bare.Suspended, bare.Overrides = false, nil",
		New: "bare.Overrides = nil",
	},
	"an approval is of the form alone, not of the object": {
		File: "policy/approval_gate.go", Test: "./policy TestACopyIsNotApproved",
		Old: "return hashOf(string(p.UID), p.Hash)",
		New: "return hashOf(p.Hash)",
	},
	"an approval of namespaces outlives the next change": {
		File: "policy/approval_gate.go", Test: "./policy TestWhatApprovesAScope",
		Old: "append([]string{p.ApprovalHash(), since.UTC().Format(time.RFC3339Nano)}, slices",
		New: "append([]string{p.ApprovalHash()}, slices",
	},
	"an approval that is always required is required of many alone": {
		File: "policy/approval_gate.go", Test: "./policy TestHowMuchMayGoUnseen",
		Old: "return a.Always && due > 0 ||",
		New: "return a.Always && due >= atLeast ||",
	},
	"an approved namespace stays approved whatever changes later": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "ok && at.Equal(since) {",
		New: "ok && !at.IsZero() {",
	},
	"an exclusion that is removed narrows nothing": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "was.Excluded.IsSuperset(p.Excluded)",
		New: "p.Excluded.IsSuperset(was.Excluded)",
	},
	"an override hides what a rule would delete": {
		File: "policy/backlog.go", Test: "./policy TestWhatIsHeldForNowIsInTheWorstCase",
		Old: "bare.Suspended, bare.Overrides = false, nil",
		New: "bare.Suspended = false",
	},
	"an override without a policy is about none": {
		File: "policy/change.go", Test: "./policy TestWhereAPolicyAppliesAnew",
		Old: "o.Policy != \"\" && o.Policy != p.Name",
		New: "o.Policy != p.Name",
	},
	"an uncounted Pod is not counted in a preview": {
		File: "policy/backlog.go", Test: "./policy TestWhatIsHeldForNowIsInTheWorstCase",
		Old: "s.Flags &^= IsHeld | IsUncounted",
		New: "s.Flags &^= IsHeld",
	},
	"another thing to delete needs no approval": {
		File: "policy/load_settings.go", Test: "./policy TestEveryFieldOfASpecIsInItsHash",
		Old: "same == (v1alpha1.Delete{}) {",
		New: "same.What != v1alpha1.DeleteOwner || !same.AllowUnfinishedOwner {",
	},
	"doubt of other policies opens the gate": {
		File: "policy/backlog.go", Test: "./policy TestWhatIsNotKnownOfOthersOpensNoGate",
		Old: "if isOwn || !v.isDoubt() {",
		New: "if true {",
	},
	"everything new may have displaced something": {
		File: "policy/recount.go", Test: "./policy TestWhatIsNewSinceACount",
		Old: "if slices.ContainsFunc(c.own, func(o Evaluation) bool { return o.Rule.Ranks() }) {",
		New: "if len(c.own) > 0 {",
	},
	"protected namespaces are within reach": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "if b.applies(p, namespace) && !b.protection.Namespace(namespace) {",
		New: "if b.applies(p, namespace) {",
	},
	"quotas that become known are a change": {
		File: "policy/change.go", Test: "./policy TestQuotasThatBecomeKnownAreNoChange",
		Old: "if was.Quotas == nil || n.Quotas == nil {",
		New: "if was.Quotas == nil && n.Quotas == nil {",
	},
	"the first change of a scope counts, not the latest": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "if since.After(latest) {",
		New: "if latest.IsZero() {",
	},
	"the percentage of an approval is rounded up": {
		File: "policy/approval_gate.go", Test: "./policy TestHowMuchMayGoUnseen",
		Old: "due > percentRoundedDown(selected",
		New: "due > percentRoundedUp(selected",
	},
	"two changes at one moment are one": {
		File: "policy/approval_gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "since = latest.Add(time.Microsecond)",
		New: "since = latest",
	},
	"what is due after the quiet period is due later": {
		File: "policy/backlog.go", Test: "./policy TestABacklogIsOneInItsQuietPeriodToo",
		Old: "soon, later := quietBy(policy, t.now), t.now.Add(horizon)",
		New: "soon, later := t.now, t.now.Add(horizon)",
	},
	"the approval of a difference approves the form": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestApprovalOfADifferenceApprovesNothingElse",
		Old: "before.policy.Accepted && before.policy.Hash == p.Hash",
		New: "before.gate() != nil && before.gate().Hash == p.Approved",
	},
	"the status approves a form whose annotation was removed": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestAFormStaysApproved",
		Old: "\tcase p.Approved == \"\":\n\t\treturn false\n",
		New: "",
	},
	"the status approves another form": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestAFormStaysApproved",
		Old: "|| status.Approved == p.ApprovalHash()",
		New: "|| status.Approved != \"\"",
	},
	"the approval of a form covers rules that were not counted": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestApprovalOfAFormCountsForTheRulesThatWereCounted",
		Old: "if p.Accepted && r.OnNodes() {",
		New: "if p.Accepted {",
	},
	"the approval of rules covers others that were not counted": {
		File: "controllers/status/pending.go", Test: "./controllers/status TestWhatACountShows",
		Old: "gate.Rules.Difference(sets.New(uncounted...))",
		New: "gate.Rules.Difference(sets.New(uncounted[:0]...))",
	},
	"a late count of an earlier form counts": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestACountOfAnotherFormIsNoPreview",
		Old: " && e.policy.Hash == c.Preview.Hash && c.Generation >= e.previews.generation",
		New: "",
	},
	"a change elsewhere leaves the counts of earlier forms": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestAnEarlierFormIsCountedAgainAfterOtherChanges",
		Old: "if len(fewer) > 0 || change.Concerns(e.policy) {",
		New: "if len(fewer) > 0 {",
	},
	"a restart leaves the counts of earlier forms": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestAnEarlierFormIsCountedAgainAfterOtherChanges",
		Old: "if known, ok := previewIn(status, p.Hash); ok {",
		New: "for _, known := range status.Previews {",
	},
	"a dry run is enforced while no leader runs, and compared with nothing": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestADryRunIsCountedAgainAfterOtherChanges",
		Old: "if known, ok := byHash[p.Hash]; ok {",
		New: "if known, ok := byHash[p.Hash]; ok && p.Mode == v1alpha1.Suspended {",
	},
	"what cannot be counted beside a change is not counted later": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestWhatACountShows",
		Old: "p.Gate != nil && (p.Gate.Recount != nil || p.Gate.Namespaces != nil):",
		New: "p.Gate != nil && p.Gate.Recount != nil && pending == nil:",
	},
	"the count of a form covers what waited in the form before": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestTheCountOfOneFormReleasesNothingOfAnother",
		Old: "waits := all.scope != nil || !all.outdated.IsZero()",
		New: "waits := false",
	},
	"an earlier approval counts for a form that returns": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestAnEarlierApprovalDoesNotCountForAFormThatReturns",
		Old: "return before.policy.Hash != p.Hash",
		New: "return false",
	},
	"an earlier approval counts for a form that returns beside a restart": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestAnEarlierApprovalDoesNotCountForAFormThatReturns",
		Old: "return status.ObservedGeneration > 0",
		New: "return status.ObservedGeneration < 0",
	},
	"the approval of rules covers them when they wait again": {
		File: "policy/approval_gate.go", Test: "./controllers/status TestWhatACountShows",
		Old: "\"rules\", since.UTC().Format(time.RFC3339Nano)}",
		New: "\"rules\"}",
	},
	"a late count of a form that returned counts": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestALateCountOfAFormThatReturns",
		Old: " && c.Generation >= e.previews.generation",
		New: "",
	},
	"a number that was shown earlier approves a later change of a dry run": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestAnEarlierNumberApprovesNoLaterChange",
		Old: "case !all.outdated.IsZero() && p.Approved == p.RecountHash(all.outdated):",
		New: "case !all.outdated.IsZero() && p.Approved != \"\":",
	},
	"a restart forgets an approval": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestARestartForgetsNoApproval",
		Old: "!counted && isShown(status, p)",
		New: "!counted && counted",
	},
	"a restart forgets that a dry run could delete more than was approved": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestARestartRemembersThatADryRunCouldDeleteMore",
		Old: "return status.ObservedGeneration > 0",
		New: "return status.ObservedGeneration > 0 && status.Approved != p.Approved",
	},
	"the next leader does not count a form again that was approved before": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestTheStatusKnowsTheFormThatWasApproved",
		Old: "(counted || v.compiled.Outdated[p.UID].IsZero())",
		New: "(counted || true)",
	},
	"the approval of a change that there was not approves a form": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestAnApprovalOfNothingApprovesNothing",
		Old: "case !all.outdated.IsZero() && p.Approved == p.RecountHash(all.outdated):",
		New: "case p.Approved == p.RecountHash(all.outdated):",
	},
	"a preview has what waits for approval": {
		File: "controllers/status/approval.go", Test: "./controllers/status TestAPreviewLacksWhatWaitsForApproval",
		Old: "p.Gate.Uncounted.Len() > 0 || pending != nil {",
		New: "p.Gate.Uncounted.Len() > 0 {",
	},
	"the count of another form ends the comparison with the leader before": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestTheCountOfAnotherFormEndsNoComparison",
		Old: "known != nil && known.Hash == c.Preview.Hash &&",
		New: "known != nil &&",
	},
	"what is approved of a form stays approved in the hash that it asks for later": {
		File: "controllers/policyset/previews.go", Test: "./controllers/policyset TestAFormThatReturnsAsksForAnotherHash",
		Old: "case before != nil && !isSame && !all.outdated.IsZero(),",
		New: "case before != nil && isSame && !isSame,",
	},
	"an edit waits until a report has written all statuses": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestManyWritesDelayNoEdit",
		Old: "writesFor    = 500 * time.Millisecond ",
		New: "writesFor    = time.Hour ",
	},
	"an edit waits until a report has read the statuses of all new policies": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestManyNewPoliciesDelayNoEdit",
		Old: "readsFor     = 500 * time.Millisecond ",
		New: "readsFor     = time.Hour ",
	},
	"a long count delays an edit like anything else": {
		File: "controllers/status/schedule.go", Test: "./controllers/status TestACountThatTakesLongDelaysAnEditLess",
		Old: "return min(editFactor*r.took",
		New: "return min(restFactor*r.took",
	},
	"the status of an edited policy waits for those of others": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestManyWritesDelayNoEdit",
		Old: "cmp.Or(r.editedFirst(queues[a][0], queues[b][0]), ",
		New: "cmp.Or(",
	},
	"the status of a small edited policy waits for those of large ones": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestASmallStatusIsWrittenBeforeLargeOnes",
		Old: "return cmp.Compare(len(a.policy.Rules), len(b.policy.Rules))",
		New: "return 0",
	},
	"an edit waits until statuses of new policies have been read": {
		File: "controllers/status/reporter.go", Test: "./controllers/status TestManyNewPoliciesDelayNoEdit",
		Old: "[][]*policy.Policy{edited, unknown, others}",
		New: "[][]*policy.Policy{unknown, edited, others}",
	},
	"where counting takes long, little time is left for writing": {
		File: "controllers/status/schedule.go", Test: "./controllers/status TestACountThatTakesLongDelaysAnEditLess",
		Old: "return max(least, min(editFactor*r.took, countAtLeast))",
		New: "return least",
	},
	"statuses of ClusterRetentionPolicies are written one after the other": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestClusterPoliciesAreWrittenEightAtATime",
		Old: "const clusterLanes = 8",
		New: "const clusterLanes = 1",
	},
	"large statuses are written as many at a time as small ones": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestLargeStatusesAreWrittenFewAtATime",
		Old: "bytes < bytesAtOnce",
		New: "bytes >= 0",
	},
	"statuses are written in the order of the alphabet": {
		File: "controllers/status/writes.go", Test: "./controllers/status TestTheNamespaceThatWaitedLongestIsWrittenFirst",
		Old: "r.editedFirst(queues[a][0], queues[b][0]), r.writes.lane(a).began.Compare(r.writes.lane(b).began)",
		New: "r.editedFirst(queues[a][0], queues[b][0])",
	},
	"a rule that cannot be counted asks for an approval": {
		File: "controllers/status/pending.go", Test: "./controllers/status TestARuleThatCannotBeCountedAsksForNoApproval",
		Old: "len(shown.Rules) == 0 || p.Approved == hash",
		New: "p.Approved == hash",
	},
	"a dry run is compared with what was in force before its last count": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestADryRunIsComparedWithItsLastCount",
		Old: "if e.gate() == nil { // what",
		New: "if false { // what",
	},
}
