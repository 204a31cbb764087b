package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// turns lets the reviews of ClusterRetentionPolicies compile one after the other, and beside them those of RetentionPolicies. Of
// the namespaces that wait, the one comes first whose last turn is the longest ago: a namespace that has not compiled for a while
// waits for one policy of another, however many there are. The zero value is ready to use.
type turns struct {
	mu      sync.Mutex
	running map[bool]bool // for the cluster, and for namespaces
	waiting []*turn
	last    map[string]int // the number of the last turn of a namespace
	count   int
}

type turn struct {
	namespace string
	begins    chan struct{} // closed when it does
}

// mostRemembered bounds the namespaces whose last turn is remembered.
const mostRemembered = 10_000

// take waits for a turn of a namespace, "" for the cluster, until ctx ends. Call done after it.
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
		return nil, fmt.Errorf("other policies are being compiled; try again: %w", ctx.Err())
	}
}

// end ends a turn, or leaves it to others when it has not begun.
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

// next begins a turn if none has begun.
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
