// SPDX-License-Identifier: Apache-2.0

// Package archives records objects in RetentionArchives before they are deleted. It implements retention.Archive.
//
// It promises:
//
//   - A policy.Receipt exists only for a record whose segment was written and read back. Until then the object stays, for as long as
//     it takes: no deadline lets an object go without a record.
//   - A record has exactly the UID and resourceVersion of its target. Objects of another version are not recorded.
//   - What a rule redacts is removed before anything leaves the process. The data of Secrets is read only for archives with encryption.
//   - A ledger counts a deletion after the index has its result (index.go), so that both agree after a crash.
//   - An archive that fails stops only the rules that use it. A namespace whose objects or logs cannot be read, or are read slowly,
//     stops no other: memory and requests are shared (shares.go). A record that the store refuses stops no other (history.go).
//   - Memory is bounded: what waits to be recorded is not read before there is memory for it.
//   - Only the leader writes, and a new leader has no receipts of an earlier one.
//
// A Manager has one worker for each RetentionArchive. The worker reads objects (capture.go for a few, sweep.go for many), adds them to
// a segment, writes the segment and issues receipts (write.go), and maintains the archive (upkeep.go). Package policy/archive has the
// format, and package store the object stores.
package archives
