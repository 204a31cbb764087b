package admission

import (
	"context"
	"fmt"
	"sync"
)

// compilesAtOnce bounds how many policies are compiled for reviews, of different namespaces.
const compilesAtOnce = 2

// turns lets the reviews of a namespace compile one after the other, so that none waits for more than one of each other
// namespace. The zero value is ready to use.
type turns struct {
	mu      sync.Mutex
	waiting map[string]*turn
	all     chan struct{}
}

type turn struct {
	free chan struct{} // has an element while the turn is free
	used int
}

// take waits for the turn of a namespace, until ctx ends. Call done after it.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	own, all := t.join(namespace)
	select {
	case <-own.free:
	case <-ctx.Done():
		t.leave(namespace, own)
		return nil, fmt.Errorf("other policies of namespace %q are being compiled; try again: %w", namespace, ctx.Err())
	}
	leave := func() {
		own.free <- struct{}{}
		t.leave(namespace, own)
	}
	select {
	case all <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("policies of other namespaces are being compiled; try again: %w", ctx.Err())
	}
	return func() { <-all; leave() }, nil
}

func (t *turns) join(namespace string) (*turn, chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all, t.waiting = make(chan struct{}, compilesAtOnce), map[string]*turn{}
	}
	own := t.waiting[namespace]
	if own == nil {
		own = &turn{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		t.waiting[namespace] = own
	}
	own.used++
	return own, t.all
}

func (t *turns) leave(namespace string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.used--; own.used == 0 {
		delete(t.waiting, namespace)
	}
}
