// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/sunset-k8s/sunset/test/monitoring/prometheus/series"
)

// film answers queries over a whole recording.
type film struct {
	store     series.Store
	engine    *promql.Engine
	from, to  time.Time
	step      time.Duration
	variables *strings.Replacer
}

// points is the approximate number of values in a line.
const points = 90

func newFilm(store series.Store, every time.Duration) *film {
	f := &film{store: store, from: series.Begin, to: series.Begin}
	for _, s := range store {
		for _, p := range s.Floats {
			f.to = time.UnixMilli(max(p.T, f.to.UnixMilli()))
		}
	}
	f.step = max(every, f.to.Sub(f.from)/points).Round(every)
	// As in Grafana, which defines these variables.
	window := max(f.step+every, 4*every)
	f.variables = strings.NewReplacer("$__rate_interval", window.String(), "$policy", ".*", "$namespace", ".*")
	f.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e7, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{}),
		NoStepSubqueryIntervalFn: func(int64) int64 { return every.Milliseconds() },
	})
	return f
}

// line is one series of a result: a value at each step from the first on.
type line struct {
	name   string
	labels labels.Labels
	at     map[int]float64 // by step
}

func (f *film) steps() int { return int(f.to.Sub(f.from)/f.step) + 1 }

// lines returns the results of the queries of a panel, in the order of queries and names.
func (f *film) lines(p panel) (all []line, err error) {
	for _, target := range p.Targets {
		query, err := f.engine.NewRangeQuery(context.Background(), f.store, nil, f.variables.Replace(target.Expr), f.from, f.to, f.step)
		if err != nil {
			return nil, fmt.Errorf("panel %s: %w", p.Title, err)
		}
		matrix, err := query.Exec(context.Background()).Matrix()
		if err != nil {
			return nil, fmt.Errorf("panel %s: %w", p.Title, err)
		}
		var found []line
		for _, s := range matrix {
			one := line{name: named(target.LegendFormat, s.Metric), labels: s.Metric, at: map[int]float64{}}
			for _, point := range s.Floats {
				one.at[int(time.UnixMilli(point.T).Sub(f.from)/f.step)] = point.F
			}
			found = append(found, one)
		}
		query.Close()
		slices.SortStableFunc(found, func(a, b line) int { return cmp.Compare(a.name, b.name) })
		all = append(all, found...)
	}
	return all, nil
}

// last returns the newest value of a line, if it has one at the end of the film.
func (f *film) last(l line) (float64, bool) {
	v, ok := l.at[f.steps()-1]
	return v, ok
}

var label = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// named fills in a legend.
func named(legend string, metric labels.Labels) string {
	if legend == "" {
		return metric.String()
	}
	return label.ReplaceAllStringFunc(legend, func(found string) string { return metric.Get(label.FindStringSubmatch(found)[1]) })
}
