// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// The memory of a worker for objects, dependents, Events and logs that are not in a segment yet. The process needs a few times
// recordMost more, because it copies one record at a time.
const (
	memoryMost  = 32 << 20 // bytes of all namespaces together, without large records
	recordMost  = 28 << 20 // bytes of one large record, one at a time; a record has at most archive.MaxRecord
	objectBytes = 1 << 20  // taken before an object is read, because its size is not known
)

// errOverflow says that some items are too large to be held together, or one is too large for the share of its namespace.
var errOverflow = errors.New("too large to be read together")

// errTooLarge says that a record is too large.
var errTooLarge = fmt.Errorf("the record has more than %d MiB: archive fewer dependents, or set a smaller logs.tailBytes", recordMost>>20)

// shares divide an amount of memory or of requests among namespaces. A namespace may have as much as stays free for others. So one
// alone may take half, and N namespaces that take all they can have one part of N+1 each: none can take everything.
type shares struct {
	mu    sync.Mutex
	free  int64
	used  map[string]int64
	freed wake.Broadcast // something was given back
}

func newShares(amount int64) *shares {
	return &shares{free: amount, used: map[string]int64{}}
}

// take takes n for a namespace, and reports whether its share permits that.
func (s *shares) take(namespace string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[namespace]+n > s.free {
		return false
	}
	s.add(namespace, n)
	return true
}

// wait takes n as soon as the share of the namespace permits that. The error is ctx's.
func (s *shares) wait(ctx context.Context, namespace string, n int64) error {
	for {
		freed := s.freed.C()
		if s.take(namespace, n) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-freed:
		}
	}
}

// give gives n back.
func (s *shares) give(namespace string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(namespace, -n)
	s.freed.Send()
}

// add adds n to what a namespace has. The caller holds mu.
func (s *shares) add(namespace string, n int64) {
	s.free -= n
	if s.used[namespace] += n; s.used[namespace] == 0 {
		delete(s.used, namespace)
	}
}

// lease is the memory of one group while it is recorded: at least objectBytes, so that it can always read one object.
type lease struct {
	worker    *worker
	namespace string

	mu            sync.Mutex
	granted, used int64      // of the share of the namespace
	reads         int        // that have reserved memory, and have not ended
	ended         *sync.Cond // broadcast when one has
	large         bool       // one item uses the memory for large records
}

// lease begins a lease. It returns nil if the share of the namespace permits none.
func (w *worker) lease(namespace string) *lease {
	if !w.memory.take(namespace, objectBytes) {
		return nil
	}
	l := &lease{worker: w, namespace: namespace, granted: objectBytes}
	l.ended = sync.NewCond(&l.mu)
	return l
}

// end ends a lease that no item uses any more.
func (l *lease) end() {
	l.worker.memory.give(l.namespace, l.granted)
	l.worker.wake.Send()
}

// take takes memory for an item. The error is errOverflow or errTooLarge.
func (l *lease) take(i *item, n int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tryTake(i, n)
}

func (l *lease) tryTake(i *item, n int64) error {
	if l.large {
		if i.bytes+i.extra+n > recordMost {
			return errTooLarge
		}
		i.extra += n
		return nil
	}
	if more := l.used + n - l.granted; more > 0 {
		if !l.worker.memory.take(l.namespace, more) {
			return errOverflow
		}
		l.granted += more
	}
	l.used += n
	i.bytes += n
	return nil
}

// reserve takes memory before something is read whose size is not known. It waits while other reads of the lease may give some back.
func (l *lease) reserve(i *item, n int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		err := l.tryTake(i, n)
		if err == nil {
			l.reads++
			return nil
		}
		if l.reads == 0 {
			return err
		}
		l.ended.Wait()
	}
}

// settle ends a read that has reserved memory. The bytes that it has read count, even if they are more.
func (l *lease) settle(i *item, reserved, read int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.large {
		i.extra += read - reserved
	} else {
		i.bytes += read - reserved
		l.adjust(read - reserved)
	}
	l.reads--
	l.ended.Broadcast()
}

// force takes memory for the only item of a lease, even if its share does not permit that.
func (l *lease) force(i *item, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i.bytes += n
	l.adjust(n)
}

// drop gives back the memory of items.
func (l *lease) drop(items ...*item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range items {
		l.adjust(-i.bytes)
		i.bytes, i.extra = 0, 0
	}
}

// strip drops everything of items except their objects.
func (l *lease) strip(items ...*item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range items {
		i.dependents, i.events, i.logs = nil, nil, nil
		object := int64(cap(i.object))
		l.adjust(object - i.bytes)
		i.bytes, i.extra = object, 0
	}
}

// adjust changes what is used, and gives back what is no longer needed. The caller holds mu.
func (l *lease) adjust(by int64) {
	l.used += by
	if want := max(l.used, objectBytes); want != l.granted {
		l.worker.memory.give(l.namespace, l.granted-want)
		l.granted = want
	}
}

// setLarge begins or ends the use of the memory for large records.
func (l *lease) setLarge(large bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.large = large
}
