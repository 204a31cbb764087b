package mutants

// policiesTable changes what is read, and what waits for approval, before a deletion.
var policiesTable = map[string]Mutant{
	"a rule has the permissions of the one before, for another kind": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestEachRuleNeedsThePermissionsOfItsOwn",
		Old: " && r.Kind == p.Rules[i-1].Kind",
		New: "",
	},
	"a rule has the permissions of the one before, which does not mark": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestEachRuleNeedsThePermissionsOfItsOwn",
		Old: " && (r.Mark == \"\") == (p.Rules[i-1].Mark == \"\")",
		New: "",
	},
	"a policy keeps the permissions that its rules had": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestAnEditCopiesNoPolicyOfAnotherNamespace",
		Old: "r.Unpermitted == p.unpermitted() && ",
		New: "",
	},
	"a policy keeps which of its rules are watched": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestAnEditCopiesNoPolicyOfAnotherNamespace",
		Old: " && r.Unwatched == !p.allowed",
		New: "",
	},
	"a policy without a gate keeps the copy with the gate that it had": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestOwnRulesWaitToo",
		Old: "if e.bound = nil; gate == nil && !marks {",
		New: "if e.bound = nil; !marks {",
	},
	"fence: a policy that is read later comes back after a list without it": {
		File: "controllers/policyset/unread.go", Test: "./controllers/policyset TestNobodyWaitsForAnEditInAnotherNamespace",
		Old: "if shown.Has(object.GetUID()) {",
		New: "if len(shown) >= 0 {",
	},
	"fence: a policy is read again and again while the API server is slow to give it": {
		File: "controllers/policyset/unread.go", Test: "./controllers/policyset TestNobodyWaitsForAnEditInAnotherNamespace",
		Old: "if !l.live.later.Has(o.UID) {",
		New: "if true {",
	},
	"fence: a policy that cannot be read later is no doubt any more": {
		File: "controllers/policyset/unread.go", Test: "./controllers/policyset TestAPolicyThatComesAndGoesStopsItsOwnNamespaceAlone",
		Old: " && l.knows(on, u.item) })",
		New: " })",
	},
	"fence: a RetentionPolicy that cannot be read is no doubt": {
		File: "controllers/policyset/live_check.go", Test: "./controllers/policyset TestAPolicyThatComesAndGoesStopsItsOwnNamespaceAlone",
		Old: "case unread != nil:",
		New: "case unread != nil && false:",
	},
	"fence: a change counts as in force while the edition with it is being made": {
		File: "controllers/policyset/publish.go", Test: "./controllers/policyset TestPublishingDelaysNoOtherNamespace",
		Old: "c.waiting.Union(c.applied)",
		New: "c.waiting",
	},
	"fence: a check waits until what changed in another namespace is in force": {
		File: "controllers/policyset/publish.go", Test: "./controllers/policyset TestPublishingDelaysNoOtherNamespace",
		Old: "own := namespace == \"\" || l.changes.waiting.HasAny(\"\", namespace)",
		New: "own := true",
	},
	"fence: what the cache has shown of a namespace counts before it is in force": {
		File: "controllers/policyset/reconciler.go", Test: "./controllers/policyset TestAHoldThatTheCacheShowsCountsAtOnce",
		Old: "l.changes.in(object.GetName())",
		New: "l.changes.others = true",
	},
	"fence: a RetentionPolicy that could not be read is not read again": {
		File: "controllers/policyset/reconciler.go", Test: "./controllers/policyset TestAPolicyThatCouldNotBeReadIsReadAgain",
		Old: "all && !l.live.lacksAny()",
		New: "all",
	},
	"small policies wait for large ones": {
		File: "controllers/policyset/queue.go", Test: "./controllers/policyset TestASmallPolicyIsCompiledBeforeLargeOnes",
		Old: "cmp.Compare(p.length, o.length)",
		New: "cmp.Compare(o.length, p.length)",
	},
	"fence: leadership may end while policies are read": {
		File: "controllers/policyset/live_check.go", Test: "./controllers/policyset TestDoubtFailsClosed",
		Old: "return since, l.Leadership.Check() // reading",
		New: "return since, nil // reading",
	},
	"fence: quotas have no age": {
		File: "controllers/policyset/live_check.go", Test: "./controllers/policyset TestTheAgeOfQuotasCounts",
		Old: "\tif bound {\n",
		New: "\tif bound && namespace == \"\" {\n",
	},
	"gates: a count from before a change ends the wait for it": {
		File: "controllers/policyset/gates.go", Test: "./controllers/policyset TestWhatWasCountedBesideAVetoDoesNotOutliveIt",
		Old: "!c.Outdated.IsZero() && c.Outdated.Equal(e.outdated())",
		New: "c.Outdated.IsZero() || c.Outdated.Equal(e.outdated())",
	},
	"known: an older view replaces a newer one": {
		File: "controllers/policyset/store.go", Test: "./controllers/policyset TestARelabelledNamespaceStaysSo",
		Old: "return s == nil || newer(object.GetResourceVersion(), s.version)",
		New: "return s == nil || object.GetResourceVersion() != s.version",
	},
	"trust: marks from a time without permission count": {
		File: "controllers/policyset/trust.go", Test: "./controllers/policyset TestMarksFromBeforeARightWasMissingDoNotCount",
		Old: "t = trust{since: l.Clock.Now()}\n\t}\n\tl.marking[own.Mark] = t",
		New: "t.blind = false\n\t}\n\tl.marking[own.Mark] = t",
	},
	"trust: marks of a policy that was edited without a leader count": {
		File: "controllers/policyset/trust.go", Test: "./controllers/policyset TestALeaderThatStartsBelievesNoMarkThatTheStatusDistrusts",
		Old: "if dryRun || changed || slices",
		New: "if dryRun || changed && status.Enforced == nil || slices",
	},
}
