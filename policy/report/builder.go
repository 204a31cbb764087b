// SPDX-License-Identifier: Apache-2.0

// Package report writes what policies forecast as Reports and ClusterReports of OpenReports: https://github.com/openreports.
//
// It promises:
//
//   - There is one report for each policy and namespace. It has nothing about other namespaces, and no content of objects.
//   - The number of reports and the number of results in each are bounded.
//   - The same forecasts give the same report, so that a report that has not changed need not be written.
//
// The fields are as Policy Reporter expects them: one object in each result, no scope, which would hide the objects, and a summary
// that counts the results.
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
)

// Key identifies a report.
type Key struct {
	Policy    types.UID
	Namespace string // of a Report; empty for a ClusterReport, which is about cluster-scoped objects
}

const prefix = "sunset-"

// KeyOf returns the key of a report; false if no report of Sunset has that name.
func KeyOf(namespace, name string) (Key, bool) {
	uid, ok := strings.CutPrefix(name, prefix)
	return Key{types.UID(uid), namespace}, ok
}

// Name is the name of the report.
func (k Key) Name() string { return prefix + string(k.Policy) }

// Builder collects the content of reports. Create it with NewBuilder.
type Builder struct {
	now     time.Time
	reports map[Key]*contents // nil for a report that exists and has no content yet
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
	obstacle string // why attempts to delete the object fail
}

// NewBuilder returns a Builder. The reports of policies that exist have a place among MaxReports, so that the choice does not change each
// time.
func NewBuilder(now time.Time, existing []Key) *Builder {
	b := &Builder{now: now, reports: map[Key]*contents{}}
	for _, k := range existing {
		b.reports[k] = nil
	}
	return b
}

// Keys returns the reports that have content.
func (b *Builder) Keys() []Key {
	return slices.DeleteFunc(slices.Collect(maps.Keys(b.reports)), func(k Key) bool { return b.reports[k] == nil })
}

// Add adds an object. obstacle is why attempts to delete it fail; empty if they do not.
func (b *Builder) Add(kind schema.GroupVersionKind, s policy.Subject, evaluations []policy.Evaluation, obstacle string) {
	for f := range policy.Forecasts(s, evaluations, b.now) {
		if f.Due.After(b.now.Add(policy.Day)) {
			continue
		}
		if c := b.contents(Key{f.Rule.PolicyUID, s.Namespace}); c != nil {
			c.add(&finding{resultOf(&f, obstacle), kind, s, f, obstacle})
		}
	}
}

// SetDeleted sets how many objects a policy has deleted in a namespace.
func (b *Builder) SetDeleted(k Key, n int64) {
	if c := b.contents(k); c != nil {
		c.deleted = n
	}
}

// contents returns the content of a report; nil if there are already MaxReports others.
func (b *Builder) contents(k Key) *contents {
	c, exists := b.reports[k]
	if c == nil && (exists || len(b.reports) < MaxReports) {
		c = &contents{counts: map[openreports.Result]int{}}
		b.reports[k] = c
	}
	return c
}

// add adds a finding, unless MaxResults others come first.
func (c *contents) add(f *finding) {
	c.counts[f.result]++
	at, _ := slices.BinarySearchFunc(c.findings, f, (*finding).compare)
	c.findings = slices.Insert(c.findings, at, f)
	c.findings = slices.Delete(c.findings, min(len(c.findings), MaxResults), len(c.findings))
}

const (
	fail        openreports.Result = "fail"
	resultError openreports.Result = "error"
	warn        openreports.Result = "warn"
	skip        openreports.Result = "skip"
	pass        openreports.Result = "pass"
)

// order has the results about objects in their order in a report.
var order = []openreports.Result{fail, resultError, warn, skip}

func resultOf(f *policy.PolicyForecast, obstacle string) openreports.Result {
	switch {
	case f.Failed():
		return resultError
	case f.Action == policy.Keep:
		return skip
	case f.Action == policy.Delete && f.Rule.Mode == v1alpha1.Enforce && obstacle != "":
		return fail
	default:
		return warn
	}
}

func (f *finding) compare(o *finding) int {
	return cmp.Or(cmp.Compare(slices.Index(order, f.result), slices.Index(order, o.result)), f.forecast.Due.Compare(o.forecast.Due),
		strings.Compare(f.kind.Kind, o.kind.Kind), strings.Compare(f.subject.Name, o.subject.Name), strings.Compare(string(f.subject.UID), string(o.subject.UID)))
}
