// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// turns is a fair queue: one review of a ClusterRetentionPolicy and one review of a RetentionPolicy run at a time. The waiting
// namespace whose last turn is the longest ago comes first. So a namespace without recent turns waits for at most one policy of
// another namespace. The zero value is ready to use.
type turns struct {
	mu      sync.Mutex
	running map[bool]bool // true for ClusterRetentionPolicies, false for RetentionPolicies
	waiting []*turn
	last    map[string]int // the number of the last turn of a namespace
	count   int
}

type turn struct {
	namespace string
	begins    chan struct{} // closed when the turn begins
}

// mostRemembered limits for how many namespaces the last turn is kept in memory.
const mostRemembered = 10_000

// take waits for a turn of a namespace, "" for a ClusterRetentionPolicy, until ctx ends. Call done at the end of the turn.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	own := &turn{namespace: namespace, begins: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, own)
	t.next(namespace == "")
	t.mu.Unlock()
	select {
	case <-own.begins:
		return func() { t.end(own) }, nil
	case <-ctx.Done():
		t.end(own)
		return nil, fmt.Errorf("timeout while other policies are compiled; retry later: %w", ctx.Err())
	}
}

// end ends a turn. If the turn has not begun, end removes it from the queue.
func (t *turns) end(own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, own); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return
	}
	ofCluster := own.namespace == ""
	t.running[ofCluster] = false
	t.next(ofCluster)
}

// next begins the next turn, unless one is running.
func (t *turns) next(ofCluster bool) {
	if t.running[ofCluster] {
		return
	}
	first := -1
	for i, w := range t.waiting {
		if (w.namespace == "") == ofCluster && (first < 0 || t.last[w.namespace] < t.last[t.waiting[first].namespace]) {
			first = i
		}
	}
	if first < 0 {
		return
	}
	if t.running == nil {
		t.running = map[bool]bool{}
	}
	if t.last == nil || len(t.last) >= mostRemembered {
		t.last = map[string]int{}
	}
	own := t.waiting[first]
	t.waiting = slices.Delete(t.waiting, first, first+1)
	t.count++
	t.running[ofCluster], t.last[own.namespace] = true, t.count
	close(own.begins)
}
