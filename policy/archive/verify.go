// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"filippo.io/age"
)

// Progress of work that takes long.
type Progress struct {
	Done, Total int   // objects in the bucket
	Bytes       int64 // that were read
}

// Verification is what Verify found.
type Verification struct {
	Segments, IndexObjects, Records int // Records of the segments that could be decrypted
	Bytes                           int64
	Damaged                         []error  // each names an object that cannot be read, or whose digest is wrong
	Missing                         []string // segments that the index names and the store does not have
	NotIndexed                      []string // segments that no index object covers; searches read them, and Reindex adds them
	Unrelated                       []string // objects below segments/ and index/ that are not part of an archive
}

// OK reports whether nothing is damaged or missing.
func (v Verification) OK() bool { return len(v.Damaged) == 0 && len(v.Missing) == 0 }

// Verify reads everything and verifies each digest. Without identities it verifies the digests of encrypted objects, and neither
// their content nor whether segments are missing. The error is one of the store; what is damaged is in the result. progress may be
// nil, and is called from one goroutine at a time. While the retention of the archive deletes a day, its segments are Missing.
func (r *Reader) Verify(ctx context.Context, progress func(Progress)) (Verification, error) {
	v := &verifier{reader: r, progress: progress, reads: make(chan struct{}, parallelReads)}
	days, err := v.list(ctx)
	if err != nil {
		return v.found, err
	}
	for _, day := range days {
		if err := v.verify(ctx, day); err != nil {
			return v.found, err
		}
	}
	return v.found, nil
}

// verifier is one run of Verify or Reindex.
type verifier struct {
	reader   *Reader
	progress func(Progress)
	reads    chan struct{}

	mu    sync.Mutex
	done  Progress
	found Verification
}

// list counts the objects, and returns the days that have some.
func (v *verifier) list(ctx context.Context) ([]string, error) {
	var days []string
	for _, prefix := range []string{SegmentPrefix, IndexPrefix} {
		for e, err := range v.reader.Bucket.List(ctx, prefix) {
			if err != nil {
				return nil, err
			}
			n, ok := parseName(prefix, e.Name)
			if !ok {
				v.found.Unrelated = append(v.found.Unrelated, e.Name)
				continue
			}
			v.done.Total++
			if len(days) == 0 || days[len(days)-1] != n.day {
				days = append(days, n.day)
			}
		}
	}
	slices.Sort(days)
	return slices.Compact(days), nil
}

// verify verifies one day.
func (v *verifier) verify(ctx context.Context, day string) error {
	covered, readable, err := v.index(ctx, day)
	if err != nil {
		return err
	}
	segments, err := v.reader.names(ctx, SegmentPrefix, day)
	if err != nil {
		return err
	}
	if err := v.each(ctx, segments, v.segment); err != nil || !readable {
		return err
	}
	for _, s := range segments {
		if !covered[s] {
			v.found.NotIndexed = append(v.found.NotIndexed, s)
		}
		delete(covered, s)
	}
	v.found.Missing = slices.AppendSeq(v.found.Missing, maps.Keys(covered))
	slices.Sort(v.found.Missing)
	return nil
}

// index reads the index of a day: before the segments are listed, so that it names none that is written later. readable is false
// if the identities cannot decrypt it.
func (v *verifier) index(ctx context.Context, day string) (covered map[string]bool, readable bool, err error) {
	names, err := v.reader.names(ctx, IndexPrefix, day)
	if err != nil {
		return nil, false, err
	}
	covered, readable = map[string]bool{}, true
	nothing := filter{nil} // no line passes
	err = v.each(ctx, names, func(object string, data []byte) error {
		part, err := (&search{reader: v.reader, filter: nothing}).scan(object, data)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.found.IndexObjects++
		readable = readable && !errors.Is(err, ErrEncrypted)
		for _, segment := range part.segments {
			covered[segment] = true
		}
		return err
	})
	return covered, readable, err
}

func (v *verifier) segment(segment string, data []byte) error {
	metas, err := v.reader.metasOf(segment, data)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.found.Segments++
	v.found.Records += len(metas)
	return err
}

// each reads objects in parallel, and notes those that are damaged. It ignores objects that were deleted in the meantime. The error
// is one of the store.
func (v *verifier) each(ctx context.Context, names []string, do func(object string, data []byte) error) error {
	return v.reader.fetchAll(ctx, v.reads, names, func(object string, data []byte, err error) error {
		read := err == nil
		if read {
			err = do(object, data)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.advance(len(data))
		switch {
		case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrEncrypted):
			return nil
		case read, errors.Is(err, ErrCorrupt):
			v.found.Damaged = append(v.found.Damaged, err)
			return nil
		default:
			return err
		}
	})
}

func (v *verifier) advance(n int) {
	v.done.Done++
	v.done.Total = max(v.done.Total, v.done.Done) // objects that were written in the meantime
	v.done.Bytes += int64(n)
	v.found.Bytes = v.done.Bytes
	if v.progress != nil {
		v.progress(v.done)
	}
}

// Reindex writes index objects for the segments that no index object covers, and returns how many segments it added. It is not
// needed for correct searches, only for fast ones. Segments that a running leader has not yet indexed are then indexed twice, which
// changes no result. The error names the first damaged object, if there is one.
func (r *Reader) Reindex(ctx context.Context, recipients []age.Recipient, now time.Time, progress func(Progress)) (added int, err error) {
	v := &verifier{reader: r, progress: progress, reads: make(chan struct{}, parallelReads)}
	days, err := v.list(ctx)
	if err != nil {
		return 0, err
	}
	for _, day := range days {
		n, err := v.reindex(ctx, day, NewIndexer(r.Bucket, recipients...), now)
		added += n
		if err != nil {
			return added, err
		}
	}
	return added, nil
}

func (v *verifier) reindex(ctx context.Context, day string, x *Indexer, now time.Time) (added int, err error) {
	covered, readable, err := v.index(ctx, day)
	if err != nil {
		return 0, err
	}
	if !readable {
		return 0, fmt.Errorf("index of %s: %w; give the private key of a recipient", day, ErrEncrypted)
	}
	segments, err := v.reader.names(ctx, SegmentPrefix, day)
	if err != nil {
		return 0, err
	}
	segments = slices.DeleteFunc(segments, func(s string) bool { return covered[s] })
	for _, s := range segments {
		data, err := fetch(ctx, v.reader.Bucket, s)
		if err != nil {
			return added, err
		}
		metas, err := v.reader.metasOf(s, data)
		if err != nil {
			return added, err
		}
		x.Add(Segment{Name: s, Meta: metas})
		v.advance(len(data))
		added++
	}
	return added, x.Flush(ctx, now)
}
