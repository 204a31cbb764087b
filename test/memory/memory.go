// SPDX-License-Identifier: Apache-2.0

// Package memory measures the memory that tests and benchmarks keep or allocate.
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

// Allocated returns the bytes that all goroutines allocate while a function runs.
func Allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
