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

	"k8s.io/apimachinery/pkg/types"
)

// Find returns the metadata of records, the newest first. Of several records of one UID and resourceVersion it returns the newest.
// It reads index objects, segments that no index object covers, and nothing else, some at the same time.
func (r *Reader) Find(ctx context.Context, q Query) ([]Meta, error) {
	x, err := r.readAll(ctx, q, q.adder())
	if err != nil {
		return nil, err
	}
	metas, err := r.search(ctx, x.uncovered, q)
	if err != nil {
		return nil, err
	}
	for _, part := range x.parts {
		metas = append(metas, part.metas...)
	}
	missing := func(m Meta) bool { return x.from[m.Segment] == "" }
	return join(slices.DeleteFunc(metas, missing), x.finished), nil
}

// index is what readAll has read: all index objects that can match.
type index struct {
	objects   []string // in the order of parts
	parts     []indexPart
	uncovered []string              // segments that no object covers
	from      map[string]string     // by segment: an object that covers it, or itself; none if the segment no longer exists
	finished  map[string][]Finished // by segment; those of versions at ""
}

// readAll reads all index objects that can have matching records.
func (r *Reader) readAll(ctx context.Context, q Query, add adder) (x index, err error) {
	missed := map[string]bool{}
	for range 5 { // an index object may be replaced between the listing and its reading
		if x, err = r.readObjects(ctx, q, add, missed); !errors.Is(err, ErrNotFound) {
			break
		}
	}
	if err != nil {
		return x, err
	}
	segments, err := r.names(ctx, SegmentPrefix, q) // after the index, because listing many takes longer than an index object lives
	if err != nil {
		return x, err
	}
	covers := map[string]string{}
	x.from, x.finished = map[string]string{}, map[string][]Finished{}
	for i, part := range x.parts {
		for _, f := range part.finished {
			x.finished[f.Of] = append(x.finished[f.Of], f)
		}
		for _, segment := range part.segments {
			covers[segment] = x.objects[i]
		}
	}
	for _, segment := range segments {
		if x.from[segment] = cmp.Or(covers[segment], segment); covers[segment] == "" {
			x.uncovered = append(x.uncovered, segment)
		}
	}
	return x, nil
}

// readObjects lists and reads index objects. missed are those that did not exist although they were listed before: if one is listed again,
// the store cannot give what it lists.
func (r *Reader) readObjects(ctx context.Context, q Query, add adder, missed map[string]bool) (x index, err error) {
	if !q.Until.IsZero() {
		q.Until = q.Until.Add(maxDoubt)
	}
	if x.objects, err = r.names(ctx, IndexPrefix, q); err != nil {
		return x, err
	}
	slices.Reverse(x.objects) // the newest may be replaced soon
	var mu sync.Mutex
	x.parts, err = inParallel(ctx, x.objects, func(ctx context.Context, object string) (indexPart, error) {
		part, err := r.readIndex(ctx, object, add)
		if errors.Is(err, ErrNotFound) {
			mu.Lock()
			defer mu.Unlock()
			if !missed[object] {
				missed[object] = true
				return part, err
			}
			err = corrupt(object, errListedOnly)
		}
		if err != nil {
			return indexPart{}, r.skip(object, err)
		}
		return part, nil
	})
	return x, err
}

// errListedOnly is a fault of a store.
var errListedOnly = errors.New("the store lists it, and says that it does not exist")

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

// version is one version of an object.
type version struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// CompareNewest orders records by time, the newest first.
func CompareNewest(a, b Meta) int {
	return cmp.Or(b.ArchivedAt.Compare(a.ArchivedAt), cmp.Compare(b.Segment, a.Segment), cmp.Compare(b.Line, a.Line))
}

// join collapses records of one UID and resourceVersion, with the results of all of them. The newest is first.
func join(metas []Meta, finished map[string][]Finished) []Meta {
	slices.SortFunc(metas, CompareNewest)
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

// search returns the matching metadata of segments that no index object covers.
func (r *Reader) search(ctx context.Context, segments []string, q Query) ([]Meta, error) {
	all, err := inParallel(ctx, segments, func(ctx context.Context, segment string) (metas []Meta, err error) {
		for f, err := range r.Records(ctx, segment) {
			if errors.Is(err, ErrNotFound) { // the retention of the archive has deleted it
				return nil, nil
			}
			if err != nil {
				return metas, r.skip(segment, err)
			}
			if q.matches(f.Meta) {
				metas = append(metas, f.Meta)
			}
		}
		return metas, nil
	})
	return slices.Concat(all...), err
}

// indexPart is the content of one index object.
type indexPart struct {
	segments []string // that it covers
	finished []Finished
	metas    []Meta              // that an adder has added
	hashes   map[string][]uint64 // of versions, by segment, that an adder has added
}

// adder adds to a part what a search needs of the metadata in line. segment is the segment of that record.
type adder func(part *indexPart, segment string, line []byte) error

// adder returns one that adds the metadata that match. It decodes only lines that may match.
func (q Query) adder() adder {
	f := q.filter()
	return func(part *indexPart, segment string, line []byte) error {
		if !f.passes(line) {
			return nil
		}
		var m Meta
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.Segment = segment; q.matches(m) { // one string for all
			part.metas = append(part.metas, m)
		}
		return nil
	}
}

// readIndex reads an index object.
func (r *Reader) readIndex(ctx context.Context, object string, add adder) (part indexPart, err error) {
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
		if err := add(&part, segment, line); err != nil {
			return part, corrupt(object, err)
		}
	}
	return part, nil
}
