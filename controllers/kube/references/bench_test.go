// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/test/memory"
)

const (
	manyPods       = 50_000
	manyConfigMaps = 10_000
)

// manyReferrers returns Pods in 100 namespaces. Each refers to three ConfigMaps: its own, one that 50 Pods share, and one that
// every Pod of its namespace mounts.
func manyReferrers() []references.Referrer {
	all := make([]references.Referrer, manyPods)
	for i := range all {
		namespace := fmt.Sprintf("team-%02d", i%100)
		target := func(name string) references.Target {
			return references.Target{Kind: configMap, Namespace: namespace, Name: name}
		}
		all[i] = references.Referrer{
			UID:  types.UID(fmt.Sprintf("6f1d7a64-3c1e-4f0b-9a55-%012x", i)),
			Name: references.Name{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("web-%d", i)},
			Targets: []references.Target{
				target(fmt.Sprintf("own-%d", i%(manyConfigMaps*9/10))), target(fmt.Sprintf("shared-%d", i/50%10)), target("kube-root-ca.crt"),
			},
		}
	}
	return all
}

// BenchmarkPut removes Pods and adds them again.
func BenchmarkPut(b *testing.B) {
	all := manyReferrers()
	x := references.New(clock.RealClock{})
	x.Expect("Pod", configMap)
	x.Replace("Pod", all)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := all[i*7919%len(all)]
		x.Remove("Pod", r.UID)
		x.Put("Pod", r)
		if i%1000 == 0 {
			x.Take()
		}
	}
}

// BenchmarkMemory measures the memory of 50,000 Pods that refer to 10,000 ConfigMaps, without the strings of their names.
func BenchmarkMemory(b *testing.B) {
	all := manyReferrers()
	for b.Loop() {
		before := memory.Heap()
		x := references.New(clock.RealClock{})
		x.Expect("Pod", configMap)
		x.Replace("Pod", all)
		b.ReportMetric(float64(memory.Heap()-before)/(1<<20), "MB")
		x.Take()
		runtime.KeepAlive(x)
	}
}

// BenchmarkOfInDoubt looks up a ConfigMap while one of 50,000 Pods cannot be read.
func BenchmarkOfInDoubt(b *testing.B) {
	all := manyReferrers()
	all[manyPods/2].Err = errUnread
	x := references.New(clock.RealClock{})
	x.Expect("Pod", configMap)
	x.Replace("Pod", all)
	b.ReportAllocs()
	for b.Loop() {
		if x.Of(all[0].Targets[0]).Doubt == nil {
			b.Fatal("Doubt is nil")
		}
	}
}

// BenchmarkPutMany switches one referrer between 10,001 targets and one.
func BenchmarkPutMany(b *testing.B) {
	few, many := manyTargets(0, 1), manyTargets(0, 10_001)
	x := references.New(clock.RealClock{})
	x.Expect("Pod", configMap)
	b.ReportAllocs()
	for b.Loop() {
		x.Put("Pod", references.Referrer{UID: "1", Targets: many})
		x.Put("Pod", references.Referrer{UID: "1", Targets: few})
		x.Take()
	}
}

func manyTargets(from, to int) (all []references.Target) {
	for i := from; i < to; i++ {
		all = append(all, references.Target{Kind: configMap, Namespace: "n", Name: fmt.Sprintf("config-%d", i)})
	}
	return all
}
