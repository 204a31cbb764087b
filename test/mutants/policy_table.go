package mutants

// policyTable changes which rules delete what, marks, overrides and snapshots.
var policyTable = map[string]Mutant{
	"a bound on keepNewest is no setting": {
		File: "policy/override.go", Test: "./policy TestEveryFieldOfARuleIsCompared",
		Old: " && same(b.Keep, o.Keep)\n",
		New: "\n",
	},
	"a forecast is about dry runs alone": {
		File: "policy/combine.go", Test: "./policy TestForecast",
		Old: "if r.ID.Policy == policyName {\n\t\t\treturn supposed",
		New: "if r.ID.Policy == policyName && r.dryRun() {\n\t\t\treturn supposed",
	},
	"a forecast waits for a mark": {
		File: "policy/combine.go", Test: "./policy TestForecast",
		Old: "case r.isUnmarked() && as != supposed:",
		New: "case r.isUnmarked():",
	},
	"a keepNewest of zero in an override is missing": {
		File: "policy/override.go", Test: "./policy TestWhatIsWrongWithARetentionPolicy",
		Old: "\tif spec.KeepNewest != nil {\n",
		New: "\tif spec.KeepNewest != nil && *spec.KeepNewest > 0 {\n",
	},
	"a mark from before marks were kept is trusted": {
		File: "policy/eligible_since.go", Test: "./policy TestWhereMarksAreDistrusted",
		Old: "return r.Facts.Outdated || !r.isEligible() && !r.Facts.InDoubt() || !since.IsZero() && r.Facts.Start.Before(since)",
		New: "return r.Facts.Outdated || !r.isEligible() && !r.Facts.InDoubt() || since.IsZero() && r.Facts.Start.Before(since)",
	},
	"a mark goes while references are in doubt": {
		File: "policy/eligible_since.go", Test: "./policy TestMarkingOf",
		Old: "case r.isEligible() || !r.isSure():",
		New: "case r.isEligible():",
	},
	"a mark in doubt is removed": {
		File: "policy/eligible_since.go", Test: "./policy TestMarkingOf",
		Old: "if !r.marks() || !r.isSure() || !r.Rule.writesMarks() {",
		New: "if !r.marks() || !r.Known || !r.Rule.writesMarks() {",
	},
	"a mode of another type is a dry run": {
		File: "policy/parse.go", Test: "./policy TestLoadKeepsRatherThanGuesses",
		Old: "\t\ts.Mode = v1alpha1.Mode(raw.Mode) // no mode either",
		New: "\t\ts.Mode = \"\" // no mode either",
	},
	"a namespace without the annotation is held": {
		File: "policy/namespace.go", Test: "./policy TestAHoldIsASetting",
		Old: "Held: held && v1alpha1.IsHold(value)",
		New: "Held: (held || true) && v1alpha1.IsHold(value)",
	},
	"a page of dry runs has a say": {
		File: "policy/snapshot.go", Test: "./controllers/retention TestTheRulesAboutAnOwnersKindHaveTheirSay",
		Old: "return slices.ContainsFunc(p.Rules, func(r *Rule) bool { return !r.dryRun() })",
		New: "return len(p.Rules) > 0",
	},
	"a page whose hold is lifted is the same": {
		File: "policy/snapshot.go", Test: "./policy TestAHoldIsASetting",
		Old: "return p.Held == o.Held && slices",
		New: "return slices",
	},
	"a recreated object goes by a rule that allows managed ones": {
		File: "policy/combine.go", Test: "./policy TestManagedObjectsAreKept",
		Old: "case s.Flags.Has(IsRecreated):",
		New: "case s.Flags.Has(IsRecreated) && !r.Rule.AllowManaged:",
	},
	"a rule that allows managed objects frees controlled ones": {
		File: "policy/facts.go", Test: "./policy TestFlagsKeep",
		Old: "\tif r.Owner {\n\t\treturn f &^ IsControlled",
		New: "\tif r.Owner || r.AllowManaged {\n\t\treturn f &^ IsControlled",
	},
	"a rule that waits for approval marks": {
		File: "policy/eligible_since.go", Test: "./policy TestMarkingOf",
		Old: "!r.suspended() && !r.Unapproved && !r.Unpermitted",
		New: "!r.suspended() && !r.Unpermitted",
	},
	"a rule with another ServiceAccount is the same": {
		File: "policy/rule.go", Test: "./policy TestEveryFieldOfARuleIsCompared",
		Old: " && r.ServiceAccount == o.ServiceAccount && r.Ledger",
		New: " && r.Ledger",
	},
	"a rule without facts keeps nothing": {
		File: "policy/combine.go", Test: "./policy TestOneRule",
		Old: "case !r.Known:\n\t\tv.reason = Stale\n",
		New: "case !r.Known:\n\t\treturn voice{}\n",
	},
	"a rule without permission decides the version": {
		File: "policy/versions.go", Test: "./policy TestTheOldestPolicyOfNamespacesSettlesTheVersion",
		Old: "case own && r.Unpermitted != o.Unpermitted:",
		New: "case false:",
	},
	"a ttl of zero in an override is missing": {
		File: "policy/override.go", Test: "./policy TestLoadOfARetentionPolicy",
		Old: "\t\to.TTL = &ttl\n",
		New: "\t\tif ttl > 0 {\n\t\t\to.TTL = &ttl\n\t\t}\n",
	},
	"a void mark is written again": {
		File: "policy/eligible_since.go", Test: "./policy TestMarkingOf",
		Old: "case r.isUnmarked() || r.Facts.Start.IsZero():",
		New: "case r.Facts.Start.IsZero():",
	},
	"a permit compares by its own rule alone": {
		File: "policy/delete_permit.go", Test: "./policy TestAWarrantComparesIfAnyRuleThatHadASayDoes",
		Old: "return slices.ContainsFunc(w.evaluations, func(r Evaluation) bool { return r.Rule.Ranks() })",
		New: "return slices.ContainsFunc(w.evaluations, func(r Evaluation) bool { return r.Rule.Ranks() && r.Rule == w.intent.Rule })",
	},
	"a permit for another owner is the same": {
		File: "policy/delete_permit.go", Test: "./policy TestAWarrantForAnOwner",
		Old: "a.Owner.same(b.Owner) && a",
		New: "a",
	},
	"a permit is upheld for a subject that waits": {
		File: "policy/delete_permit.go", Test: "./policy TestAWarrantIsUpheld",
		Old: "return w.Valid() && v.Action == Delete",
		New: "return w.Valid() && v.Action != Keep",
	},
	"a permit with another propagation is the same": {
		File: "policy/delete_permit.go", Test: "./policy TestAWarrantForAnOwner",
		Old: " && a.Rule.Propagation == b.Rule.Propagation &&",
		New: " &&",
	},
	"an annotation counts where none may": {
		File: "policy/lifetime.go", Test: "./policy TestLifetime",
		Old: "case allowed != nil && !*allowed:\n",
		New: "case allowed != nil && !*allowed && own < l.TTL:\n",
	},
	"an annotation of zero is missing": {
		File: "policy/lifetime.go", Test: "./policy TestLifetime",
		Old: "if s.Flags.Has(HasTTL) {",
		New: "if s.Flags.Has(HasTTL) && s.OwnTTL > 0 {",
	},
	"an estimated start has no outdated mark": {
		File: "policy/eligible_since.go", Test: "./policy TestWhereMarksAreDistrusted",
		Old: "\t\treturn r.Facts.Outdated\n\tdefault",
		New: "\t\treturn false\n\tdefault",
	},
	"an excess goes although its TTL never ends": {
		File: "policy/combine.go", Test: "./policy TestOneRule",
		Old: "case v.ttl < 0 && r.Rule.hasTTL():",
		New: "case v.ttl < 0 && r.Rule.hasTTL() && !r.Standing.Excess:",
	},
	"an excess that expired before is due only now": {
		File: "policy/combine.go", Test: "./policy TestOneRule",
		Old: "case r.Standing.Excess && (v.ttl < 0 || v.due.After(now)):",
		New: "case r.Standing.Excess:",
	},
	"an image is as old as its node says, without minAge": {
		File: "policy/combine.go", Test: "./policy TestDecideAboutImages",
		Old: "return addTime(r.Facts.FirstSeen, r.Rule.Images.MinAge)",
		New: "return r.Facts.FirstSeen",
	},
	"an object that is being deleted is marked": {
		File: "policy/eligible_since.go", Test: "./policy TestMarkingOf",
		Old: "\tif s.Flags.Has(IsTerminating) {\n\t\treturn false",
		New: "\tif s.Flags.Has(IsHeld) {\n\t\treturn false",
	},
	"an overridden rule does not wait for approval": {
		File: "policy/snapshot.go", Test: "./controllers/policyset TestWhatAChangeLetsGoIsCountedFirst",
		Old: "\tdefault:\n\t\tr = waiting(r, rp.policy)\n\t}\n",
		New: "\tdefault:\n\t}\n",
	},
	"an override of a suspended policy shortens": {
		File: "policy/override.go", Test: "./policy TestLifetime",
		Old: "return ttl, o.InForce || ttl >= base",
		New: "return ttl, o.InForce || o.Rests || ttl >= base",
	},
	"an override of keepNewest ranks nothing": {
		File: "policy/rank.go", Test: "./policy TestRankedIsWhatAnyNamespaceHasRanked",
		Old: "if rp.rule.Ranks() || b.keepsMore(rp.rule) {",
		New: "if rp.rule.Ranks() {",
	},
	"an override that becomes invalid is the same": {
		File: "policy/override.go", Test: "./policy TestAnOverrideThatKeepsForAnotherReasonIsAnother",
		Old: "x.Suspend == y.Suspend && x.Invalid == y.Invalid",
		New: "x.suspends() == y.suspends()",
	},
	"an override that comes to rest is the same": {
		File: "policy/override.go", Test: "./policy TestEveryFieldOfAnOverrideIsCompared",
		Old: " && x.InForce == y.InForce && x.Rests == y.Rests",
		New: " && x.InForce == y.InForce",
	},
	"an owner rule without an owner lets the subject go": {
		File: "policy/combine.go", Test: "./policy TestOneRule",
		Old: "case r.Rule.Owner && f.Owner == nil:",
		New: "case r.Rule.Owner && f.Owner == nil && !r.Rule.AllowUnfinished:",
	},
	"an uncounted Pod is overdue as soon as it is due": {
		File: "policy/uncounted_pods.go", Test: "./policy TestPodsThatLinger",
		Old: "case t.now.Before(due.Add(Overdue)):",
		New: "case t.now.Before(due):",
	},
	"an unknown quota bounds by the largest number": {
		File: "policy/snapshot.go", Test: "./policy TestNoQuotaOverflows",
		Old: "\tbounded.Capacity = Capacity{}\n",
		New: "\tbounded.Capacity.Max = 0\n",
	},
	"marks are trusted in every namespace alike": {
		File: "policy/snapshot.go", Test: "./controllers/policyset TestALeaderThatStartsBelievesNoMarkThatTheStatusDistrusts",
		Old: "if since, ok := r.MarksSinceIn[namespace]; ok {",
		New: "if since, ok := r.MarksSinceIn[namespace]; ok && r.Namespace != \"\" {",
	},
	"of two namespaces the younger decides the version": {
		File: "policy/versions.go", Test: "./policy TestTheOldestPolicyOfNamespacesSettlesTheVersion",
		Old: "return r.PolicyCreated.Before(o.PolicyCreated)",
		New: "return o.PolicyCreated.Before(r.PolicyCreated)",
	},
	"too many namespaces of distrusted marks are cut off": {
		File: "policy/eligible_since.go", Test: "./policy TestMoreNamespacesThanAreListedAreAll",
		Old: "if len(*into) <= v1alpha1.MaxDistrusted {",
		New: "if len(*into) < v1alpha1.MaxDistrusted {",
	},
	"unknown references are no doubt": {
		File: "policy/combine.go", Test: "./policy TestWhatIsNotKnownOfOthersOpensNoGate",
		Old: "[]Reason{Stale, ReferencesUnknown, IsForbidden}",
		New: "[]Reason{Stale, IsForbidden}",
	},
	"what is terminating takes a place among the newest": {
		File: "policy/rank.go", Test: "./controllers/retention/index TestAgainstTheModel",
		Old: "\tcase s.Flags.Has(IsTerminating):\n\t\treturn m, false\n",
		New: "",
	},
	"where bounds leave nothing the shorter counts": {
		File: "policy/override.go", Test: "./policy TestLifetime",
		Old: "\tif b.Min != nil {\n\t\treturn max(ttl, *b.Min)\n\t}",
		New: "\tif b.Min != nil {\n\t\tif ttl = max(ttl, *b.Min); b.Max != nil {\n\t\t\tttl = min(ttl, *b.Max)\n\t\t}\n\t\treturn ttl\n\t}",
	},
}
