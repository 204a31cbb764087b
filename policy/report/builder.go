// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// MaxReports is the maximum number of reports.
	MaxReports = 1000
	// MaxResults is the maximum number of results about objects in a report.
	MaxResults = 50
	// Ahead is the period whose deletions a report forecasts.
	Ahead = policy.Day
)

// Key identifies a report.
type Key struct {
	Policy    types.UID
	Namespace string // of a Report; empty for a ClusterReport, which is about cluster-scoped objects
}

const prefix = "sunset-"

// KeyOf returns the key of a report with this name; false if reports have no such name.
func KeyOf(namespace, name string) (Key, bool) {
	uid, ok := strings.CutPrefix(name, prefix)
	return Key{types.UID(uid), namespace}, ok
}

// Name is the name of the report.
func (k Key) Name() string { return prefix + string(k.Policy) }

// Kind is the kind of the report.
func (k Key) Kind() schema.GroupVersionKind {
	if k.Namespace == "" {
		return ClusterReports
	}
	return Reports
}

// Compare orders by namespace, then by policy.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(k.Namespace, o.Namespace), strings.Compare(string(k.Policy), string(o.Policy)))
}

// Builder collects the content of reports. Create it with NewBuilder.
type Builder struct {
	now      time.Time
	existing map[Key]bool
	room     int // number of further reports
	reports  map[Key]*contents

	// Omitted counts forecasts that are in no report, because there are already MaxReports.
	Omitted int
}

// contents is the content of one report.
type contents struct {
	findings []*finding // at most MaxResults, in order
	counts   map[openreports.Result]int
	deleted  int64
}

// finding is a result about an object.
type finding struct {
	result   openreports.Result
	kind     schema.GroupVersionKind
	subject  policy.Subject
	forecast policy.PolicyForecast
	obstacle string // why an attempt to delete it failed
}

// NewBuilder returns a Builder. Reports that exist have a place among MaxReports, so that the choice does not change each time.
func NewBuilder(now time.Time, existing []Key) *Builder {
	b := &Builder{now: now, existing: map[Key]bool{}, room: MaxReports - len(existing), reports: map[Key]*contents{}}
	for _, k := range existing {
		b.existing[k] = true
	}
	return b
}

// Add adds an object. obstacle is why attempts to delete it have failed, empty if none has.
func (b *Builder) Add(kind schema.GroupVersionKind, s policy.Subject, evaluations []policy.Evaluation, obstacle string) {
	for f := range policy.Forecasts(s, evaluations, b.now) {
		if f.Due.After(b.now.Add(Ahead)) {
			continue
		}
		if c := b.contents(Key{f.Rule.PolicyUID, s.Namespace}); c != nil {
			c.add(&finding{resultOf(&f, obstacle), kind, s, f, obstacle})
		} else {
			b.Omitted++
		}
	}
}

// AddDeleted sets how many objects a policy has deleted in a namespace.
func (b *Builder) AddDeleted(k Key, n int64) {
	if n == 0 {
		return
	}
	if c := b.contents(k); c != nil {
		c.deleted = n
	}
}

// Keys returns the reports that have content, in order.
func (b *Builder) Keys() []Key { return slices.SortedFunc(maps.Keys(b.reports), Key.Compare) }

// contents returns the content of a report; nil if there are already MaxReports.
func (b *Builder) contents(k Key) *contents {
	c := b.reports[k]
	switch {
	case c != nil:
		return c
	case b.existing[k]:
	case b.room <= 0:
		return nil
	default:
		b.room--
	}
	c = &contents{counts: map[openreports.Result]int{}}
	b.reports[k] = c
	return c
}

// add adds a finding, unless MaxResults others come first.
func (c *contents) add(f *finding) {
	c.counts[f.result]++
	at, _ := slices.BinarySearchFunc(c.findings, f, (*finding).compare)
	if at == MaxResults {
		return
	}
	c.findings = slices.Insert(c.findings, at, f)
	if len(c.findings) > MaxResults {
		c.findings[MaxResults] = nil
		c.findings = c.findings[:MaxResults]
	}
}

// order has the results in the order in which a report lists them.
var order = []openreports.Result{fail, failedToDecide, warn, skip}

const (
	fail           openreports.Result = "fail"
	failedToDecide openreports.Result = "error"
	warn           openreports.Result = "warn"
	skip           openreports.Result = "skip"
	pass           openreports.Result = "pass"
)

func resultOf(f *policy.PolicyForecast, obstacle string) openreports.Result {
	switch {
	case f.Failed():
		return failedToDecide
	case f.Action == policy.Keep:
		return skip
	case f.Action == policy.Delete && f.Rule.Mode == v1alpha1.Enforce && obstacle != "":
		return fail
	default:
		return warn
	}
}

// compare orders by result, due time, kind, name and UID.
func (f *finding) compare(o *finding) int {
	return cmp.Or(cmp.Compare(slices.Index(order, f.result), slices.Index(order, o.result)), f.forecast.Due.Compare(o.forecast.Due),
		strings.Compare(f.kind.Kind, o.kind.Kind), strings.Compare(f.subject.Name, o.subject.Name), strings.Compare(string(f.subject.UID), string(o.subject.UID)))
}
