// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"filippo.io/age"
)

// Reader reads an archive. No method returns content of an object before its digest is verified. It is safe for concurrent use.
type Reader struct {
	Bucket     Bucket
	Identities []age.Identity // needed if the archive is encrypted
}

// Found is a record and its metadata.
type Found struct {
	Meta
	Record Record
}

// Get reads one record. It reads its segment whole.
func (r *Reader) Get(ctx context.Context, m Meta) (Record, error) {
	for f, err := range r.Each(ctx, []Meta{m}) {
		return f.Record, err
	}
	return Record{}, ctx.Err()
}

// Each reads the records of all metas, in the order of segments and lines. It reads each segment once, some in parallel, and holds
// only these. After an error it ends.
func (r *Reader) Each(ctx context.Context, metas []Meta) iter.Seq2[Found, error] {
	type segment struct {
		metas []Meta
		data  []byte
		err   error
	}
	wanted := slices.SortedFunc(slices.Values(metas), func(a, b Meta) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Line, b.Line))
	})
	read := func(ctx context.Context, metas []Meta) segment {
		data, err := fetch(ctx, r.Bucket, metas[0].Segment)
		return segment{metas, data, err}
	}
	return func(yield func(Found, error) bool) {
		for s := range ahead(ctx, chunks(wanted), read) {
			if s.err != nil {
				yield(Found{}, s.err)
				return
			}
			for f, err := range r.pick(s.metas, s.data) {
				if !yield(f, err) || err != nil {
					return
				}
			}
		}
	}
}

// chunks splits sorted metas by segment.
func chunks(metas []Meta) iter.Seq[[]Meta] {
	return func(yield func([]Meta) bool) {
		for len(metas) > 0 {
			n := slices.IndexFunc(metas, func(m Meta) bool { return m.Segment != metas[0].Segment })
			if n < 0 {
				n = len(metas)
			}
			if !yield(metas[:n]) {
				return
			}
			metas = metas[n:]
		}
	}
}

// pick yields the records of metas, which are in the order of lines, from the content of their segment.
func (r *Reader) pick(metas []Meta, data []byte) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		segment, at := metas[0].Segment, 0
		for line, err := range lines(segment, data, r.Identities) {
			for len(metas) > 0 && metas[0].Line == at && err == nil {
				var f Found
				f, err = foundOf(metas[0], line)
				if err == nil && !yield(f, nil) {
					return
				}
				metas = metas[1:]
			}
			if err != nil {
				yield(Found{}, err)
				return
			}
			if at++; len(metas) == 0 {
				return
			}
		}
		if len(metas) > 0 {
			yield(Found{}, corrupt(segment, fmt.Errorf("it has %d lines, and no line %d", at, metas[0].Line)))
		}
	}
}

func foundOf(m Meta, line []byte) (Found, error) {
	record, read, err := decodeRecord(m.Segment, line)
	if err == nil && m.UID != "" && (read.UID != m.UID || read.ResourceVersion != m.ResourceVersion) {
		err = corrupt(m.Segment, fmt.Errorf("line %d is %s with UID %s, and its metadata names UID %s", m.Line, read.Object, read.UID, m.UID))
	}
	return Found{Meta: m, Record: record}, err
}

// decodeRecord reads a line of a segment.
func decodeRecord(segment string, line []byte) (Record, Meta, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, Meta{}, corrupt(segment, err)
	}
	if r.Version < 1 || r.Version > Version {
		return r, Meta{}, fmt.Errorf("object %q has records of format version %d, and this program reads versions up to %d; use a newer version",
			segment, r.Version, Version)
	}
	h, err := readHeader(r.Object)
	if err != nil {
		return r, Meta{}, corrupt(segment, err)
	}
	m, err := metaOf(r, h)
	if err != nil {
		return r, m, corrupt(segment, err)
	}
	m.Segment, m.Bytes = segment, len(line)
	return r, m, nil
}

// Records reads all records of a segment, one at a time. Their metadata have no results. After an error it ends.
func (r *Reader) Records(ctx context.Context, segment string) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		data, err := fetch(ctx, r.Bucket, segment)
		if err != nil {
			yield(Found{}, err)
			return
		}
		at := 0
		for line, err := range lines(segment, data, r.Identities) {
			var f Found
			if err == nil {
				f.Record, f.Meta, err = decodeRecord(segment, line)
				f.Line = at
			}
			if !yield(f, err) || err != nil {
				return
			}
			at++
		}
	}
}

// Segments lists the segments that may have records of the time from since to until, in the order of time. Zero times are no limit.
func (r *Reader) Segments(ctx context.Context, since, until time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range r.Bucket.List(ctx, SegmentPrefix) {
			n, ok := parseName(SegmentPrefix, e.Name)
			early := n.at.Add(time.Second).Before(since)                  // names have no fractions of a second
			late := !until.IsZero() && n.day > dayOf(until.Add(maxDelay)) // no record waits longer for its segment
			if err == nil && (!ok || early) {
				continue
			}
			if err == nil && late {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
