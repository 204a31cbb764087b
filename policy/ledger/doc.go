// SPDX-License-Identifier: Apache-2.0

// Package ledger is the state machine of exact counts: what one leader writes into the RetentionLedger of one policy before it
// deletes, and how each entry ends in the counters.
//
// # Protocol
//
//  1. Read the ledger, and write it with its own holder: NewUpdate, write, Wrote. This seals the ledger.
//  2. Only then list the objects, with a quorum read or a read that is certainly not older than the seal. What was known before
//     must be read in this way before Open.
//  3. Open entries in an update, and write it. Send a DELETE only for entries that the API server has confirmed: MarkSent.
//  4. Send the DELETE once, with UID and resourceVersion as preconditions, and report the result: Answered. The client must not
//     retry automatically, because a retry hides the result of the first request.
//  5. Read the objects of doubtful entries with a quorum read, and report the observation: Observe.
//  6. The next update moves ended entries into the counters, in the same update that opens others.
//
// # Guarantees
//
// Every object that a DELETE removed is counted exactly once, as deleted or as gone. This holds for every crash, for every lost
// response, and if several controllers act as leader at the same time. The number of deletions that end within the window of a
// Budget is never larger than its maximum.
//
// Why no object is counted twice: an update that counts an entry also removes it from the open entries. The optimistic lock
// ensures that each update replaces exactly the ledger that it was made from. So an entry is counted once. Two entries about one
// object are never both counted: a machine has at most one open entry for a UID, and opens no entry for a UID that it has
// counted. A new leader writes its holder before it lists, or reads. From then on, every write of a former leader fails. So everything that
// the former leader counted was counted before the list began, and those objects no longer existed then. An object in the list of
// the new leader was therefore not counted.
//
// Why the count misses no object: an entry must be confirmed open before its DELETE is sent. An entry ends without a count only
// if no DELETE of its version has had an effect or can still have one, which is certain after RequestLife. After a crash the
// entry stays open, and the next leader observes its object.
//
// # Limits of the package
//
// The package does no I/O, reads no clock and starts no goroutine. It does not drop a ledger that it cannot read: it returns an
// error, and nothing is deleted.
package ledger
