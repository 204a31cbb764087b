// SPDX-License-Identifier: Apache-2.0

// Package index keeps, for one kind, the facts about every subject, ordered by due time.
//
// It promises:
//
//   - It keeps only facts, and no objects.
//   - Sunset decides about a subject again, from its stored facts, whenever these facts, the rules that apply to it, or the
//     time have changed.
//   - No subject is due before the index has facts for every rule that applies to it.
//
// It does no I/O, reads no clock and starts no goroutines. All methods are safe for concurrent use.
package index
