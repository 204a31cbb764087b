// SPDX-License-Identifier: Apache-2.0

// Package ledgers manages the RetentionLedgers: it records each deletion before it is sent, and its result afterwards.
//
// It promises:
//
//   - A policy that keeps a ledger deletes nothing unless the API server has confirmed the entry.
//   - Each ledger is written at most ten times a second, and one write records many entries if many wait.
//   - A ledger that cannot be written stops only its own policy.
//   - A deletion by a rule that archives is counted after its record has the result: see Archives.
//   - A process stops when another controller takes over one of its ledgers.
//
// It makes no decisions: package policy/ledger defines what an entry means, and the reconciler decides what to delete.
package ledgers
