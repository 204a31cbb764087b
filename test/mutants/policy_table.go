package mutants

// policyTable changes what goes by which rules, marks, gates, overrides and previews.
var policyTable = map[string]Mutant{
	"a bound on keepNewest is no setting": {
		File: "policy/override.go", Test: "./policy TestEveryFieldOfARuleIsCompared",
		Old: " && same(b.Keep, o.Keep)\n",
		New: "\n",
	},
	"a dry run that goes frees what it never kept": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "return !r.dryRun() && kinds.Has(",
		New: "return kinds.Has(",
	},
	"a forecast is about dry runs alone": {
		File: "policy/combine.go", Test: "./policy TestForecast",
		Old: "if r.ID.Policy == policyName {\n\t\t\treturn supposed",
		New: "if r.ID.Policy == policyName && r.dryRun() {\n\t\t\treturn supposed",
	},
	"a forecast waits for a mark": {
		File: "policy/combine.go", Test: "./policy TestForecast",
		Old: "case r.isUnmarked() && as == acting:",
		New: "case r.isUnmarked():",
	},
	"a hold that is lifted frees nothing": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "case !c.before.applies(p, namespace), was.Held && !is.Held,",
		New: "case !c.before.applies(p, namespace),",
	},
	"a keepNewest of zero in an override is missing": {
		File: "policy/override.go", Test: "./policy TestWhatIsWrongWithARetentionPolicy",
		Old: "\tif spec.KeepNewest != nil {\n",
		New: "\tif spec.KeepNewest != nil && *spec.KeepNewest > 0 {\n",
	},
	"a mark from before marks were kept is trusted": {
		File: "policy/marks.go", Test: "./policy TestWhereMarksAreDistrusted",
		Old: "return r.Facts.Outdated || !r.isEligible() && !r.Facts.InDoubt() || !since.IsZero() && r.Facts.Start.Before(since)",
		New: "return r.Facts.Outdated || !r.isEligible() && !r.Facts.InDoubt() || since.IsZero() && r.Facts.Start.Before(since)",
	},
	"a mark goes while references are in doubt": {
		File: "policy/marks.go", Test: "./policy TestMarkingOf",
		Old: "case r.isEligible() || !r.isSure():",
		New: "case r.isEligible():",
	},
	"a mark in doubt is removed": {
		File: "policy/marks.go", Test: "./policy TestMarkingOf",
		Old: "if !r.marks() || !r.isSure() || !r.Rule.writesMarks() {",
		New: "if !r.marks() || !r.Known || !r.Rule.writesMarks() {",
	},
	"a mode of another type is a dry run": {
		File: "policy/parse.go", Test: "./policy TestLoadKeepsRatherThanGuesses",
		Old: "\t\ts.Mode = v1alpha1.Mode(raw.Mode) // no mode either",
		New: "\t\ts.Mode = \"\" // no mode either",
	},
	"a namespace that changed when the preview was made is not among it": {
		File: "policy/gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "ok && !since.After(upTo)",
		New: "ok && since.Before(upTo)",
	},
	"a namespace that changes again keeps its first time": {
		File: "policy/gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "\t\twider[namespace] = since\n",
		New: "\t\tif _, known := wider[namespace]; !known {\n\t\t\twider[namespace] = since\n\t\t}\n",
	},
	"a namespace that comes to be selected frees nothing": {
		File: "policy/change.go", Test: "./policy TestWhereAPolicyAppliesAnew",
		Old: "case !c.before.applies(p, namespace), was.Held",
		New: "case was.Held",
	},
	"a namespace without the annotation is held": {
		File: "policy/namespace.go", Test: "./policy TestAHoldIsASetting",
		Old: "Held: held && v1alpha1.IsHold(value)",
		New: "Held: (held || true) && v1alpha1.IsHold(value)",
	},
	"a page of dry runs has a say": {
		File: "policy/book.go", Test: "./controllers/retention TestTheRulesAboutAnOwnersKindHaveTheirSay",
		Old: "return slices.ContainsFunc(p.Rules, func(r *Rule) bool { return !r.dryRun() })",
		New: "return len(p.Rules) > 0",
	},
	"a page whose hold is lifted is the same": {
		File: "policy/book.go", Test: "./policy TestAHoldIsASetting",
		Old: "return p.Held == o.Held && slices",
		New: "return slices",
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
	"a rule that gets a TTL keeps as before": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "if was.TTL >= 0 { // a rule",
		New: "if was.TTL >= 0 || is.TTL >= 0 { // a rule",
	},
	"a rule that waits for approval marks": {
		File: "policy/marks.go", Test: "./policy TestMarkingOf",
		Old: "!r.suspended() && !r.Unapproved && !r.Unpermitted",
		New: "!r.suspended() && !r.Unpermitted",
	},
	"a rule that was never counted waits only where something changed": {
		File: "policy/gate.go", Test: "./policy TestWhatAGateCovers",
		Old: "return g != nil && (g.Uncounted.Has(rule) ||\n",
		New: "return g != nil && (\n",
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
		File: "policy/agree.go", Test: "./policy TestTheOldestPolicyOfNamespacesSettlesTheVersion",
		Old: "case own && r.Unpermitted != o.Unpermitted:",
		New: "case false:",
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
	"a ttl of zero in an override is missing": {
		File: "policy/override.go", Test: "./policy TestLoadOfARetentionPolicy",
		Old: "\t\to.TTL = &ttl\n",
		New: "\t\tif ttl > 0 {\n\t\t\to.TTL = &ttl\n\t\t}\n",
	},
	"a void mark is written again": {
		File: "policy/marks.go", Test: "./policy TestMarkingOf",
		Old: "case r.isUnmarked() || r.Facts.Start.IsZero():",
		New: "case r.Facts.Start.IsZero():",
	},
	"a warrant compares by its own rule alone": {
		File: "policy/warrant.go", Test: "./policy TestAWarrantComparesIfAnyRuleThatHadASayDoes",
		Old: "return slices.ContainsFunc(w.rulings, func(r Ruling) bool { return r.Rule.Ranks() })",
		New: "return slices.ContainsFunc(w.rulings, func(r Ruling) bool { return r.Rule.Ranks() && r.Rule == w.intent.Rule })",
	},
	"a warrant for another owner is the same": {
		File: "policy/warrant.go", Test: "./policy TestAWarrantForAnOwner",
		Old: "a.Owner.same(b.Owner) && a",
		New: "a",
	},
	"a warrant is upheld for a subject that waits": {
		File: "policy/warrant.go", Test: "./policy TestAWarrantIsUpheld",
		Old: "return w.Valid() && v.Action == Delete",
		New: "return w.Valid() && v.Action != Keep",
	},
	"a warrant with another propagation is the same": {
		File: "policy/warrant.go", Test: "./policy TestAWarrantForAnOwner",
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
	"an approval is of the form alone, not of the object": {
		File: "policy/gate.go", Test: "./policy TestACopyIsNotApproved",
		Old: "return hashOf(string(p.UID), p.Hash)",
		New: "return hashOf(p.Hash)",
	},
	"the approval of a difference approves the form": {
		File: "controllers/policies/previews.go", Test: "./controllers/policies TestApprovalOfADifferenceApprovesNothingElse",
		Old: "before.policy.Accepted && before.policy.Hash == p.Hash",
		New: "before.gate() != nil && before.gate().Hash == p.Approved",
	},
	"the status approves a form whose annotation was removed": {
		File: "controllers/policies/previews.go", Test: "./controllers/policies TestAFormStaysApproved",
		Old: "\tcase p.Approved == \"\":\n\t\treturn false\n",
		New: "",
	},
	"the status approves another form": {
		File: "controllers/policies/previews.go", Test: "./controllers/policies TestAFormStaysApproved",
		Old: "|| status.Approved == p.ApprovalHash()",
		New: "|| status.Approved != \"\"",
	},
	"the approval of a form covers rules that were not counted": {
		File: "controllers/policies/gates.go", Test: "./controllers/policies TestApprovalOfAFormCountsForTheRulesThatWereCounted",
		Old: "if p.Accepted && r.OnNodes() {",
		New: "if p.Accepted {",
	},
	"the approval of rules covers others that were not counted": {
		File: "controllers/report/approval.go", Test: "./controllers/report TestWhatACountShows",
		Old: "p.RulesHash(gate.Rules.Difference(sets.New(uncounted...)))",
		New: "p.RulesHash(gate.Rules.Difference(sets.New(uncounted[:0]...)))",
	},
	"a late count of an earlier form counts": {
		File: "controllers/policies/gates.go", Test: "./controllers/policies TestACountOfAnotherFormIsNoPreview",
		Old: " && e.policy.Hash == c.Preview.Hash {",
		New: " {",
	},
	"a change elsewhere leaves the counts of earlier forms": {
		File: "controllers/policies/gates.go", Test: "./controllers/policies TestAnEarlierFormIsCountedAgainAfterOtherChanges",
		Old: "if len(fewer) > 0 || change.Concerns(e.policy) {",
		New: "if len(fewer) > 0 {",
	},
	"a restart leaves the counts of earlier forms": {
		File: "controllers/policies/previews.go", Test: "./controllers/policies TestAnEarlierFormIsCountedAgainAfterOtherChanges",
		Old: "before == nil && known.Hash == p.Hash || known.Time.After(all.since)",
		New: "before == nil || known.Time.After(all.since)",
	},
	"a dry run is enforced while no leader runs, and compared with nothing": {
		File: "controllers/policies/previews.go", Test: "./controllers/policies TestADryRunIsCountedAgainAfterOtherChanges",
		Old: "if known, ok := byHash[p.Hash]; ok {",
		New: "if known, ok := byHash[p.Hash]; ok && p.Mode == v1alpha1.Suspended {",
	},
	"what cannot be counted beside a change is not counted later": {
		File: "controllers/report/approval.go", Test: "./controllers/report TestWhatACountShows",
		Old: "p.Gate != nil && (p.Gate.Recount != nil || p.Gate.Namespaces != nil):",
		New: "p.Gate != nil && p.Gate.Recount != nil && pending == nil:",
	},
	"an approval of namespaces outlives the next change": {
		File: "policy/gate.go", Test: "./policy TestWhatApprovesAScope",
		Old: "append([]string{p.ApprovalHash(), since.UTC().Format(time.RFC3339Nano)}, slices",
		New: "append([]string{p.ApprovalHash()}, slices",
	},
	"an approval that is always required is required of many alone": {
		File: "policy/gate.go", Test: "./policy TestHowMuchMayGoUnseen",
		Old: "return a.Always && due > 0 ||",
		New: "return a.Always && due >= atLeast ||",
	},
	"an approved namespace stays approved whatever changes later": {
		File: "policy/gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "ok && at.Equal(since) {",
		New: "ok && !at.IsZero() {",
	},
	"an estimated start has no outdated mark": {
		File: "policy/marks.go", Test: "./policy TestWhereMarksAreDistrusted",
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
	"an exclusion that is removed narrows nothing": {
		File: "policy/change.go", Test: "./policy TestWhatAChangeFrees",
		Old: "was.Excluded.IsSuperset(p.Excluded)",
		New: "p.Excluded.IsSuperset(was.Excluded)",
	},
	"an image is as old as its node says, without minAge": {
		File: "policy/combine.go", Test: "./policy TestDecideAboutImages",
		Old: "return addTime(r.Facts.FirstSeen, r.Rule.Images.MinAge)",
		New: "return r.Facts.FirstSeen",
	},
	"an object that is being deleted is marked": {
		File: "policy/marks.go", Test: "./policy TestMarkingOf",
		Old: "\tif s.Flags.Has(IsTerminating) {\n\t\treturn false",
		New: "\tif s.Flags.Has(IsHeld) {\n\t\treturn false",
	},
	"an override hides what a rule would delete": {
		File: "policy/backlog.go", Test: "./policy TestWhatIsHeldForNowIsInTheWorstCase",
		Old: "bare.Suspended, bare.Overrides = false, nil",
		New: "bare.Suspended = false",
	},
	"an override of a suspended policy shortens": {
		File: "policy/override.go", Test: "./policy TestLifetime",
		Old: "return ttl, o.InForce || ttl >= base",
		New: "return ttl, o.InForce || o.Rests || ttl >= base",
	},
	"an override of keepNewest ranks nothing": {
		File: "policy/book.go", Test: "./policy TestRankedIsWhatAnyNamespaceHasRanked",
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
	"an override without a policy is about none": {
		File: "policy/change.go", Test: "./policy TestWhereAPolicyAppliesAnew",
		Old: "o.Policy != \"\" && o.Policy != p.Name",
		New: "o.Policy != p.Name",
	},
	"an owner rule without an owner lets the subject go": {
		File: "policy/combine.go", Test: "./policy TestOneRule",
		Old: "case r.Rule.Owner && f.Owner == nil:",
		New: "case r.Rule.Owner && f.Owner == nil && !r.Rule.AllowUnfinished:",
	},
	"an uncounted Pod is not counted in a preview": {
		File: "policy/backlog.go", Test: "./policy TestWhatIsHeldForNowIsInTheWorstCase",
		Old: "s.Flags &^= IsHeld | IsUncounted",
		New: "s.Flags &^= IsHeld",
	},
	"an uncounted Pod is overdue as soon as it is due": {
		File: "policy/lingering.go", Test: "./policy TestPodsThatLinger",
		Old: "case t.now.Before(due.Add(Overdue)):",
		New: "case t.now.Before(due):",
	},
	"an unknown quota bounds by the largest number": {
		File: "policy/book.go", Test: "./policy TestNoQuotaOverflows",
		Old: "\tbounded.Capacity = Capacity{}\n",
		New: "\tbounded.Capacity.Max = 0\n",
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
	"of two namespaces the younger decides the version": {
		File: "policy/agree.go", Test: "./policy TestTheOldestPolicyOfNamespacesSettlesTheVersion",
		Old: "return r.PolicyCreated.Before(o.PolicyCreated)",
		New: "return o.PolicyCreated.Before(r.PolicyCreated)",
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
		File: "policy/gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "if since.After(latest) {",
		New: "if latest.IsZero() {",
	},
	"the percentage of an approval is rounded up": {
		File: "policy/gate.go", Test: "./policy TestHowMuchMayGoUnseen",
		Old: "due > percentRoundedDown(selected",
		New: "due > percentRoundedUp(selected",
	},
	"too many namespaces of distrusted marks are cut off": {
		File: "policy/marks.go", Test: "./policy TestMoreNamespacesThanAreListedAreAll",
		Old: "if len(*into) <= v1alpha1.MaxDistrusted {",
		New: "if len(*into) < v1alpha1.MaxDistrusted {",
	},
	"two changes at one moment are one": {
		File: "policy/gate.go", Test: "./policy TestScopesTellChangesApart",
		Old: "since = latest.Add(time.Microsecond)",
		New: "since = latest",
	},
	"unknown references are no doubt": {
		File: "policy/combine.go", Test: "./policy TestWhatIsNotKnownOfOthersOpensNoGate",
		Old: "[]Reason{Stale, ReferencesUnknown, IsForbidden}",
		New: "[]Reason{Stale, IsForbidden}",
	},
	"what is due after the quiet period is due later": {
		File: "policy/backlog.go", Test: "./policy TestABacklogIsOneInItsQuietPeriodToo",
		Old: "soon, later := quietBy(policy, t.now), t.now.Add(horizon)",
		New: "soon, later := t.now, t.now.Add(horizon)",
	},
	"what is terminating takes a place among the newest": {
		File: "policy/rank.go", Test: "./controllers/index TestAgainstTheModel",
		Old: "\tcase s.Flags.Has(IsTerminating):\n\t\treturn m, false\n",
		New: "",
	},
	"where bounds leave nothing the shorter counts": {
		File: "policy/override.go", Test: "./policy TestLifetime",
		Old: "\tif b.Min != nil {\n\t\treturn max(ttl, *b.Min)\n\t}",
		New: "\tif b.Min != nil {\n\t\tif ttl = max(ttl, *b.Min); b.Max != nil {\n\t\t\tttl = min(ttl, *b.Max)\n\t\t}\n\t\treturn ttl\n\t}",
	},
}
