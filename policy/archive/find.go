// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"
)

// LateResult is how long after a record its result may be written by a later process, so that Find finds it.
const LateResult = 7 * 24 * time.Hour

// maxDelay is how long a record may wait for its segment to be complete.
const maxDelay = 24 * time.Hour

// maxWalk is the longest time for which each day is listed on its own.
const maxWalk = 400 * 24 * time.Hour

// Find yields the metadata of records, the newest first. Of several records of one UID and resourceVersion it yields the newest.
// It reads index objects, segments that no index object covers, and nothing else, some in parallel, and holds the matches of a few
// days. After an error it ends.
func (r *Reader) Find(ctx context.Context, q Query) iter.Seq2[Meta, error] {
	return func(yield func(Meta, error) bool) {
		days, err := r.days(ctx, q.Since, q.Until)
		if err != nil {
			yield(Meta{}, err)
			return
		}
		s := &search{reader: r, query: q, filter: q.filter(), reads: make(chan struct{}, parallelReads)}
		var late outcomes
		seen := map[version]struct{}{}
		for d := range ahead(ctx, slices.Values(days), s.load) {
			if d.err != nil {
				yield(Meta{}, d.err)
				return
			}
			for _, m := range d.join(&late, seen) {
				if q.matchesResult(m) && !yield(m, nil) {
					return
				}
			}
		}
		if ctx.Err() != nil {
			yield(Meta{}, ctx.Err())
		}
	}
}

// join sets the results of a day's records, and returns those that are new in seen, the newest first. late has the results of later
// days, and gets those of this one.
func (d *dayFound) join(late *outcomes, seen map[version]struct{}) []Meta {
	for v, k := range d.outcomes.versions {
		if late.versions == nil {
			late.versions = map[version]known{}
		}
		late.versions[v] = late.versions[v].combine(k)
	}
	d.outcomes.versions = late.versions
	results := map[version]known{}
	for _, m := range d.metas {
		v := version{m.UID, m.ResourceVersion}
		results[v] = results[v].combine(d.outcomes.of(m))
	}
	slices.SortFunc(d.metas, newestFirst)
	var all []Meta
	for _, m := range d.metas {
		v := version{m.UID, m.ResourceVersion}
		if _, is := seen[v]; is {
			continue
		}
		seen[v] = struct{}{}
		m.Result, m.ResultAt = results[v].result, results[v].at
		all = append(all, m)
	}
	return all
}

// days are the days to read, the latest first: those that have objects, or those of the time from since to until and of late
// results.
func (r *Reader) days(ctx context.Context, since, until time.Time) ([]string, error) {
	if until.IsZero() {
		return r.existingDays(ctx, dayOf(since), "")
	}
	first, err := r.firstDay(ctx)
	if err != nil || first == "" {
		return nil, err
	}
	begin, end := max(first, dayOf(since)), until.Add(LateResult)
	if end.Sub(startOf(begin)) > maxWalk {
		return r.existingDays(ctx, begin, dayOf(end))
	}
	var days []string
	for t := end; dayOf(t) >= begin; t = t.AddDate(0, 0, -1) {
		days = append(days, dayOf(t))
	}
	return days, nil
}

// firstDay is the day of the first segment; empty if there is none.
func (r *Reader) firstDay(ctx context.Context) (string, error) {
	for e, err := range r.Bucket.List(ctx, SegmentPrefix) {
		if n, ok := parseName(SegmentPrefix, e.Name); ok || err != nil {
			return n.day, err
		}
	}
	return "", nil
}

// existingDays are the days from begin to end that have objects. An empty end is no limit.
func (r *Reader) existingDays(ctx context.Context, begin, end string) ([]string, error) {
	days := map[string]struct{}{}
	for _, prefix := range []string{SegmentPrefix, IndexPrefix} {
		for e, err := range r.Bucket.List(ctx, prefix) {
			if err != nil {
				return nil, err
			}
			if n, ok := parseName(prefix, e.Name); ok && n.day >= begin && (end == "" || n.day <= end) {
				days[n.day] = struct{}{}
			}
		}
	}
	sorted := slices.Sorted(maps.Keys(days))
	slices.Reverse(sorted)
	return sorted, nil
}
