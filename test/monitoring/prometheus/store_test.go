package prometheus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// begin is when the first value of each series was scraped, and how often values follow.
var begin = time.Unix(0, 0)

// store holds a few series. It implements storage.Queryable.
type store []promql.Series

// load reads series as promtool writes them, one a line, a value a minute.
func load(t *testing.T, text string) store {
	t.Helper()
	var s store
	for line := range strings.Lines(text) {
		metric, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		one := promql.Series{Metric: metric}
		for i, v := range values {
			if !v.Omitted {
				one.Floats = append(one.Floats, promql.FPoint{T: begin.Add(time.Duration(i) * time.Minute).UnixMilli(), F: v.Value})
			}
		}
		s = append(s, one)
	}
	return s
}

// Querier implements storage.Queryable.
func (s store) Querier(from, to int64) (storage.Querier, error) {
	return querier{nil, s, from, to}, nil
}

// querier selects from a store what was scraped in a time.
type querier struct {
	storage.LabelQuerier // nobody asks
	store                store
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

// set goes through series. It implements storage.SeriesSet.
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

// TestSeriesMayEnd: what has gone stale is there no more.
func TestSeriesMayEnd(t *testing.T) {
	s := load(t, "a 1x2 stale\nb _ 2")
	if len(s) != 2 || len(s[0].Floats) != 4 || !value.IsStaleNaN(s[0].Floats[3].F) || len(s[1].Floats) != 1 {
		t.Errorf("read as %v", s)
	}
}
