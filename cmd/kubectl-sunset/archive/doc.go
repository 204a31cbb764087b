// SPDX-License-Identifier: Apache-2.0

// Package archive selects records of an archive, and shows them: as a table, as objects, as logs. Package restore brings
// objects back, and package compact writes tables for query engines.
//
// It promises to show only what the archive has: what it cannot read is an error or a note. It never writes.
package archive
