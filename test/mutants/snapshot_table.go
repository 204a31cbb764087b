// SPDX-License-Identifier: Apache-2.0

package mutants

// snapshotTable changes what permits the deletion of claims by rules that make snapshots.
var snapshotTable = map[string]Mutant{
	"snapshot: a rule with a snapshot needs no receipt": {
		File: "policy/archive.go", Test: "./policy TestClearNeedsTheSnapshot",
		Old: "if w.Rule().Snapshot != nil && !s.Covers(w.Intent()) {",
		New: "if w.Rule().Snapshot != nil && s.Name == \"\" {",
	},
	"snapshot: one of another claim counts": {
		File: "policy/volume_snapshot.go", Test: "./policy TestClearNeedsTheSnapshot",
		Old: "r.Claim != \"\" && r.Claim == i.Subject.UID &&",
		New: "r.Claim != \"\" &&",
	},
	"snapshot: one from before the claim was seen to be due counts": {
		File: "policy/volume_snapshot.go", Test: "./policy TestClearNeedsTheSnapshot",
		Old: "!r.Created.IsZero() && !r.Created.Before(i.takenFrom())",
		New: "!r.Created.IsZero()",
	},
	"snapshot: one that is not ready counts": {
		File: "policy/volume_snapshot.go", Test: "./policy TestVolumeSnapshotReceipt",
		Old: "case !s.Status.ReadyToUse || s.Status.Content",
		New: "case s.Status.Content",
	},
	"snapshot: one that is being deleted counts": {
		File: "policy/volume_snapshot.go", Test: "./policy TestVolumeSnapshotReceipt",
		Old: "case s.DeletionTimestamp != nil:",
		New: "case s.DeletionTimestamp != nil && s.Name == \"\":",
	},
	"snapshot: one whose source is another claim counts": {
		File: "policy/volume_snapshot.go", Test: "./policy TestVolumeSnapshotReceipt",
		Old: ", s.Spec.Source.ClaimName != i.Subject.Name:",
		New: ":",
	},
	"snapshot: it is not read right before the request": {
		File: "controllers/retention/attempt.go", Test: "./controllers/retention TestSnapshotIsReadRightBeforeTheDeletion",
		Old: "all = append(all, f.withSpan(\"snapshot\", f.snapshot))",
		New: "f.taken, _ = f.readSnapshot(context.Background(), f.it, f.likely.Permit.Intent())",
	},
	"snapshot: a deletion that is counted does not wait for it": {
		File: "controllers/retention/ledger.go", Test: "./controllers/retention TestSnapshotComesBeforeTheRecord",
		Old: "(!j.Permit.Valid() || !p.ensureSnapshot(ctx, it, j.Permit))",
		New: "!j.Permit.Valid()",
	},
	"snapshot: it is created without the live checks": {
		File: "controllers/retention/snapshot.go", Test: "./controllers/retention TestNoSnapshotWithoutPermission",
		Old: "failed != nil {\n\t\t\tp.retryAfterPreflight",
		New: "failed != nil && it.uid == \"\" {\n\t\t\tp.retryAfterPreflight",
	},
	"snapshot: those of claims that cannot be deleted pile up": {
		File: "controllers/retention/snapshots.go", Test: "./controllers/retention TestRefusedClaimsDoNotPileUpSnapshots",
		Old: "case o.ready && !isDue(other), ",
		New: "case o.ready, ",
	},
	"snapshot: any number is in progress": {
		File: "controllers/retention/snapshots.go", Test: "./controllers/retention TestSnapshotsInProgressAreBounded",
		Old: "\t\t\tn++\n",
		New: "\t\t\tn += 0\n",
	},
	"snapshot: one that has failed waits for those in progress": {
		File: "controllers/retention/snapshots.go", Test: "./controllers/retention TestFailureIsReportedWhileOthersAreInProgress",
		Old: "!open && s.due[it].made.IsZero() && s.others",
		New: "!open && s.others",
	},
	"snapshot: one whose response was lost is never reported": {
		File: "controllers/retention/snapshot.go", Test: "./controllers/retention TestSnapshotIsObserved",
		Old: "\t\tp.snapshots.add(it, openSnapshot{i.Rule.ID.Policy, now, false})\n\t\tp.noteSnapshot(it, i)\n",
		New: "\t\tp.snapshots.add(it, openSnapshot{i.Rule.ID.Policy, now, false})\n",
	},
	"snapshot: one of an earlier process counts": {
		File: "controllers/retention/snapshots.go", Test: "./controllers/retention TestSnapshotOfAnotherProcessDoesNotCount",
		Old: "d = dueClaim{start: i.Start, since: now, needs: needs}",
		New: "d = dueClaim{start: i.Start, since: i.Start, needs: needs}",
	},
	"snapshot: one that a rule may delete soon counts": {
		File: "controllers/retention/snapshots.go", Test: "./controllers/retention TestSnapshotThatIsOldIsMadeAgain",
		Old: "needs.Retain > 0 && now.Sub(d.since) > needs.Retain/2",
		New: "needs.Retain < 0",
	},
	"snapshot: nothing asks whether the claim is used": {
		File: "policy/load_snapshot.go", Test: "./engine TestSnapshotNeedsReferences",
		Old: "r.Snapshot != nil && !r.Relations.Has(AsksReferences)",
		New: "r.Snapshot != nil && r.Relations.Has(AsksReferences)",
	},
	"snapshot: the manifest is of another claim": {
		File: "controllers/kube/snapshot.go", Test: "./controllers/kube TestCreateSnapshot",
		Old: "uid != string(i.Subject.UID) {",
		New: "uid == \"\" {",
	},
}
