// SPDX-License-Identifier: Apache-2.0

package mutants

// timesTable changes windows and freezes.
var timesTable = map[string]Mutant{
	"windows and freezes have no effect on decisions": {
		File: "policy/combine.go", Test: "./policy TestDeferralOfSeveralRules",
		Old: "all.deferring = append(slices.Clip(all.deferring), v.rule)",
		New: "all.deferring = nil",
	},
	"a request may be sent after its window has closed": {
		File: "policy/period.go", Test: "./policy TestWindowsAtDaylightSavingTime",
		Old: "[...]time.Time{t, t.Add(SendTime)}",
		New: "[...]time.Time{t}",
	},
	"deferred subjects are deleted when the window opens": {
		File: "policy/period.go", Test: "./policy TestDeferredIsSpread",
		Old: "if spread <= 0 ||",
		New: "if spread >= 0 ||",
	},
	"the spread may last for the whole window": {
		File: "policy/period.go", Test: "./policy TestDeferredIsSpread",
		Old: "p.open/2",
		New: "p.open",
	},
	"a missed subject is due since its first window": {
		File: "policy/combine.go", Test: "./policy TestNextOpeningCounts",
		Old: "due.Due = Latest(moved, opened(at, all.deferring...))",
		New: "due.Due = moved",
	},
	"a rule defers only its own due times": {
		File: "policy/deferral.go", Test: "./policy TestSpreadOfSeveralRules",
		Old: "due = Latest(due, r.moved(all.lasts))",
		New: "_ = r",
	},
	"subjects are spread over the windows of an override, although those of the policy are closed": {
		File: "policy/deferral.go", Test: "./policy TestSpreadOfSeveralWindows",
		Old: "commonPeriod(r.Windows[:i+1], t)",
		New: "r.Windows[i].period(t)",
	},
	"an object above a capacity is deferred by its TTL": {
		File: "policy/combine.go", Test: "./policy TestSpreadOfSeveralRules",
		Old: "if v.ttl >= 0 && !r.Rank.Excess {",
		New: "if v.ttl >= 0 {",
	},
	"windows of an override replace those of the rule": {
		File: "policy/override.go", Test: "./policy TestOverridesNarrowWindows",
		Old: "own.Windows = slices.Concat(own.Windows, o.windows())",
		New: "own.Windows = o.windows()",
	},
	"a namespace may narrow the windows of a rule that it may not suspend": {
		File: "policy/override.go", Test: "./policy TestOverridesNarrowWindows",
		Old: "if !r.Bounds.NoSuspend {\n\t\t\town.Windows",
		New: "if true {\n\t\t\town.Windows",
	},
	"a freeze of all policies applies in all namespaces": {
		File: "policy/deferral.go", Test: "./policy TestFreezeOfAllPolicies",
		Old: "p.Name != r.ID.Policy && b.applies(p, namespace)",
		New: "p.Name != r.ID.Policy",
	},
	"a namespace may freeze a rule that it may not suspend": {
		File: "policy/deferral.go", Test: "./policy TestFreezeOfAllPolicies",
		Old: "r.Namespace != \"\" || !r.Bounds.NoSuspend; mayFreeze",
		New: "true; mayFreeze",
	},
	"the removal of a freeze is not a change": {
		File: "policy/change.go", Test: "./policy TestEndOfAFreezeIsAChange",
		Old: "if was.unfreezes(now) {",
		New: "if false {",
	},
	"windows hide what a change deletes": {
		File: "policy/change_count.go", Test: "./policy TestPendingCountsWindowsAndFreezes",
		Old: "if c.anytime {",
		New: "if false {",
	},
	"an unreadable freeze applies only to its own policy": {
		File: "policy/load_times.go", Test: "./policy TestLoadFindsProblemsOfWindowsAndFreezes",
		Old: "doubt != nil && !p.namespaced {",
		New: "doubt != nil && p.namespaced {",
	},
	"a schedule that never occurs is valid": {
		File: "policy/schedule.go", Test: "./policy TestLoadFindsProblemsOfWindowsAndFreezes",
		Old: "schedule.Next(leapYear).IsZero() {",
		New: "schedule.Next(leapYear).IsZero() && false {",
	},
	"agents do not receive windows and freezes": {
		File: "policy/agentapi/render.go", Test: "./policy/agentapi TestAgentsReceiveWindowsAndFreezes",
		Old: "n.Spec.Windows, n.Spec.Freezes = b.Times(p)",
		New: "_ = b",
	},
	"images of a policy without an opening within a week count as not deleted": {
		File: "policy/agentapi/sum.go", Test: "./policy/agentapi TestSumCountsImagesWithoutAnOpening",
		Old: "|| p.DefersAll(now))",
		New: "|| false)",
	},
	"a policy outside of its windows reports that it deletes": {
		File: "controllers/status/conditions.go", Test: "./controllers/status TestEveryReasonIsReported",
		Old: "v.compiled.Snapshot.Deferral(p, v.now); d != nil {",
		New: "v.compiled.Snapshot.Deferral(p, v.now); d != nil && false {",
	},
}
