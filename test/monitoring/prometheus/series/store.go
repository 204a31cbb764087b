// SPDX-License-Identifier: Apache-2.0

// Package series keeps series in memory for queries by Prometheus's own engine.
package series

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// Begin is the time of the first value of each series.
var Begin = time.Unix(0, 0)

// Store holds a few series. It implements storage.Queryable.
type Store []promql.Series

// Load reads series in the notation of promtool, one per line, with a value at each interval. Lines that begin with # are
// comments.
func Load(text string, every time.Duration) (Store, error) {
	var s Store
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		metric, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		one := promql.Series{Metric: metric}
		for i, v := range values {
			if !v.Omitted {
				one.Floats = append(one.Floats, promql.FPoint{T: Begin.Add(time.Duration(i) * every).UnixMilli(), F: v.Value})
			}
		}
		s = append(s, one)
	}
	return s, nil
}

// Querier implements storage.Queryable.
func (s Store) Querier(from, to int64) (storage.Querier, error) {
	return querier{nil, s, from, to}, nil
}

// querier selects the series of a Store in a time range.
type querier struct {
	storage.LabelQuerier // never called
	store                Store
	from, to             int64
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, by ...*labels.Matcher) storage.SeriesSet {
	found := &set{}
	for _, s := range q.store {
		if !matches(s.Metric, by) {
			continue
		}
		within := promql.Series{Metric: s.Metric}
		for _, p := range s.Floats {
			if q.from <= p.T && p.T <= q.to {
				within.Floats = append(within.Floats, p)
			}
		}
		found.series = append(found.series, within)
	}
	return found
}

func matches(metric labels.Labels, by []*labels.Matcher) bool {
	for _, m := range by {
		if !m.Matches(metric.Get(m.Name)) {
			return false
		}
	}
	return true
}

// set iterates over series. It implements storage.SeriesSet.
type set struct {
	series []promql.Series
	next   int
}

// Next implements storage.SeriesSet.
func (s *set) Next() bool {
	s.next++
	return s.next <= len(s.series)
}

// At implements storage.SeriesSet.
func (s *set) At() storage.Series { return promql.NewStorageSeries(s.series[s.next-1]) }

// Err implements storage.SeriesSet.
func (s *set) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (s *set) Warnings() annotations.Annotations { return nil }
