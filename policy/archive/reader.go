// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"iter"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reader reads an archive. It is safe for concurrent use.
type Reader struct {
	Bucket     Bucket
	Identities []age.Identity // needed if the archive is encrypted
}

// Query selects records. The zero Query selects all. All set fields must match.
type Query struct {
	Kind      schema.GroupKind // of the object or of a dependent
	Namespace *string          // nil: all; empty: cluster-scoped objects
	Name      string           // of the object; or, if Kind is a kind of dependents, of a dependent
	UID       string
	Selector  labels.Selector // nil: all
	Policy    string          // as in Record
	Rule      string
	Since     time.Time       // archived at this time or later; zero: no limit
	Until     time.Time       // archived before this time; zero: no limit
	Results   []Result        // what happened; empty: all. "" is a record without a result
	Match     func(Meta) bool // nil: all; called last, from one goroutine at a time
}

// Find yields the metadata of records, the newest first. Of several records of one UID and resourceVersion it yields one. It reads
// index objects, segments that no index object covers, and nothing else, some in parallel, and holds the matches of a few days.
// After an error it ends.
func (r *Reader) Find(ctx context.Context, q Query) iter.Seq2[Meta, error] { return nil }

// Get reads one record, and verifies the digest of its segment.
func (r *Reader) Get(ctx context.Context, m Meta) (Record, error) { return Record{}, nil }

// Each reads the records of all metas, and each segment only once. It yields them in the order of segments and lines. It yields a
// record before the digest of its segment is verified: if the digest is wrong, an error ErrCorrupt follows, and it ends.
func (r *Reader) Each(ctx context.Context, metas []Meta) iter.Seq2[Found, error] { return nil }

// Found is a record and its metadata.
type Found struct {
	Meta
	Record Record
}

// Records reads all records of a segment, one at a time, as Each does.
func (r *Reader) Records(ctx context.Context, segment string) iter.Seq2[Found, error] { return nil }

// Segments lists the segments that may have records of the time from since to until, in the order of time. Zero times are no limit.
func (r *Reader) Segments(ctx context.Context, since, until time.Time) iter.Seq2[Entry, error] {
	return nil
}

// Progress of work that takes long. Total is 0 until it is known.
type Progress struct {
	Done, Total int   // objects in the bucket
	Bytes       int64 // that were read
}

// Verification is what Verify found.
type Verification struct {
	Segments, IndexObjects, Records int
	Bytes                           int64
	Damaged                         []error  // each names an object that cannot be read, or whose digest is wrong
	Missing                         []string // segments that the index names and the store does not have
	NotIndexed                      []string // segments that no index object covers; searches read them, and Reindex adds them
	Unrelated                       []string // objects in the bucket that are not part of an archive
}

// OK reports whether nothing is damaged or missing.
func (v Verification) OK() bool { return len(v.Damaged) == 0 && len(v.Missing) == 0 }

// Verify reads everything and verifies each digest. Without identities it verifies the digests of encrypted objects and not their
// content. The error is one of the store; what is damaged is in the result. progress may be nil.
func (r *Reader) Verify(ctx context.Context, progress func(Progress)) (Verification, error) {
	return Verification{}, nil
}

// Reindex writes index objects for the segments that no index object covers, and returns how many segments it added.
func (r *Reader) Reindex(ctx context.Context, recipients []age.Recipient, now time.Time, progress func(Progress)) (int, error) {
	return 0, nil
}
