// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// search reads the days of a Find.
type search struct {
	reader *Reader
	query  Query
	filter filter
	reads  chan struct{} // one element for each object that is read at the moment
}

// dayFound is what a search found in the objects of one day.
type dayFound struct {
	metas    []Meta // that match, in any order, with duplicates
	outcomes outcomes
	err      error
}

// load reads the index objects of a day, and the segments that they do not cover. An index object may be replaced in the meantime:
// then load reads the list again.
func (s *search) load(ctx context.Context, day string) *dayFound {
	var d *dayFound
	for range 5 {
		d = &dayFound{}
		if d.err = s.read(ctx, day, d); !errors.Is(d.err, ErrNotFound) {
			break
		}
	}
	return d
}

func (s *search) read(ctx context.Context, day string, d *dayFound) error {
	index, err := s.reader.names(ctx, IndexPrefix, day)
	if err != nil {
		return err
	}
	var segments []string
	if until := s.query.Until; until.IsZero() || day <= dayOf(until.Add(maxDelay)) {
		if segments, err = s.reader.names(ctx, SegmentPrefix, day); err != nil {
			return err
		}
	}
	covered, err := s.readIndex(ctx, index, d)
	if err != nil {
		return err
	}
	missing := func(m Meta) bool { _, is := slices.BinarySearch(segments, m.Segment); return !is }
	d.metas = slices.DeleteFunc(d.metas, missing) // the retention of the archive has deleted them
	return s.readSegments(ctx, slices.DeleteFunc(segments, func(n string) bool { return covered[n] }), d)
}

// names are the names of the objects of a day, in their order.
func (r *Reader) names(ctx context.Context, prefix, day string) ([]string, error) {
	var names []string
	for e, err := range r.Bucket.List(ctx, prefix+day) {
		if err != nil {
			return nil, err
		}
		if _, ok := parseName(prefix, e.Name); ok {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// readIndex reads index objects in parallel, and returns the segments that they cover.
func (s *search) readIndex(ctx context.Context, names []string, d *dayFound) (map[string]bool, error) {
	var mu sync.Mutex
	covered := map[string]bool{}
	err := s.reader.fetchAll(ctx, s.reads, names, func(object string, data []byte, err error) error {
		if err != nil {
			return err
		}
		part, err := s.scan(object, data)
		mu.Lock()
		defer mu.Unlock()
		for _, segment := range part.segments {
			covered[segment] = true
		}
		for _, f := range part.finished {
			d.outcomes.add(f)
		}
		d.metas = append(d.metas, part.metas...)
		return err
	})
	return covered, err
}

// readSegments reads segments that no index object covers. It ignores those that the retention of the archive deletes meanwhile.
func (s *search) readSegments(ctx context.Context, names []string, d *dayFound) error {
	var mu sync.Mutex
	return s.reader.fetchAll(ctx, s.reads, names, func(segment string, data []byte, err error) error {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		metas, err := s.reader.metasOf(segment, data)
		mu.Lock()
		defer mu.Unlock()
		for _, m := range metas {
			if s.query.matches(m) {
				d.metas = append(d.metas, m)
			}
		}
		return err
	})
}

// metasOf are the metadata of the records of a segment.
func (r *Reader) metasOf(segment string, data []byte) (metas []Meta, err error) {
	for line, err := range lines(segment, data, r.Identities) {
		if err != nil {
			return metas, err
		}
		_, m, err := decodeRecord(segment, line)
		if err != nil {
			return metas, err
		}
		m.Line = len(metas)
		metas = append(metas, m)
	}
	return metas, nil
}

// fetchAll reads objects in parallel, as many as fit into reads, and calls do with the content of each, or the error. It ends with
// the first error of do.
func (r *Reader) fetchAll(ctx context.Context, reads chan struct{}, names []string, do func(object string, data []byte, err error) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, object := range names {
		reads <- struct{}{}
		g.Go(func() error {
			defer func() { <-reads }()
			data, err := fetch(ctx, r.Bucket, object)
			return do(object, data, err)
		})
	}
	return g.Wait()
}

// indexPart is the content of one index object.
type indexPart struct {
	segments []string // that it covers
	metas    []Meta   // that match
	finished []Finished
}

var (
	metaStart     = []byte(`{"segment":"`)
	finishedStart = []byte(`{"result":"`)
)

// scan reads an index object. It decodes only lines that may match.
func (s *search) scan(object string, data []byte) (part indexPart, err error) {
	var start []byte // of lines of the same segment as the line before
	for line, err := range lines(object, data, s.reader.Identities) {
		if err != nil {
			return part, err
		}
		if bytes.HasPrefix(line, finishedStart) {
			var f Finished
			if err := json.Unmarshal(line, &f); err != nil {
				return part, corrupt(object, err)
			}
			part.finished = append(part.finished, f)
			continue
		}
		if start == nil || !bytes.HasPrefix(line, start) {
			segment, err := segmentOf(object, line)
			if err != nil {
				return part, err
			}
			part.segments = append(part.segments, segment)
			start = slices.Concat(metaStart, []byte(segment), []byte(`"`))
		}
		if !s.filter.passes(line) {
			continue
		}
		m, err := decodeMeta(object, line)
		if err != nil {
			return part, err
		}
		if s.query.matches(m) {
			m.Segment = part.segments[len(part.segments)-1] // shared
			part.metas = append(part.metas, m)
		}
	}
	return part, nil
}

// segmentOf is the segment of a line of metadata.
func segmentOf(object string, line []byte) (string, error) {
	rest, ok := bytes.CutPrefix(line, metaStart)
	segment, _, ended := bytes.Cut(rest, []byte(`"`))
	if n, isName := parseName(SegmentPrefix, string(segment)); ok && ended && isName && IndexPrefix+n.day == object[:len(IndexPrefix+n.day)] {
		return string(segment), nil
	}
	return "", corrupt(object, fmt.Errorf("a line begins neither with a segment of that day nor with a result: %.60q", line))
}

func decodeMeta(object string, line []byte) (m Meta, err error) {
	if err := json.Unmarshal(line, &m); err != nil {
		return m, corrupt(object, err)
	}
	if m.Line < 0 || m.Line >= MaxRecords {
		return m, corrupt(object, fmt.Errorf("line %d of segment %q is not possible", m.Line, m.Segment))
	}
	return m, nil
}

// newestFirst is a definite order.
func newestFirst(a, b Meta) int {
	return cmp.Or(b.ArchivedAt.Compare(a.ArchivedAt), cmp.Compare(b.Segment, a.Segment), cmp.Compare(b.Line, a.Line))
}
