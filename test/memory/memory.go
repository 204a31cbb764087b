// Package memory measures what benchmarks keep.
package memory

import "runtime"

// Heap is what is in use, in bytes, once all garbage is collected: what finalizers let go takes a second time.
func Heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
