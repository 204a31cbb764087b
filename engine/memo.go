package engine

import (
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// memo remembers the values last used, and makes each only once however many ask for it at the same time.
type memo[V any] struct {
	kept   *lru.Cache[string, V]
	making singleflight.Group
}

func newMemo[V any](size int) (*memo[V], error) {
	kept, err := lru.New[string, V](size)
	if err != nil {
		return nil, err
	}
	return &memo[V]{kept: kept}, nil
}

// get returns the value of the key, which it makes if it does not remember it. make must not panic.
func (m *memo[V]) get(key string, make func() V) V {
	if v, ok := m.kept.Get(key); ok {
		return v
	}
	v, _, _ := m.making.Do(key, func() (any, error) {
		v := make()
		m.kept.Add(key, v)
		return v, nil
	})
	return v.(V)
}
