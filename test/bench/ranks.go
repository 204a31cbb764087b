// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ranks measures the cost of one object change for the index where a rule ranks its subjects, compared with a rule that
// does not rank and with ranking all objects again. Each namespace has a hundred objects.
func (l *environment) ranks(context.Context) error {
	plain := l.changes(policy.Rule{TTL: time.Hour})
	l.table.add(fmt.Sprintf("a change among %d objects, no ranking", l.size.standing), fmt.Sprintf("%.1f us", micros(plain)), "")
	for _, ranking := range []struct {
		name string
		rule policy.Rule
	}{
		{"keepNewest 20", policy.Rule{TTL: time.Hour, Keep: 20}},
		{"capacity 50, PerNamespace", policy.Rule{TTL: time.Hour, Capacity: policy.Capacity{Bounded: true, Max: 50}}},
		{"capacity of half, Fair", policy.Rule{TTL: time.Hour, Capacity: policy.Capacity{Bounded: true, Max: l.size.standing / 2, Fair: true}}},
	} {
		took := l.changes(ranking.rule)
		full := l.rerank(ranking.rule)
		l.table.add("the same with "+ranking.name, fmt.Sprintf("%.1f us", micros(took)),
			fmt.Sprintf("%.1f times no ranking; ranking all again takes %s", float64(took)/float64(plain), milliseconds(full)))
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

var ranked = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

// objectsEach is the number of objects in a namespace.
const objectsEach = 100

func (l *environment) snapshotOf(rule policy.Rule) *policy.Snapshot {
	rule.ID, rule.Kind, rule.Key, rule.Mode = policy.RuleID{Policy: "p", Rule: "r"}, ranked, "key", v1alpha1.Enforce
	namespaces := map[string]policy.Namespace{}
	for i := range l.size.standing/objectsEach + 1 {
		namespaces[namespaceOf(i)] = policy.Namespace{}
	}
	p := &policy.Policy{Name: "p", Mode: v1alpha1.Enforce, Namespaces: labels.Everything(), Rules: []*policy.Rule{&rule}}
	return policy.NewSnapshot([]*policy.Policy{p}, namespaces, policy.Protection{})
}

func namespaceOf(i int) string { return fmt.Sprintf("team-%03d", i) }

// changes is the duration of one change: an object with another start time replaces an object.
func (l *environment) changes(rule policy.Rule) time.Duration {
	now := time.Now()
	layout := index.NewColumns("key")
	row := func(i, version int) *index.FactRow {
		start := now.Add(-time.Duration(rand.N(100_000)) * time.Second)
		subject := policy.Subject{
			Namespace: namespaceOf(i / objectsEach), Name: fmt.Sprint("job-", i), UID: types.UID(fmt.Sprint("uid-", i)),
			ResourceVersion: fmt.Sprint(version), Created: start,
		}
		return index.NewFactRow(subject, layout, policy.Facts{Selected: true, Eligible: true, Start: start})
	}
	x := index.New(ranked.GroupKind(), func() {})
	x.SetSnapshot(l.snapshotOf(rule), now)
	rows := make([]*index.FactRow, l.size.standing)
	for i := range rows {
		rows[i] = row(i, 1)
	}
	x.Replace(index.Listing{ID: 1, Kind: ranked, Layout: layout}, rows, now)
	version := 1
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			version++
			x.Apply(1, row(rand.N(l.size.standing), version), now)
		}
	})
	return time.Duration(result.NsPerOp())
}

// rerank is the time that ranking all objects from scratch takes.
func (l *environment) rerank(rule policy.Rule) time.Duration {
	ranking := l.snapshotOf(rule).Ranking(ranked.GroupKind(), policy.RuleID{Policy: "p", Rule: "r"})
	members := make([]policy.Candidate, l.size.standing)
	for i := range members {
		members[i] = policy.Candidate{Namespace: namespaceOf(i / objectsEach), UID: types.UID(fmt.Sprint("uid-", i)), Start: time.Unix(rand.N[int64](100_000), 0)}
	}
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			ranking.Rank(members)
		}
	})
	return time.Duration(result.NsPerOp())
}
