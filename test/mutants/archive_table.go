// SPDX-License-Identifier: Apache-2.0

package mutants

// archiveTable changes what permits the deletion by rules that archive.
var archiveTable = map[string]Mutant{
	"archive: a receipt for another version permits the deletion": {
		File: "policy/archive.go", Test: "./policy TestClear",
		Old: "&& r.Target.Is(t) &&",
		New: "&& r.Target.UID == t.UID &&",
	},
	"archive: a receipt for another object permits the deletion": {
		File: "policy/archive.go", Test: "./policy TestClear",
		Old: "&& r.Target.Is(t) &&",
		New: "&& r.Target.ResourceVersion == t.ResourceVersion &&",
	},
	"archive: a receipt of other settings permits the deletion": {
		File: "policy/archive.go", Test: "./policy TestClear",
		Old: " && r.Archive.Equal(of.Archive) &&\n",
		New: " &&\n",
	},
	"archive: a receipt of another rule permits the deletion": {
		File: "policy/archive.go", Test: "./policy TestClear",
		Old: "r.Rule == of.ID && ",
		New: "",
	},
	"archive: a receipt of another policy of the name permits the deletion": {
		File: "policy/archive.go", Test: "./policy TestClear",
		Old: "r.Rule == of.ID && r.PolicyUID == of.PolicyUID",
		New: "r.Rule == of.ID",
	},
	"archive: a receipt names the rule that is current when its segment is written": {
		File: "controllers/archives/receipts.go", Test: "./controllers/archives TestReceiptOfAnotherPolicy",
		Old: "rule: r.recorded.ID, policyUID: r.recorded.PolicyUID,",
		New: "rule: r.intent.Rule.ID, policyUID: r.intent.Rule.PolicyUID,",
	},
	"archive: only the last subject of an owner becomes ready": {
		File: "controllers/archives/request.go", Test: "./controllers/archives TestAllSubjectsOfAnOwnerBecomeReady",
		Old: "r.others = append(r.others, waiting{r.intent, r.candidate})",
		New: "r.others = nil",
	},
	"archive: the record of an owner lacks the subject": {
		File: "controllers/archives/dependents.go", Test: "./controllers/archives TestRecordOfAnOwnerHasTheSubject",
		Old: "i.anyLabels = i.request.intent.Owner != nil",
		New: "i.anyLabels = false",
	},
	"archive: a rule that archives needs no receipt": {
		File: "policy/archive.go", Test: "./controllers/retention TestReceiptMustBeOfThisVersion",
		Old: "if w.Rule().Archive != nil && !r.Covers(t, w.Rule()) {",
		New: "if w.Rule().Archive == nil && !w.Valid() {",
	},
	"archive: a clearance permits another version": {
		File: "policy/archive.go", Test: "./policy TestClearancePermitsOneTarget",
		Old: "return c.permit.Valid() && c.target == t",
		New: "return c.permit.Valid() && c.target.UID == t.UID",
	},
	"archive: the sender does not compare the clearance": {
		File: "controllers/kube/remove.go", Test: "./controllers/kube TestSendNeedsAClearanceForItsTarget",
		Old: "if !cleared.Permits(t) {",
		New: "if !cleared.Permit().Valid() {",
	},
	"archive: the kind of a Secret is not checked": {
		File: "policy/archive_access.go", Test: "./policy TestMayArchive",
		Old: "if (r.archives(secretKind) || ",
		New: "if (",
	},
	"archive: a RetentionPolicy of any namespace may archive": {
		File: "policy/archive_access.go", Test: "./policy TestMayArchive",
		Old: "case !selector.Matches(namespace.Labels):",
		New: "case selector.Empty():",
	},
	"archive: an unknown receipt is not looked up before the request": {
		File: "controllers/retention/archive.go", Test: "./controllers/retention TestRecordThatIsLostDuringPreflight",
		Old: "receipt, _ = f.reconciler.Archive.Lookup(i, f.target)",
		New: "receipt = policy.Receipt{Target: f.target, Rule: i.Rule.ID, PolicyUID: i.Rule.PolicyUID, Archive: i.Rule.Archive, Segment: \"s\"}",
	},
	"archive: a deletion does not wait for its record": {
		File: "controllers/retention/ledger.go", Test: "./controllers/retention TestUnavailableArchiveKeepsObjects",
		Old: "return target, p.ensureArchived(ctx, it, i, target, before) && j.Permit.Valid()",
		New: "return target, (j.Permit.Valid() || p.ensureArchived(ctx, it, i, target, before)) && j.Permit.Valid()",
	},
	"archive: an obstacle ends while the ledger records again": {
		File: "controllers/retention/delays.go", Test: "./controllers/retention TestUnavailableArchiveKeepsObjects",
		Old: "if o, known := d.obstacles[it]; known {\n\t\to.renewed = now",
		New: "if o, known := d.obstacles[it]; known && now.IsZero() {\n\t\to.renewed = now",
	},
	"archive: a changed target is recorded forever": {
		File: "controllers/retention/archive.go", Test: "./controllers/retention TestOwnerIsRecorded",
		Old: "case o.Result == Changed, o.Result == Gone:\n\t\tp.settle(ctx, it, i, *o)",
		New: "case o.Result == Changed, o.Result == Gone:",
	},
	"archive: a deletion counts before its record has the result": {
		File: "controllers/ledgers/doubt.go", Test: "./controllers/ledgers TestDeletionsCountAfterTheirRecordsHaveResults",
		Old: "case m.Archives != nil && i.Rule.Archive != nil &&",
		New: "case m.Archives != nil && i.Rule.Archive == nil &&",
	},
	"archive: the ledger is filled again only when deletions count": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestEntriesOfRulesThatArchiveAreWrittenInTime",
		Old: "if full && w.queue.len > 0 && w.refills() {",
		New: "if full && w.queue.len < 0 {",
	},
	"archive: a full ledger waits although entries have ended": {
		File: "controllers/ledgers/worker.go", Test: "./controllers/ledgers TestEntriesOfRulesThatArchiveAreWrittenInTime",
		Old: "if w.short && w.budget() == nil {",
		New: "if w.short && w.budget() != nil {",
	},
	"archive: the deletion of another client is one that the ledger counts": {
		File: "controllers/ledgers/doubt.go", Test: "./controllers/ledgers TestArchivesKnowWhatLedgersCountAsGone",
		Old: "answer == ledger.NotThere && w.doubts(t) {",
		New: "answer == ledger.NotThere {",
	},
	"archive: an entry ends although its archive is not written": {
		File: "controllers/ledgers/doubt.go", Test: "./controllers/ledgers TestDeletionsCountAfterTheirRecordsHaveResults",
		Old: "maps.DeleteFunc(observed, func",
		New: "maps.DeleteFunc(maps.Clone(observed), func",
	},
	"archive: all receipts of an object live equally long": {
		File: "controllers/archives/receipts.go", Test: "./controllers/archives TestReceiptsExpireBeforeTheTurnOfTheirObjects",
		Old: "life<<min(records-1, 10)",
		New: "life<<min(records-1, 0)",
	},
	"archive: refused days survive a change of the spec": {
		File: "controllers/archives/trim.go", Test: "./controllers/archives TestRefusedDaysOfAnotherSpec",
		Old: "*t = trimmer{worker: t.worker, generation: s.object.Generation}",
		New: "*t = trimmer{worker: t.worker, generation: s.object.Generation, refused: t.refused}",
	},
	"archive: retain deletes only the objects of one listing an hour": {
		File: "controllers/archives/trim.go", Test: "./controllers/archives TestRetainKeepsUp",
		Old: "t.truncated = n == trimMost",
		New: "t.truncated = n > trimMost",
	},
	"archive: an archive with the url of an older one is used": {
		File: "controllers/archives/reading.go", Test: "./controllers/archives TestArchivesThatShareAURL",
		Old: "younger.invalid = cmp.Or(younger.invalid, younger.shared)",
		New: "younger.invalid = cmp.Or(younger.invalid, nil)",
	},
	"archive: retain applies to the records of another archive with the url": {
		File: "controllers/archives/trim.go", Test: "./controllers/archives TestArchivesThatShareAURL",
		Old: "cmp.Or(all[i].invalid, all[i].shared)",
		New: "all[i].invalid",
	},
	"archive: a legal hold that only the API server has does not count": {
		File: "controllers/archives/trim.go", Test: "./controllers/archives TestRetainDoesNotRelyOnACache",
		Old: "readFrom(ctx, t.manager.Live)",
		New: "readFrom(ctx, t.manager.Cache)",
	},
	"archive: a malformed recipient is valid": {
		File: "policy/archive/settings/settings.go", Test: "./policy/archive/settings TestLoad",
		Old: "if err != nil || len(r) != 1 {",
		New: "if err != nil && text == \"\" || len(r) > 1 {",
	},
	"archive: a parameter that the store does not have is valid": {
		File: "policy/archive/settings/url.go", Test: "./policy/archive/settings TestParse",
		Old: "if !slices.Contains(has, name) {",
		New: "if name == \"\" {",
	},
	"archive: the webhook accepts each RetentionArchive": {
		File: "controllers/admission/archives.go", Test: "./controllers/admission TestReviewOfArchives",
		Old: "len(problems) > 0 {",
		New: "len(problems) > 0 && problems[0].Path == \"\" {",
	},
	"archive: a read that ends an entry is not written to the index": {
		File: "policy/ledger/send.go", Test: "./policy/ledger TestInterleavingsWithArchives",
		Old: "return k.endBy(e, s, began) != none",
		New: "return k.endBy(e, s, began) == void",
	},
	"archive: an object that an earlier request may have deleted is absent": {
		File: "policy/ledger/send.go", Test: "./policy/ledger TestInterleavingsWithArchives",
		Old: "return s != nil && s.doubtful\n",
		New: "return s != nil && s.doubtful && s.stopped\n",
	},
	"archive: a terminating object is not gone": {
		File: "policy/ledger/entry.go", Test: "./policy/ledger TestInterleavingsWithArchives",
		Old: "{ return s.end(t) == gone }",
		New: "{ return s.end(t) == gone && !s.Terminating }",
	},
	"archive: what the ledger reads as gone is kept": {
		File: "controllers/archives/index.go", Test: "./test/day TestDay",
		Old: "result := archive.Kept\n\tif gone {",
		New: "result := archive.Kept\n\tif !gone {",
	},
	"archive: a restore takes any object of the name for what it restored before": {
		File: "cmd/kubectl-sunset/archive/restore/restore.go", Test: "./cmd/kubectl-sunset/command TestArchiveRestoreRepeated",
		Old: "s.Before = place(origin[v1alpha1.RestoredFromAnnotation]) == place(s.From) &&",
		New: "s.Before = len(origin) > 0 &&",
	},
	"archive: a dependent is restored although its manager is not": {
		File: "cmd/kubectl-sunset/archive/restore/owners.go", Test: "./cmd/kubectl-sunset/archive/restore TestPlanWithoutManager",
		Old: "case owner.Why != \"\":",
		New: "case owner.Why != \"\" && owner.Before:",
	},
	"archive: a dependent of a suspended owner runs": {
		File: "cmd/kubectl-sunset/archive/restore/owners.go", Test: "./cmd/kubectl-sunset/archive/restore TestPlanWithoutManager",
		Old: "owner.runsToCompletion() && !s.runsToCompletion():",
		New: "owner.runsToCompletion() && owner.Before:",
	},
	"archive: a record brings objects along that it does not own": {
		File: "cmd/kubectl-sunset/archive/content.go", Test: "./cmd/kubectl-sunset/archive TestToRestoreForeign",
		Old: "case !owned[o]:",
		New: "case !owned[o] && namespace != nil && *namespace == \"\":",
	},
	"archive: a record is restored for metadata of another object": {
		File: "policy/archive/reader.go", Test: "./policy/archive TestEach",
		Old: "if same(m.Object, f.Object) && slices.Equal(",
		New: "if m.UID == f.UID && slices.Equal(",
	},
	"archive: a selection restores what another client deleted": {
		File: "cmd/kubectl-sunset/archive/left_out.go", Test: "./cmd/kubectl-sunset/command TestArchiveRestoreResults",
		Old: "if !isKept && (isDone || isNamed) {",
		New: "if !isKept && (isDone || isNamed || e.Result != \"\") {",
	},
	"archive: a damaged index object hides its segments": {
		File: "policy/archive/find.go", Test: "./policy/archive TestSkip",
		Old: "return indexPart{}, r.skip(object, err)",
		New: "return part, r.skip(object, err)",
	},
}
