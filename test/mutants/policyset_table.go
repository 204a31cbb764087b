// SPDX-License-Identifier: Apache-2.0

package mutants

// policysetTable changes what a deletion reads first, what it waits for, and which approvals its record names.
var policysetTable = map[string]Mutant{
	"a rule takes the permissions of the previous rule for another kind": {
		File: "controllers/policyset/rule_permissions.go", Test: "./controllers/policyset TestPermissionsAreCheckedForEachRule",
		Old: "r.Kind == o.Kind && ",
		New: "",
	},
	"a rule takes the permissions of the previous rule, which does not mark": {
		File: "controllers/policyset/rule_permissions.go", Test: "./controllers/policyset TestPermissionsAreCheckedForEachRule",
		Old: " && (r.Mark == \"\") == (o.Mark == \"\")",
		New: "",
	},
	"a policy keeps the earlier permissions of its rules": {
		File: "controllers/policyset/rule_permissions.go", Test: "./controllers/policyset TestEditCopiesNoPolicyOfAnotherNamespace",
		Old: "r.Unpermitted == p.unpermitted() && ",
		New: "",
	},
	"a policy keeps the earlier watches of its rules": {
		File: "controllers/policyset/rule_permissions.go", Test: "./controllers/policyset TestEditCopiesNoPolicyOfAnotherNamespace",
		Old: " && r.Unwatched == !p.allowed",
		New: "",
	},
	"a policy without an approval gate keeps its copy with the earlier gate": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestOwnRulesWaitToo",
		Old: "if e.bound = nil; gate == nil && !marks {",
		New: "if e.bound = nil; !marks {",
	},
	"a record names all approvals of the policy": {
		File: "controllers/policyset/compiling.go", Test: "./controllers/policyset TestPolicyNamesTheApprovalsByWhichItDeletes",
		Old: "maps.Keys(done.previews.approved)",
		New: "maps.Keys(done.policy.Approved)",
	},
	"preflight: a policy missing from a later list comes back": {
		File: "controllers/policyset/unread.go", Test: "./controllers/policyset TestSlowEditDelaysNoOtherNamespace",
		Old: "if shown.Has(object.GetUID()) {",
		New: "if len(shown) >= 0 {",
	},
	"preflight: a policy is read repeatedly while its first read is slow": {
		File: "controllers/policyset/unread.go", Test: "./controllers/policyset TestSlowEditDelaysNoOtherNamespace",
		Old: "if !l.live.later.Has(o.UID) {",
		New: "if true {",
	},
	"preflight: a policy whose later read fails blocks no deletions": {
		File: "controllers/policyset/unread.go", Test: "./controllers/policyset TestPolicyThatComesAndGoesStopsItsOwnNamespaceAlone",
		Old: " && l.knows(on, u.item) })",
		New: " })",
	},
	"preflight: an unreadable RetentionPolicy blocks no deletions": {
		File: "controllers/policyset/live_check.go", Test: "./controllers/policyset TestPolicyThatComesAndGoesStopsItsOwnNamespaceAlone",
		Old: "case unread != nil:",
		New: "case unread != nil && false:",
	},
	"preflight: a change counts as applied while its snapshot is compiled": {
		File: "controllers/policyset/publish.go", Test: "./controllers/policyset TestPublishingDelaysNoOtherNamespace",
		Old: "c.waiting.Union(c.applied)",
		New: "c.waiting",
	},
	"preflight: a check waits for changes in another namespace": {
		File: "controllers/policyset/publish.go", Test: "./controllers/policyset TestPublishingDelaysNoOtherNamespace",
		Old: "own := namespace == \"\" || l.changes.waiting.HasAny(\"\", namespace)",
		New: "own := true",
	},
	"preflight: a change of a namespace in the cache counts before it is applied": {
		File: "controllers/policyset/reconciler.go", Test: "./controllers/policyset TestHoldThatTheCacheShowsCountsAtOnce",
		Old: "l.changes.in(object.GetName())",
		New: "l.changes.others = true",
	},
	"preflight: a RetentionPolicy whose read failed is not read again": {
		File: "controllers/policyset/reconciler.go", Test: "./controllers/policyset TestPolicyThatCouldNotBeReadIsReadAgain",
		Old: "all && !l.live.lacksAny()",
		New: "all",
	},
	"small policies wait for large ones": {
		File: "controllers/policyset/queue.go", Test: "./controllers/policyset TestSmallPolicyIsCompiledBeforeLargeOnes",
		Old: "cmp.Compare(p.length, o.length)",
		New: "cmp.Compare(o.length, p.length)",
	},
	"preflight: leadership may end while policies are read": {
		File: "controllers/policyset/live_check.go", Test: "./controllers/policyset TestDoubtFailsClosed",
		Old: "return since, l.Leadership.Check() //",
		New: "return since, nil //",
	},
	"preflight: the age of quotas does not count": {
		File: "controllers/policyset/live_check.go", Test: "./controllers/policyset TestAgeOfQuotasCounts",
		Old: "\tif bound {\n",
		New: "\tif bound && namespace == \"\" {\n",
	},
	"gates: a count from before a change ends the wait for that change": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestCountDoesNotOutliveVeto",
		Old: "!c.Outdated.IsZero() && c.Outdated.Equal(e.outdated())",
		New: "c.Outdated.IsZero() || c.Outdated.Equal(e.outdated())",
	},
	"store: an older version replaces a newer one": {
		File: "controllers/policyset/store.go", Test: "./controllers/policyset TestRelabelledNamespaceStaysSo",
		Old: "return s == nil || newer(object.GetResourceVersion(), s.version)",
		New: "return s == nil || object.GetResourceVersion() != s.version",
	},
	"trust: marks from a period without permission count": {
		File: "controllers/policyset/trust.go", Test: "./controllers/policyset TestMarksFromBeforeAMissingPermissionDoNotCount",
		Old: "t = trust{since: l.Clock.Now()}\n\t}\n\tl.marking[own.Mark] = t",
		New: "t.blind = false\n\t}\n\tl.marking[own.Mark] = t",
	},
	"trust: marks of a policy that was edited without a leader count": {
		File: "controllers/policyset/trust.go", Test: "./controllers/policyset TestLeaderThatStartsBelievesNoMarkThatTheStatusDistrusts",
		Old: "if dryRun || changed || slices",
		New: "if dryRun || changed && status.Enforced == nil || slices",
	},
}
