package engine

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"
)

// memo is an LRU cache with a limit in bytes. Concurrent requests for the same key compute the value only once. A value
// larger than a quarter of the limit is not cached, because it would evict many others.
type memo[V any] struct {
	most   int
	making singleflight.Group

	mu    sync.Mutex
	kept  *simplelru.LRU[string, sized[V]]
	bytes int
}

type sized[V any] struct {
	value V
	bytes int
}

func newMemo[V any](bytes int) *memo[V] {
	m := &memo[V]{most: bytes}
	m.kept, _ = simplelru.NewLRU(math.MaxInt, func(_ string, v sized[V]) { m.bytes -= v.bytes }) // returns an error only if the size is not positive
	return m
}

// get returns the value of the key. If it is not cached, get calls make, which returns the value and its size. make
// must not panic.
func (m *memo[V]) get(key string, make func() (V, int)) V {
	m.mu.Lock()
	known, ok := m.kept.Get(key)
	m.mu.Unlock()
	if ok {
		return known.value
	}
	v, _, _ := m.making.Do(key, func() (any, error) {
		v, bytes := make()
		m.keep(key, sized[V]{v, bytes})
		return v, nil
	})
	return v.(V)
}

func (m *memo[V]) keep(key string, v sized[V]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.bytes > m.most/4 {
		return
	}
	m.kept.Remove(key)
	m.kept.Add(key, v)
	for m.bytes += v.bytes; m.bytes > m.most; {
		m.kept.RemoveOldest()
	}
}
