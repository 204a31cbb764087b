// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"
)

// cache is an LRU cache with a limit in bytes. Concurrent requests for the same key compute the value only once. A value
// larger than a quarter of the limit is not cached, because it would evict many others.
type cache[V any] struct {
	limit    int
	inFlight singleflight.Group

	mu      sync.Mutex
	entries *simplelru.LRU[string, sized[V]]
	bytes   int
}

type sized[V any] struct {
	value V
	bytes int
}

func newCache[V any](bytes int) *cache[V] {
	c := &cache[V]{limit: bytes}
	c.entries, _ = simplelru.NewLRU(math.MaxInt, func(_ string, v sized[V]) { c.bytes -= v.bytes }) // returns an error only if the size is not positive
	return c
}

// get returns the value of the key. If it is not cached, get calls make, which returns the value and its size. make
// must not panic.
func (c *cache[V]) get(key string, make func() (V, int)) V {
	c.mu.Lock()
	known, ok := c.entries.Get(key)
	c.mu.Unlock()
	if ok {
		return known.value
	}
	v, _, _ := c.inFlight.Do(key, func() (any, error) {
		v, bytes := make()
		c.put(key, sized[V]{v, bytes})
		return v, nil
	})
	return v.(V)
}

func (c *cache[V]) put(key string, v sized[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.bytes > c.limit/4 {
		return
	}
	c.entries.Remove(key)
	c.entries.Add(key, v)
	for c.bytes += v.bytes; c.bytes > c.limit; {
		c.entries.RemoveOldest()
	}
}
