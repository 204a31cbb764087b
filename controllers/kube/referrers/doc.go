// SPDX-License-Identifier: Apache-2.0

// Package referrers watches the objects that rules depend on because of references: those that refer to others, those to which
// they refer, and those that label selectors match. It passes their names, references and labels to a references.Index.
//
// It promises that references count as unknown until they are completely known. A kind makes all its possible targets doubtful
// if Sunset cannot list it, its watch is broken or silent for long, its existence is unknown, or one of its objects cannot be
// read. This lasts until the cause is fixed. A kind counts as empty only if the API server says that it does not have the kind.
//
// While the watch of a known kind is interrupted or new, it pauses the kind in the index: known references still count, but
// nothing should be deleted because of them. If the watch does not come back within a few seconds, the references are unknown.
// The same applies after the machine was suspended.
//
// It cannot detect how old a response is: an API server may be behind the others or send events late, and newer references are
// then not known. A delay of milliseconds is usual, but not guaranteed. A frozen watch looks like a watch without events until
// a bookmark is due, or for 11 minutes if the API server sends no bookmarks.
//
// It refuses to keep objects: it drops each object after it has read its references.
package referrers
