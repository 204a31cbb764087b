// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Verification is what Verify found.
type Verification struct {
	Segments, IndexObjects int      // in the bucket
	Records                int      // of the segments that could be read
	Bytes                  int64    // of segments and index objects
	Damaged                []error  // each names an object that cannot be read, or whose digest is wrong
	Missing                []string // segments that the index names and the store does not have, although they have not expired
	Expired                int      // segments that the index names and the store does not have any more
	NotIndexed             []string // segments that no index object covers; searches read them
	Encrypted              int      // objects that were not read, because no identity decrypts them; their digests are right
	EncryptedIndex         int      // index objects among them: segments that only these name can be missing, and are not in Missing
	Unrelated              []string // objects below segments/ and index/ that are not part of an archive
}

// OK reports whether nothing is damaged or missing.
func (v Verification) OK() bool { return len(v.Damaged) == 0 && len(v.Missing) == 0 }

// Verify reads everything and verifies each digest. Of objects that no identity decrypts it verifies only the digests, so it does not
// find missing segments that only such an index object names. The error is one of the store; what is damaged is in the result. progress
// may be nil, and is called with the number of objects that were read, from one goroutine at a time.
//
// The segments of a day are deleted before its index, so the index can name segments that have expired. keep says which days have. If it
// has no Retain, a lifecycle rule of the store may delete segments by their age: those that are older than all others count as expired.
func (r *Reader) Verify(ctx context.Context, keep Retention, now time.Time, progress func(objects int)) (Verification, error) {
	v := &verifier{reader: r, progress: progress, gone: map[string]bool{}}
	objects, err := v.list(ctx, IndexPrefix)
	if err != nil {
		return v.found, err
	}
	slices.Reverse(objects) // the newest may be replaced soon
	parts, err := inParallel(ctx, objects, v.index)
	if err != nil {
		return v.found, err
	}
	v.found.EncryptedIndex = v.found.Encrypted
	segments, err := v.list(ctx, SegmentPrefix) // after the index, which so names none that is written later
	if err != nil {
		return v.found, err
	}
	records, err := inParallel(ctx, segments, v.segment)
	if err != nil {
		return v.found, err
	}
	if err := v.listGone(ctx); err != nil {
		return v.found, err
	}
	v.found.IndexObjects, v.found.Segments = len(objects), len(segments)
	for _, n := range records {
		v.found.Records += n
	}
	v.compare(segments, parts, keep, now)
	if v.found.Encrypted > 0 { // an index object that was not read may cover them
		v.found.NotIndexed = nil
	}
	return v.found, nil
}

// verifier is one run of Verify.
type verifier struct {
	reader   *Reader
	progress func(int)

	mu    sync.Mutex
	done  int             // objects
	gone  map[string]bool // objects that were listed and did not exist
	found Verification
}

// list returns the names of objects, and notes those that do not belong there.
func (v *verifier) list(ctx context.Context, prefix string) (names []string, err error) {
	for e, err := range v.reader.Bucket.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(e.Name, ProbePrefix) { // object lock may keep it
			continue
		}
		if _, ok := parseName(e.Name); !ok {
			v.found.Unrelated = append(v.found.Unrelated, e.Name)
			continue
		}
		names, v.found.Bytes = append(names, e.Name), v.found.Bytes+e.Size
	}
	return names, nil
}

func (v *verifier) index(ctx context.Context, object string) ([]string, error) {
	nothing := func(*indexPart, string, []byte) error { return nil }
	part, err := v.reader.readIndex(ctx, object, nothing)
	return part.segments, v.note(object, err)
}

func (v *verifier) segment(ctx context.Context, segment string) (records int, err error) {
	for _, err = range v.reader.Records(ctx, segment) {
		if err == nil {
			records++
		}
	}
	return records, v.note(segment, err)
}

// listGone lists objects again that did not exist. Those that are listed again were not deleted in the meantime.
func (v *verifier) listGone(ctx context.Context) error {
	for name := range v.gone {
		for e, err := range v.reader.Bucket.List(ctx, name) {
			if err != nil {
				return err
			}
			if e.Name == name {
				v.found.Damaged = append(v.found.Damaged, corrupt(name, errListedOnly))
			}
		}
	}
	return nil
}

// note notes that an object was read, or is damaged, or no longer exists. The error is one of the store.
func (v *verifier) note(object string, err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.done++; v.progress != nil {
		v.progress(v.done)
	}
	switch {
	case err == nil:
	case errors.Is(err, ErrNotFound):
		v.gone[object] = true
	case errors.Is(err, ErrEncrypted):
		v.found.Encrypted++
	case errors.Is(err, ErrCorrupt), errors.Is(err, errNewer):
		v.found.Damaged = append(v.found.Damaged, err)
	default:
		return err
	}
	return nil
}

// compare compares the segments of the bucket with those that the index names.
func (v *verifier) compare(segments []string, indexed [][]string, keep Retention, now time.Time) {
	covered := map[string]bool{}
	for _, name := range slices.Concat(indexed...) {
		covered[name] = true
	}
	for _, name := range segments {
		if !covered[name] {
			v.found.NotIndexed = append(v.found.NotIndexed, name)
		}
		delete(covered, name)
	}
	for _, name := range slices.Sorted(maps.Keys(covered)) {
		start, _ := startOfDay(name)
		expired := keep.isOver(start, now) && !keep.holds(start)
		if keep.Retain == 0 {
			expired = len(segments) > 0 && timeIn(name) < timeIn(segments[0])
		}
		if expired {
			v.found.Expired++
		} else {
			v.found.Missing = append(v.found.Missing, name)
		}
	}
}
