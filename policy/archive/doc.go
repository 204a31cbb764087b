// SPDX-License-Identifier: Apache-2.0

// Package archive is the format of an archive: the records of deleted objects in a bucket of an object store.
// docs/reference/archive-format.md describes it for readers who have only standard tools.
//
// A bucket has two kinds of objects. A segment, below segments/, has the records: JSON lines in one zstd frame, encrypted with age
// if the archive has recipients. An index object, below index/, has the metadata of the records of one day, so that a search reads
// no segments, and the results: what happened to the recorded objects. Names contain the SHA-256 of the content, are written once
// and never change.
//
// The segments are the archive. An index object only saves time: a Reader reads the segments that no index object covers, and
// ignores metadata without a segment. So a crash between any two steps leaves a consistent archive:
//
//   - While a segment is written: Verify reports what is left of it. No receipt exists for it, so nothing was deleted.
//   - After a segment was written, before its receipt: records without a result. The next leader records the objects again, and Find
//     collapses records of one UID and resourceVersion.
//   - After the DELETE, before its result is written: a record without a result. The object may be deleted, and the record has it.
//   - After a segment was written, before an index object covers it: Find reads the segment.
//   - After a new index object was written, before the one that it replaces was deleted: both have the same lines, and results
//     combine in any order and any number of times.
//   - While the retention of the archive deletes a day: segments first, then the index of the day.
//
// It does no I/O: a Bucket does, and package controllers/archives/store has one. The controller encrypts for recipients and cannot
// read what it wrote. Only Reader needs identities.
package archive
