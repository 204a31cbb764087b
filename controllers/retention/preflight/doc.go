// SPDX-License-Identifier: Apache-2.0

// Package preflight has the checks right before a request that deletes an object, its owner or an image, or that marks an
// object.
//
// Before these checks:
//
//   - index.Index.TakeDue hands out a subject that is due, and the pipeline of package retention waits for a worker.
//   - attempt.begin decides for the first time, only to know what to check. It checks the permissions, makes the entry in the
//     ledger, and has the record written to the archive, if the rule archives.
//   - If the owner is deleted instead, TargetResolver.ResolveTarget reads it: by checkOwner of package kube, the owner has finished
//     and is neither held, managed nor terminating. With a ledger, that comes before the entry, which names the owner for later attempts.
//   - The pipeline waits for the rate limit.
//
// The list names the conditions, each with the function that checks it. Conditions 1 to 9 need answers of the API server or of the
// node. Each answer may be at most MaxAge old when the request is sent, so a slow check is repeated. Live.Check is
// Reconciler.Check of package policyset. It reads what 5 to 7 need at the same time.
//
//  1. The ServiceAccount of a RetentionPolicy may delete or mark the object: Live.Permit, by permissions.Checker.Check.
//  2. It may delete the owner, if that is deleted instead: Live.PermitOwner, by permissions.Checker.CheckOwner.
//  3. If an owner is deleted, the object has not changed: Prepare of kube.Cluster. If an image is deleted, no container uses it, and
//     its tags are the same: Prepare of images.Node.
//  4. This process leads: Live.Check, by lease.TrackedLock.Check, before and after the reads.
//  5. The policies and approvals in force are those of the API server, and none is being compiled: Live.Check, by checkPolicies,
//     unreadIn and compilingFor. On a node, the agent has the latest rules that the controller has sent.
//  6. The namespace exists, is not terminating, and its labels and its hold are in force: Live.Check, by readNamespace or
//     readAllNamespaces.
//  7. Its ResourceQuotas are in force, if a rule depends on them: Live.Check, by readQuotasOf. Unknown quotas limit nothing.
//  8. The clock of the API server agrees with the clock of this process: Live.Check, by skew.Clocks.Err.
//  9. If the rule makes snapshots, the VolumeSnapshot of the claim is ready to use, and was taken since this process saw that it is
//     due: attempt.snapshot of package retention, and policy.Clear. attempt.begin has it created before, by pipeline.ensureSnapshot,
//     after 4 to 8 and as far as the limits permit.
//
// The remaining conditions are checked in memory, without waiting:
//
//  10. The facts about the object follow the newest references and ranks, if rules read them: Reconciler.confirm of package retention.
//  11. The rules in force still delete this version, and condition 1 has checked those rules: attempt.decide of package
//     retention, which calls index.Index.Claim and so policy.Decide. Holds, other rules, approvals, windows and freezes are part of
//     the decision. It deletes nothing within MaxAge before a window closes or a freeze begins, so that no request is sent later.
//  12. The rules about the owner's own kind agree: ownerAgrees of package retention.
//  13. No answer for 1 to 9 is older than MaxAge: Fresh. The sender checks this once more.
//  14. If the rule archives, the archive has a verified record of exactly this version: attempt.clear of package retention, which
//     calls Archive.Lookup and policy.Clear. The sender takes only the Clearance that Clear returns.
//  15. The deletion is recorded within the limits, if the policy has limits or counts its deletions: Ledger.MarkSent.
//
// Finally the API server compares UID and resourceVersion of the object, or of its owner, with those of the decision. A mark needs
// 1, 4 to 8, 11 and 13.
package preflight
