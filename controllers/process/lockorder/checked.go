// SPDX-License-Identifier: Apache-2.0

//go:build lockorder

package lockorder

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Mutex is a sync.Mutex with a rank in the order. Lock panics if the goroutine holds a lock of the same or a later rank.
type Mutex[R comparable] struct{ mutex sync.Mutex }

// Lock implements sync.Locker.
func (m *Mutex[R]) Lock() {
	var r R
	begin(r)
	m.mutex.Lock()
}

// Unlock implements sync.Locker.
func (m *Mutex[R]) Unlock() {
	var r R
	m.mutex.Unlock()
	end(r)
}

// RWMutex is a sync.RWMutex with a rank in the order. Lock and RLock panic like the Lock of a Mutex.
type RWMutex[R comparable] struct{ mutex sync.RWMutex }

// Lock implements sync.Locker.
func (m *RWMutex[R]) Lock() {
	var r R
	begin(r)
	m.mutex.Lock()
}

// Unlock implements sync.Locker.
func (m *RWMutex[R]) Unlock() {
	var r R
	m.mutex.Unlock()
	end(r)
}

// RLock locks for reading.
func (m *RWMutex[R]) RLock() {
	var r R
	begin(r)
	m.mutex.RLock()
}

// RUnlock undoes one RLock.
func (m *RWMutex[R]) RUnlock() {
	var r R
	m.mutex.RUnlock()
	end(r)
}

var order = []any{
	Reading{}, Publishing{}, Reporter{}, Ledgers{}, Ledger{}, Reevaluator{}, Referrers{}, References{}, Retention{}, Index{}, Freshness{}, Policies{},
}

var (
	mu   sync.Mutex
	held = map[string][]any{} // by goroutine
)

func begin(r any) {
	mu.Lock()
	defer mu.Unlock()
	id := goroutine()
	for _, other := range held[id] {
		if slices.Index(order, other) >= slices.Index(order, r) {
			panic(fmt.Sprintf("lock order: %T is locked while %T is held", r, other))
		}
	}
	held[id] = append(held[id], r)
}

func end(r any) {
	mu.Lock()
	defer mu.Unlock()
	id := goroutine()
	held[id] = slices.DeleteFunc(held[id], func(o any) bool { return o == r })
	if len(held[id]) == 0 {
		delete(held, id)
	}
}

// goroutine returns the number of the goroutine, from "goroutine 7 [running]:".
func goroutine() string {
	stack := make([]byte, 64)
	stack = stack[:runtime.Stack(stack, false)]
	return string(bytes.Fields(stack)[1])
}
