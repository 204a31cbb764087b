// SPDX-License-Identifier: Apache-2.0

package mutants

// policyTable changes rules, marks, overrides and snapshots.
var policyTable = map[string]Mutant{
	"a sum of sizes overflows": {
		File: "policy/arithmetic.go", Test: "./policy TestSumsSaturate",
		Old: "if b > 0 && a > math.MaxInt64-b {",
		New: "if false {",
	},
	"an object counts as kept although it is due": {
		File: "policy/stats.go", Test: "./policy TestStatsOfStorage",
		Old: "; due {\n\t\tt.due(&own, verdict.Due, storage)\n\t} else {",
		New: "; due {\n\t\tt.due(&own, verdict.Due, storage)\n\t\town.KeptStorage = storage\n\t} else {",
	},
	"a bound on keepNewest is not compared": {
		File: "policy/override.go", Test: "./policy TestRuleComparisonHasEveryField",
		Old: " && same(b.Keep, o.Keep)\n",
		New: "\n",
	},
	"a forecast covers only dry runs": {
		File: "policy/combine.go", Test: "./policy TestForecast",
		Old: "if r.ID.Policy == policyName {\n\t\t\treturn supposed",
		New: "if r.ID.Policy == policyName && r.dryRun() {\n\t\t\treturn supposed",
	},
	"the latest rule skips the archive of another": {
		File: "policy/backup.go", Test: "./policy TestBackupOfAnyDueRule",
		Old: "case more > 0:\n",
		New: "case more > 3:\n",
	},
	"another backup skips that of the latest rule": {
		File: "policy/backup.go", Test: "./policy TestBackupOfAnyDueRule",
		Old: " || !other.rule.backsUpAll(all.due.rule)",
		New: "",
	},
	"a forecast waits for a mark": {
		File: "policy/combine.go", Test: "./policy TestForecast",
		Old: "case r.isUnmarked() && as != supposed:",
		New: "case r.isUnmarked():",
	},
	"a keepNewest of zero in an override is ignored": {
		File: "policy/override.go", Test: "./policy TestLoadOfARetentionPolicy",
		Old: "\tif spec.KeepNewest != nil {\n",
		New: "\tif spec.KeepNewest != nil && spec.KeepNewest.Count > 0 {\n",
	},
	"a mark from before marks were kept is trusted": {
		File: "policy/eligible_since.go", Test: "./policy TestDistrustedNamespacesOfMarks",
		Old: "!r.isEligible() && !r.Facts.InDoubt() || !since.IsZero() && r.Facts.Start.Before(since)",
		New: "!r.isEligible() && !r.Facts.InDoubt() || since.IsZero() && r.Facts.Start.Before(since)",
	},
	"a mark from before the start of an unused claim is trusted": {
		File: "policy/eligible_since.go", Test: "./policy TestDistrustedNamespacesOfMarks",
		Old: "return r.Facts.Outdated || !r.Facts.EarlierMark.IsZero() || ",
		New: "return r.Facts.Outdated || ",
	},
	"a mark is not moved to a later start": {
		File: "policy/eligible_since.go", Test: "./policy TestEligibleSincePatchOf",
		Old: "return r.isUnmarked() || r.isMarkedEarly(now)",
		New: "return r.isUnmarked()",
	},
	"a mark is removed while references are unknown": {
		File: "policy/eligible_since.go", Test: "./policy TestEligibleSincePatchOf",
		Old: "case r.isEligible() || !r.isSure():",
		New: "case r.isEligible():",
	},
	"a mark with an unknown state is removed": {
		File: "policy/eligible_since.go", Test: "./policy TestEligibleSincePatchOf",
		Old: "return r.marks() && r.isSure() && r.Rule.writesMarks()",
		New: "return r.marks() && r.Known && r.Rule.writesMarks()",
	},
	"a mode of another type counts as DryRun": {
		File: "policy/parse.go", Test: "./policy TestLoadKeepsRatherThanGuesses",
		Old: "\t\ts.Mode = v1alpha1.Mode(raw.Mode) //",
		New: "\t\ts.Mode = \"\" //",
	},
	"a namespace without the annotation is held": {
		File: "policy/namespace.go", Test: "./policy TestHoldIsASetting",
		Old: "Held: held && v1alpha1.IsHold(value)",
		New: "Held: (held || true) && v1alpha1.IsHold(value)",
	},
	"rules that are all dry runs decide about owners": {
		File: "policy/effective.go", Test: "./controllers/retention TestOwnerVerdictOfItsOwnRules",
		Old: "return slices.ContainsFunc(p.Rules, func(r *Rule) bool { return !r.dryRun() })",
		New: "return len(p.Rules) > 0",
	},
	"rules whose hold is removed count as unchanged": {
		File: "policy/effective.go", Test: "./policy TestHoldIsASetting",
		Old: "return p.Held == o.Held && slices",
		New: "return slices",
	},
	"a rule with allowManaged deletes a recreated object": {
		File: "policy/combine.go", Test: "./policy TestManagedObjectsAreKept",
		Old: "case s.Flags.Has(IsRecreated):",
		New: "case s.Flags.Has(IsRecreated) && !r.Rule.AllowManaged:",
	},
	"a rule with allowManaged deletes controlled objects": {
		File: "policy/facts.go", Test: "./policy TestFlagsKeep",
		Old: "\tif r.Owner {\n\t\treturn f &^ IsControlled",
		New: "\tif r.Owner || r.AllowManaged {\n\t\treturn f &^ IsControlled",
	},
	"a rule that waits for approval writes marks": {
		File: "policy/eligible_since.go", Test: "./policy TestEligibleSincePatchOf",
		Old: "!r.suspended() && !r.Unapproved && !r.Unpermitted",
		New: "!r.suspended() && !r.Unpermitted",
	},
	"a rule with another ServiceAccount counts as unchanged": {
		File: "policy/rule.go", Test: "./policy TestRuleComparisonHasEveryField",
		Old: " && r.ServiceAccount == o.ServiceAccount && r.Ledger",
		New: " && r.Ledger",
	},
	"a rule without facts keeps no subject": {
		File: "policy/combine.go", Test: "./policy TestDecideWithOneRule",
		Old: "case !r.Known:\n\t\tv.reason = Stale\n",
		New: "case !r.Known:\n\t\treturn vote{}\n",
	},
	"a TTL of zero in an override is ignored": {
		File: "policy/override.go", Test: "./policy TestLoadOfARetentionPolicy",
		Old: "\t\to.TTL = &ttl\n",
		New: "\t\tif ttl > 0 {\n\t\t\to.TTL = &ttl\n\t\t}\n",
	},
	"an invalid mark is written again": {
		File: "policy/eligible_since.go", Test: "./policy TestEligibleSincePatchOf",
		Old: "case r.isUnmarked() || r.Facts.Start.IsZero():",
		New: "case r.Facts.Start.IsZero():",
	},
	"a permit checks only whether its own rule ranks": {
		File: "policy/delete_permit.go", Test: "./policy TestDeletePermitComparesIfAnyEnforcedRuleDoes",
		Old: "return slices.ContainsFunc(w.evaluations, func(r Evaluation) bool { return r.Rule.Ranks() })",
		New: "return slices.ContainsFunc(w.evaluations, func(r Evaluation) bool { return r.Rule.Ranks() && r.Rule == w.intent.Rule })",
	},
	"a permit for another owner counts as the same": {
		File: "policy/delete_permit.go", Test: "./policy TestDeletePermitForAnOwner",
		Old: "a.Owner.same(b.Owner) && a",
		New: "a",
	},
	"a permit stays valid for a subject that waits": {
		File: "policy/delete_permit.go", Test: "./policy TestDeletePermitUpheld",
		Old: "return w.Valid() && v.Action == Delete",
		New: "return w.Valid() && v.Action != Keep",
	},
	"a permit with another propagation counts as the same": {
		File: "policy/delete_permit.go", Test: "./policy TestDeletePermitForAnOwner",
		Old: " && a.Rule.Propagation == b.Rule.Propagation &&",
		New: " &&",
	},
	"an annotation counts where the policy forbids it": {
		File: "policy/lifetime.go", Test: "./policy TestLifetime",
		Old: "case v1alpha1.TTLAnnotationIgnore:\n\t\treturn l\n",
		New: "case v1alpha1.TTLAnnotationIgnore:\n\t\tif own < l.TTL {\n\t\t\treturn l\n\t\t}\n",
	},
	"a TTL annotation of zero is ignored": {
		File: "policy/lifetime.go", Test: "./policy TestLifetime",
		Old: "if s.Flags.Has(HasTTL) {",
		New: "if s.Flags.Has(HasTTL) && s.OwnTTL > 0 {",
	},
	"an estimated start time never makes a mark outdated": {
		File: "policy/eligible_since.go", Test: "./policy TestDistrustedNamespacesOfMarks",
		Old: "\t\treturn r.Facts.Outdated\n\tdefault",
		New: "\t\treturn false\n\tdefault",
	},
	"an excess object with an infinite TTL is deleted": {
		File: "policy/combine.go", Test: "./policy TestDecideWithOneRule",
		Old: "case v.ttl < 0 && r.Rule.hasTTL():",
		New: "case v.ttl < 0 && r.Rule.hasTTL() && !r.Rank.Excess:",
	},
	"an excess object that expired earlier is due only now": {
		File: "policy/combine.go", Test: "./policy TestDecideWithOneRule",
		Old: "case r.Rank.Excess && (v.ttl < 0 || v.due.After(now)):",
		New: "case r.Rank.Excess:",
	},
	"minAge of an image does not count from its first observation": {
		File: "policy/combine.go", Test: "./policy TestDecideAboutImages",
		Old: "return addTime(r.Facts.FirstSeen, r.Rule.Images.MinAge)",
		New: "return r.Facts.FirstSeen",
	},
	"a terminating object is marked": {
		File: "policy/eligible_since.go", Test: "./policy TestEligibleSincePatchOf",
		Old: "\tif s.Flags.Has(IsTerminating) {\n\t\treturn false",
		New: "\tif s.Flags.Has(IsHeld) {\n\t\treturn false",
	},
	"an overridden rule does not wait for approval": {
		File: "policy/effective.go", Test: "./controllers/policyset TestChangeThatDeletesMoreIsCountedFirst",
		Old: "\tdefault:\n\t\tr = waiting(r, rp.policy)\n\t}\n",
		New: "\tdefault:\n\t}\n",
	},
	"an override of a suspended policy shortens a TTL": {
		File: "policy/override.go", Test: "./policy TestLifetime",
		Old: "return ttl, o.InForce || ttl >= base",
		New: "return ttl, o.InForce || o.Suspended || ttl >= base",
	},
	"an override of keepNewest does not rank objects": {
		File: "policy/rank.go", Test: "./policy TestSnapshotRanked",
		Old: "if rp.rule.Ranks() || b.keepsMore(rp.rule) {",
		New: "if rp.rule.Ranks() {",
	},
	"an override that becomes invalid counts as unchanged": {
		File: "policy/override.go", Test: "./policy TestOverrideThatKeepsForAnotherReasonIsAnother",
		Old: "x.Suspend == y.Suspend && x.Invalid == y.Invalid",
		New: "x.suspends() == y.suspends()",
	},
	"an override whose policy is suspended counts as unchanged": {
		File: "policy/override.go", Test: "./policy TestOverrideComparisonHasEveryField",
		Old: " && x.InForce == y.InForce && x.Suspended == y.Suspended",
		New: " && x.InForce == y.InForce",
	},
	"an owner rule deletes a subject without an owner": {
		File: "policy/combine.go", Test: "./policy TestDecideWithOneRule",
		Old: "case r.Rule.Owner && f.Owner == nil:",
		New: "case r.Rule.Owner && f.Owner == nil && !r.Rule.AllowUnfinished:",
	},
	"a Pod that the Job controller has not counted is overdue when it is due": {
		File: "policy/uncounted_pods.go", Test: "./policy TestUncountedPods",
		Old: "case t.now.Before(due.Add(Overdue)):",
		New: "case t.now.Before(due):",
	},
	"an unknown quota counts as the largest number": {
		File: "policy/effective.go", Test: "./policy TestCapacityOfQuotasDoesNotOverflow",
		Old: "\tbounded.Capacity = Capacity{}\n",
		New: "\tbounded.Capacity.Max = 0\n",
	},
	"marks are trusted equally in every namespace": {
		File: "policy/effective.go", Test: "./controllers/policyset TestLeaderThatStartsBelievesNoMarkThatTheStatusDistrusts",
		Old: "if since, ok := r.MarksSinceIn[namespace]; ok {",
		New: "if since, ok := r.MarksSinceIn[namespace]; ok && r.Namespace != \"\" {",
	},
	"a rule of a RetentionPolicy decides the API version": {
		File: "policy/versions.go", Test: "./policy TestKindIsReadAtOneVersion",
		Old: "c.by == nil && next.by != nil",
		New: "c.by == nil",
	},
	"the first RetentionPolicy decides an unknown API version": {
		File: "policy/versions.go", Test: "./policy TestKindIsReadAtOneVersion",
		Old: "\t\treturn versionClaim{guessed: true}\n",
		New: "\t\treturn c\n",
	},
	"a long list of namespaces with distrusted marks is truncated": {
		File: "policy/eligible_since.go", Test: "./policy TestDistrustedNamespacesAreLimited",
		Old: "if len(*into) <= v1alpha1.MaxDistrusted {",
		New: "if len(*into) < v1alpha1.MaxDistrusted {",
	},
	"unknown references count as known": {
		File: "policy/combine.go", Test: "./policy TestStatsUnknownFactsOfOthersOpenNoGate",
		Old: "[]Reason{Stale, ReferencesUnknown, IsForbidden}",
		New: "[]Reason{Stale, IsForbidden}",
	},
	"a terminating object counts among the newest": {
		File: "policy/rank.go", Test: "./controllers/retention/index TestAgainstTheModel",
		Old: "\tcase s.Flags.Has(IsTerminating):\n\t\treturn m, false\n",
		New: "",
	},
	"the shorter of two contradictory bounds applies": {
		File: "policy/override.go", Test: "./policy TestLifetime",
		Old: "\tif b.Min != nil {\n\t\treturn max(ttl, *b.Min)\n\t}",
		New: "\tif b.Min != nil {\n\t\tif ttl = max(ttl, *b.Min); b.Max != nil {\n\t\t\tttl = min(ttl, *b.Max)\n\t\t}\n\t\treturn ttl\n\t}",
	},
	"snapshot: each namespace has its own slice of the same rules": {
		File: "policy/effective.go", Test: "./policy TestEffectiveSharesRules",
		Old: "effective.Rules = common",
		New: "_ = common",
	},
}
