// Package memory measures the memory that benchmarks keep.
package memory

import "runtime"

// Heap returns the bytes in use after garbage collection. It collects twice because finalizers keep objects until the
// second collection.
func Heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
