// Package ledger is the state machine of exact counts: what one leader writes into the RetentionLedger of one policy
// before it deletes, and how each entry ends in the counters.
//
// # The order of things
//
//  1. Read the ledger and write it with one's own holder: Draft, write, Wrote. This seals it.
//  2. Only then list the objects, with a quorum read or one that is certainly not older than the seal.
//  3. Open entries in a draft and write it. Only what the API server has confirmed may be sent: Sending.
//  4. Send the DELETE once, with UID and resourceVersion as preconditions, and tell how it went: Answered. A client that tries
//     again by itself hides an answer.
//  5. Look at what is doubtful with a quorum read: Saw.
//  6. The next draft moves what has ended into the counters, in the same update that opens others.
//
// # What it promises
//
// Every object that a DELETE removed is counted exactly once, as deleted or as gone, whatever crashes, whichever answer is
// lost, and however many believe to lead. Never do more deletions end within the window of a Budget than it allows.
//
// Why nothing is counted twice: an entry leaves the open ones in the update that counts it, and each update replaces
// exactly the ledger it was made from (the optimistic lock). So an entry is counted once. Two entries about one object
// are never both counted: one keeper has at most one open for a UID and opens none for a UID that it has counted. And a new leader
// writes its holder before it lists: from then on every write of a former one fails, so all it has counted was counted before
// the list began, and had gone by then. What the new leader knows to exist was not counted.
//
// Why nothing is missed: no DELETE is sent before its entry is confirmed open, and an entry ends without being counted only
// when no DELETE of its version has done or can still do anything, by the RequestLife at the latest. A crash leaves it open, for the next leader to look at.
//
// # What it refuses
//
// It does no I/O, reads no clock and starts nothing. What it cannot read it does not drop: doubt keeps.
package ledger
