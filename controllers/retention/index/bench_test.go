// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const many = 100_000

// manyRows are the rows of a cluster with 100 busy namespaces. Strings are separate allocations, as decoders make them.
func manyRows() []*index.FactRow { return manySizedRows(0) }

// manySizedRows are the same, for objects of many sizes; 0 for unknown sizes.
func manySizedRows(bytes int64) []*index.FactRow {
	rows := make([]*index.FactRow, many)
	for i := range rows {
		finished := now.Add(time.Duration(i%86_400) * time.Second)
		facts := policy.Facts{Selected: true, Eligible: true, Start: finished, Size: policy.Size{Bytes: bytes * int64(i)}}
		if bytes > 0 {
			facts.Size.Class = fmt.Sprintf("class-%d", i%10)
		}
		subject := policy.Subject{
			Namespace:       fmt.Sprintf("team-%02d", i%100),
			Name:            fmt.Sprintf("nightly-import-%05d-x7k2p", i),
			UID:             types.UID(fmt.Sprintf("6f1d7a64-3c1e-4f0b-9a55-%012x", i)),
			ResourceVersion: fmt.Sprint(10_000_000 + i),
			Created:         finished.Add(-time.Minute),
		}
		rows[i] = index.NewFactRow(subject, columns["a b"], facts, facts)
	}
	return rows
}

func manyNamespaces() map[string]policy.Namespace {
	known := map[string]policy.Namespace{}
	for i := range 100 {
		known[fmt.Sprintf("team-%02d", i)] = policy.Namespace{Labels: labels.Set{"tier": "ci"}}
	}
	return known
}

func snapshotOfTwo(first time.Duration, options ...func(*policy.Rule)) *policy.Snapshot {
	return policy.NewSnapshot([]*policy.Policy{policyOf(fixture.Rule("a", append(options, fixture.TTL(first))...), ""), policyOf(fixture.Rule("b"), "")}, manyNamespaces(), policy.DefaultProtection())
}

var two = index.Listing{ID: 1, Kind: fixture.Jobs, Layout: columns["a b"]}

func fullIndex(rows []*index.FactRow) *index.Index {
	x := index.New(fixture.Jobs.GroupKind(), func() {})
	x.SetSnapshot(snapshotOfTwo(time.Hour), now)
	x.Replace(two, rows, now)
	return x
}

// BenchmarkSetSnapshotAfterATTLEdit sets both snapshots of an edit: it waits until its effect is counted, and is then in force.
func BenchmarkSetSnapshotAfterATTLEdit(b *testing.B) {
	x := fullIndex(manyRows())
	var snapshots []*policy.Snapshot
	for _, ttl := range []time.Duration{2 * time.Hour, 3 * time.Hour} {
		snapshots = append(snapshots, snapshotOfTwo(ttl, func(r *policy.Rule) { r.Unapproved = true }), snapshotOfTwo(ttl))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i += 2 {
		x.SetSnapshot(snapshots[i%4], now)
		x.SetSnapshot(snapshots[i%4+1], now)
	}
}

func BenchmarkReplace(b *testing.B) {
	rows := manyRows()
	x := fullIndex(rows)
	b.ReportAllocs()
	for b.Loop() {
		x.Replace(two, rows, now)
	}
}

func BenchmarkApply(b *testing.B) {
	x := fullIndex(manyRows())
	changes := manyRows()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := *changes[i%many]
		x.Apply(two.ID, &r, now)
	}
}

func BenchmarkScan(b *testing.B) {
	x := fullIndex(manyRows())
	for b.Loop() {
		x.Scan(func(policy.Subject, []policy.Evaluation) {})
	}
}

// BenchmarkCount counts the deletions of policies in force, and of an edit that waits until its effect is counted.
func BenchmarkCount(b *testing.B) {
	x := fullIndex(manyRows())
	for name, unapproved := range map[string]bool{"in force": false, "edit": true} {
		b.Run(name, func(b *testing.B) {
			changed := fixture.Rule("a", fixture.TTL(2*time.Hour))
			changed.Unapproved = unapproved
			snapshot := policy.NewSnapshot([]*policy.Policy{policyOf(changed, ""), policyOf(fixture.Rule("b"), "")}, manyNamespaces(), policy.DefaultProtection())
			x.SetSnapshot(snapshot, now)
			b.ReportAllocs()
			for b.Loop() {
				x.ScanAfter(policy.NewStats(now).AddAfter)
			}
		})
	}
}

// BenchmarkMemory reports the memory of a subject with two rules, including its strings.
func BenchmarkMemory(b *testing.B) {
	reportMemory(b, many, func() *index.Index { return fullIndex(manyRows()) })
	b.Run("sizes", func(b *testing.B) {
		reportMemory(b, many, func() *index.Index { return fullIndex(manySizedRows(1000)) })
	})
}

// BenchmarkMemoryOfThousandPolicies reports the memory of a subject of one of a thousand policies with selectors of their own, in a
// thousand namespaces.
func BenchmarkMemoryOfThousandPolicies(b *testing.B) {
	const policies, subjects = 1000, 12_000
	var all []*policy.Policy
	keys, namespaces := make([]string, policies), map[string]policy.Namespace{}
	for i := range policies {
		keys[i] = fmt.Sprintf("%064d", i)
		all, namespaces[fmt.Sprint("team-", i)] = append(all, policyOf(fixture.Rule(keys[i]), "")), policy.Namespace{}
	}
	snapshot, layout := policy.NewSnapshot(all, namespaces, policy.DefaultProtection()), index.NewColumns(keys...)
	full := func() *index.Index {
		rows := make([]*index.FactRow, subjects)
		for i := range rows {
			facts := func(yield func(int, policy.Facts) bool) {
				yield(i%policies, policy.Facts{Selected: true, Eligible: true, Start: now})
			}
			rows[i] = index.NewSparseFactRow(policy.Subject{
				Namespace: fmt.Sprint("team-", i/12), Name: fmt.Sprint("job-", i), UID: types.UID(fmt.Sprint("uid-", i)), ResourceVersion: "1", Created: now,
			}, layout, facts)
		}
		x := index.New(fixture.Jobs.GroupKind(), func() {})
		x.SetSnapshot(snapshot, now)
		x.Replace(index.Listing{ID: 1, Kind: fixture.Jobs, Layout: layout}, rows, now)
		return x
	}
	full() // the snapshot remembers the rules of each namespace
	reportMemory(b, subjects, full)
	x := full()
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			x.Scan(func(policy.Subject, []policy.Evaluation) {})
		}
	})
	b.Run("set snapshot", func(b *testing.B) {
		for b.Loop() {
			x.SetSnapshot(snapshot, now)
		}
	})
}

func reportMemory(b *testing.B, rows int, full func() *index.Index) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			x := full()
			b.ReportMetric(float64(heap()-before)/float64(rows), "bytes/row")
			runtime.KeepAlive(x)
		}
	})
}
