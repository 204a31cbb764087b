// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"filippo.io/age"
	"golang.org/x/sync/errgroup"
)

// Reader reads an archive. No method returns content of an object before its digest is verified. It is safe for concurrent use.
type Reader struct {
	Bucket     Bucket
	Identities []age.Identity // needed if the archive is encrypted

	// Skip is called with each object that Find, FindEach and Each cannot read because it is damaged, encrypted for other recipients, or
	// written by a newer version. They then go on without it; segments of such an index object are read themselves. If Skip is nil, such
	// an object is an error. Calls may overlap, and there can be several for one object.
	Skip func(object string, err error)
}

// skip returns nil if the Reader goes on without an object after err.
func (r *Reader) skip(object string, err error) error {
	if r.Skip == nil || !IsOfObject(err) {
		return err
	}
	r.Skip(object, err)
	return nil
}

// IsOfObject reports whether an error of a Reader is about one object of the archive, and not about the store: the object is damaged,
// encrypted for other recipients, written by a newer version, or missing.
func IsOfObject(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrEncrypted) || errors.Is(err, errNewer) || errors.Is(err, ErrNotFound)
}

// Found is a record and its metadata.
type Found struct {
	Meta
	Record Record
}

// Records reads all records of a segment, one at a time. Their metadata have no results. After an error it ends.
func (r *Reader) Records(ctx context.Context, segment string) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		at := 0
		for line, err := range r.lines(ctx, segment) {
			var f Found
			if err == nil {
				f, err = decode(segment, at, line)
			}
			if !yield(f, err) || err != nil {
				return
			}
			at++
		}
	}
}

// decode reads a line of a segment.
func decode(segment string, at int, line []byte) (Found, error) {
	var r Record
	err := json.Unmarshal(line, &r)
	if err == nil && r.Version > Version {
		return Found{}, fmt.Errorf("object %q: %w: it has records of format version %d, and this program reads versions up to %d; use a newer version",
			segment, errNewer, r.Version, Version)
	}
	var h header
	if err == nil {
		h, err = readHeader(r.Object)
	}
	m, metaErr := metaOf(r, h)
	if err = cmp.Or(err, metaErr); err != nil {
		return Found{}, corrupt(segment, err)
	}
	m.Segment, m.Line, m.Bytes = segment, at, len(line)
	return Found{m, r}, nil
}

// Each reads the records of all metas, in the order of segments and lines. It reads each segment once, some at the same time, and
// holds the records of these. It leaves out records that it skips. After an error it ends.
func (r *Reader) Each(ctx context.Context, metas []Meta) iter.Seq2[Found, error] {
	wanted := map[string][]Meta{}
	for _, m := range metas {
		wanted[m.Segment] = append(wanted[m.Segment], m)
	}
	pick := func(ctx context.Context, segment string) ([]Found, error) {
		return r.pick(ctx, segment, wanted[segment])
	}
	return func(yield func(Found, error) bool) {
		for segments := range slices.Chunk(slices.Sorted(maps.Keys(wanted)), parallelReads) {
			read, err := inParallel(ctx, segments, pick)
			if err != nil {
				yield(Found{}, err)
				return
			}
			for _, f := range slices.Concat(read...) {
				if !yield(f, nil) {
					return
				}
			}
		}
	}
}

// pick returns the records of metas, which are all of one segment, by line.
func (r *Reader) pick(ctx context.Context, segment string, metas []Meta) (found []Found, err error) {
	slices.SortFunc(metas, func(a, b Meta) int { return cmp.Compare(a.Line, b.Line) })
	next := 0
	for f, err := range r.Records(ctx, segment) {
		if err != nil {
			return found, r.skip(segment, err)
		}
		for ; next < len(metas) && metas[next].Line == f.Line; next++ {
			m := metas[next]
			if same(m.Object, f.Object) && slices.Equal(m.Dependents, f.Dependents) {
				found = append(found, Found{m, f.Record})
				continue
			}
			err := fmt.Errorf("line %d is %s with UID %s, and its metadata is of %s with UID %s or names other dependents", m.Line, f.Object, f.UID, m.Object, m.UID)
			if err := r.skip(segment, corrupt(segment, err)); err != nil {
				return nil, err
			}
		}
	}
	if next < len(metas) {
		return found, r.skip(segment, corrupt(segment, fmt.Errorf("it has no line %d", metas[next].Line)))
	}
	return found, nil
}

const parallelReads = 16 // objects that are read at the same time

// inParallel calls do for all items, for some at the same time, and returns the results in the order of items.
func inParallel[T, R any](ctx context.Context, items []T, do func(context.Context, T) (R, error)) ([]R, error) {
	all := make([]R, len(items))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelReads)
	for i, item := range items {
		g.Go(func() (err error) {
			all[i], err = do(ctx, item)
			return err
		})
	}
	return all, g.Wait()
}
