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

	"k8s.io/apimachinery/pkg/types"
)

// Find returns the metadata of records, the newest first. Of several records of one UID and resourceVersion it returns the newest.
// It reads index objects, segments that no index object covers, and nothing else, some at the same time.
func (r *Reader) Find(ctx context.Context, q Query) (found []Meta, err error) {
	for range 5 { // an index object may be replaced between the listing and its reading
		if found, err = r.find(ctx, q); !errors.Is(err, ErrNotFound) {
			break
		}
	}
	return found, err
}

func (r *Reader) find(ctx context.Context, q Query) ([]Meta, error) {
	objects, err := r.names(ctx, IndexPrefix, q)
	if err != nil {
		return nil, err
	}
	segments, err := r.names(ctx, SegmentPrefix, q)
	if err != nil {
		return nil, err
	}
	slices.Reverse(objects) // the newest may be replaced soon
	f := q.filter()
	parts, err := inParallel(ctx, objects, func(ctx context.Context, object string) (indexPart, error) { return r.readIndex(ctx, object, q, f) })
	if err != nil {
		return nil, err
	}
	var metas []Meta
	finished, covered := map[string][]Finished{}, map[string]bool{}
	for _, part := range parts {
		for _, f := range part.finished {
			finished[f.Of] = append(finished[f.Of], f)
		}
		for _, segment := range part.segments {
			covered[segment] = true
		}
		metas = append(metas, part.metas...)
	}
	missing := func(m Meta) bool { _, is := slices.BinarySearch(segments, m.Segment); return !is }
	metas = slices.DeleteFunc(metas, missing) // the retention of the archive has deleted them
	segments = slices.DeleteFunc(segments, func(n string) bool { return covered[n] })
	read, err := inParallel(ctx, segments, func(ctx context.Context, segment string) ([]Meta, error) { return r.search(ctx, segment, q) })
	if err != nil {
		return nil, err
	}
	return join(append(metas, slices.Concat(read...)...), finished), nil
}

// names are the names of the objects that can have matching records, in their order.
func (r *Reader) names(ctx context.Context, prefix string, q Query) (all []string, err error) {
	if !q.Since.IsZero() && !q.Until.IsZero() {
		prefix += common(dayOf(q.Since), dayOf(q.Until.Add(maxDelay)))
	}
	for e, err := range r.Bucket.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		if n, ok := parseName(e.Name); ok && q.matchesDay(n.start) {
			all = append(all, e.Name)
		}
	}
	return all, nil
}

// common is the prefix that two texts of one length have in common.
func common(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// join collapses records of one UID and resourceVersion, with the results of all of them. The newest is first.
func join(metas []Meta, finished map[string][]Finished) []Meta {
	type version struct {
		uid             types.UID
		resourceVersion string
	}
	slices.SortFunc(metas, func(a, b Meta) int {
		return cmp.Or(b.ArchivedAt.Compare(a.ArchivedAt), cmp.Compare(b.Segment, a.Segment), cmp.Compare(b.Line, a.Line))
	})
	places := make(map[version]int, len(metas))
	all := metas[:0]
	for _, m := range metas {
		v := version{m.UID, m.ResourceVersion}
		i, known := places[v]
		if !known {
			i = len(all)
			places[v], all = i, append(all, m)
		}
		for _, f := range finished[m.Segment] {
			if f.has(m.Line) {
				all[i].combine(f.Result, f.At)
			}
		}
	}
	for _, f := range finished[""] {
		if i, known := places[version{f.UID, f.ResourceVersion}]; known {
			all[i].combine(f.Result, f.At)
		}
	}
	return all
}

// search returns the matching metadata of a segment that no index object covers.
func (r *Reader) search(ctx context.Context, segment string, q Query) (metas []Meta, err error) {
	for f, err := range r.Records(ctx, segment) {
		if errors.Is(err, ErrNotFound) { // the retention of the archive has deleted it
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if q.matches(f.Meta) {
			metas = append(metas, f.Meta)
		}
	}
	return metas, nil
}

// indexPart is the content of one index object.
type indexPart struct {
	segments []string // that it covers
	metas    []Meta   // that match
	finished []Finished
}

// readIndex reads an index object. It decodes only lines that may match.
func (r *Reader) readIndex(ctx context.Context, object string, q Query, f filter) (part indexPart, err error) {
	segment := ""
	for line, err := range r.lines(ctx, object) {
		if err != nil {
			return part, err
		}
		if bytes.HasPrefix(line, []byte(`{"result":"`)) {
			var f Finished
			if err := json.Unmarshal(line, &f); err != nil {
				return part, corrupt(object, err)
			}
			part.finished = append(part.finished, f)
			continue
		}
		rest, _ := bytes.CutPrefix(line, []byte(`{"segment":"`))
		if name, _, _ := bytes.Cut(rest, []byte(`"`)); string(name) != segment {
			segment = string(name)
			if n, ok := parseName(segment); !ok || n.prefix != SegmentPrefix {
				return part, corrupt(object, fmt.Errorf("a line begins neither with a segment nor with a result: %.60q", line))
			}
			part.segments = append(part.segments, segment)
		}
		if !f.passes(line) {
			continue
		}
		var m Meta
		if err := json.Unmarshal(line, &m); err != nil {
			return part, corrupt(object, err)
		}
		if m.Segment = segment; q.matches(m) { // one string for all
			part.metas = append(part.metas, m)
		}
	}
	return part, nil
}
