// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/memory"
)

const manyObjects = 10_000

// discard is a sink that keeps nothing.
type discard struct{ retention.Sink }

func (discard) Replace([]*index.FactRow) {}
func (discard) Apply(*index.FactRow)     {}

// indexed is a sink that keeps rows, as the reconciler does.
type indexed struct {
	discard
	into    *index.Index
	listing index.Listing
}

func indexedFor(q retention.RuleSet) indexed {
	return indexed{into: index.New(q.Kind.GroupKind(), func() {}), listing: index.Listing{ID: 1, Kind: q.Kind, Layout: q.Everywhere.Layout}}
}

func (s indexed) Replace(rows []*index.FactRow) { s.into.Replace(s.listing, rows, now) }
func (s indexed) Apply(row *index.FactRow)      { s.into.Apply(s.listing.ID, row, now) }

// kept returns the memory of a source of many objects in 100 namespaces. Each has labels and was applied with kubectl.
func kept(b *testing.B, of string, expression string, sink func(retention.RuleSet) retention.Sink) (*kube.Reevaluator, *references.Index) {
	b.Helper()
	compiler, kind := fixture.Compiler(b), fixture.ConfigMaps
	kind.Kind = of
	q := retention.NewRuleSet(kind, []*engine.Program{compile(b, compiler, kind, eligible(expression))}, nil)
	x := references.New(clock.RealClock{})
	x.Expect("Pod", references.Kind(of))
	x.Replace("Pod", nil)
	m := kube.NewReevaluator(b.Context(), q, x, compiler, sink(q))
	all := make([]string, manyObjects)
	for i := range all {
		all[i] = fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":"settings-of-web-%d-8f7c5d9b4","namespace":"team-%02d",
			"uid":"6f1d7a64-3c1e-4f0b-9a55-%012x","resourceVersion":"%d","creationTimestamp":"2026-03-01T12:00:00Z",
			"labels":{"app.kubernetes.io/name":"web-%d","app.kubernetes.io/managed-by":"Helm"},
			"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"data":{"mode":"fast","rest":"%01000d"}}`,
			of, i, i%100, i, 100_000+i, i, i)
	}
	expect.NoError(b, m.Replace(all))
	return m, x
}

func discarded(retention.RuleSet) retention.Sink { return discard{} }

func inAnIndex(q retention.RuleSet) retention.Sink { return indexedFor(q) }

// BenchmarkDoubt measures the begin and end of doubt: each evaluates all objects again and updates the index.
func BenchmarkDoubt(b *testing.B) {
	m, x := kept(b, "ConfigMap", unused, inAnIndex)
	b.ReportAllocs()
	for b.Loop() {
		x.Lose("Pod", errLost)
		m.ReevaluateAll(b.Context())
		x.Replace("Pod", nil)
		m.ReevaluateAll(b.Context())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/manyObjects/2, "ns/object")
}

// BenchmarkReferenceChanges evaluates one object again and updates the index.
func BenchmarkReferenceChanges(b *testing.B) {
	for name, expression := range map[string]string{"count": unused, "by": "references.by.all(r, r.kind == 'ReplicaSet')", "data": unused + " && object.data.mode == 'fast'"} {
		b.Run(name, func(b *testing.B) {
			m, x := kept(b, "ConfigMap", expression, inAnIndex)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n := i * 7919 % manyObjects
				name := types.NamespacedName{Namespace: fmt.Sprintf("team-%02d", n%100), Name: fmt.Sprintf("settings-of-web-%d-8f7c5d9b4", n)}
				x.Put("Pod", references.Referrer{UID: "1", Targets: []references.Target{{Kind: references.ConfigMap, Namespace: name.Namespace, Name: name.Name}}})
				m.Ask(name)
			}
		})
	}
}

// BenchmarkKept measures the memory for each object, without its row in the index.
func BenchmarkKept(b *testing.B) {
	for name, test := range map[string]struct{ of, expression string }{
		"ConfigMaps":                             {"ConfigMap", unused},
		"ConfigMaps with a rule that reads data": {"ConfigMap", unused + " && object.data.mode == 'fast'"},
		"Secrets":                                {"Secret", unused},
		"Secrets with a rule that reads labels":  {"Secret", unused + " && object.metadata.labels['app.kubernetes.io/managed-by'] != 'Helm'"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := memory.Heap()
				m, _ := kept(b, test.of, test.expression, discarded)
				b.ReportMetric(float64(memory.Heap()-before)/manyObjects, "B/object")
				runtime.KeepAlive(m)
			}
		})
	}
}
