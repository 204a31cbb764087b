package retention

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Limiter is a limiter for the tests.
type Limiter struct{ *limiter }

// NewLimiter returns a Limiter.
func NewLimiter(c clock.Clock, max int) Limiter { return Limiter{newLimiter(c, max)} }

// Acquire waits for a slot.
func (l Limiter) Acquire(ctx context.Context) error { return l.acquire(ctx) }

// Release returns a slot; nil says that there was no attempt.
func (l Limiter) Release(attempt *Outcome) { l.learn(attempt); l.release() }

// Limit returns how many deletions may be in flight.
func (l Limiter) Limit() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// FairQueue are lanes for the tests.
type FairQueue struct{ *fairQueue }

// NewFairQueue returns empty FairQueue.
func NewFairQueue() FairQueue { return FairQueue{newFairQueue()} }

// Join returns the priority of one more subject of a policy and a namespace.
func (l FairQueue) Join(policy, namespace string) int {
	return l.join(queueKey{policy: policy}, queueKey{namespace: namespace})
}

// Served is called with the priority of a subject that leaves the queue, and the number of subjects that still wait.
func (l FairQueue) Served(priority, waiting int) { l.served(priority, waiting) }

// Remembered returns the number of lanes in memory.
func (l FairQueue) Remembered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.last)
}

// Loads returns the number of namespaces with a state in memory.
func (r *Reconciler) Loads() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.kinds {
		n += len(w.pipeline.throttle.namespaces)
	}
	return n
}

// Failing returns the number of subjects whose failures are in memory.
func (r *Reconciler) Failing() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	failing := 0
	for _, w := range r.kinds {
		for _, t := range []*backoffs{w.pipeline.backoffs, w.pipeline.marks} {
			t.mu.Lock()
			failing += len(t.failed)
			t.mu.Unlock()
		}
	}
	return failing
}

// NoLedger is the Ledger of a Reconciler that has none.
var NoLedger Ledger = noLedger{}

// Throttle is a throttle for the tests.
type Throttle struct{ *throttle }

// NewThrottle returns an empty Throttle whose workers never start.
func NewThrottle(c clock.Clock, max int) Throttle { return Throttle{newThrottle(c, max)} }

// Park makes a subject of a policy wait in a throttled namespace.
func (t Throttle) Park(namespace, policy, uid string) {
	t.park(item{namespace, types.UID(uid)}, queueKey{namespace: namespace, policy: policy}, false, func() {})
}

// Take begins the next attempt, and returns the namespace and the UID.
func (t Throttle) Take() (string, string) {
	it, _, _, _ := t.take()
	return it.namespace, string(it.uid)
}
