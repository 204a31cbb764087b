// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/sunset-k8s/sunset/policy"
)

// pipeline deletes the due subjects of one kind. Every kind has its own queue, workers and limit, so that a slow or refused
// kind delays no other.
type pipeline struct {
	reconciler *Reconciler
	kind       *watchedKind
	queue      priorityqueue.PriorityQueue[item]
	fairQueue  *fairQueue
	queueTimes *queueTimes
	limit      *limiter
	throttle   *throttle
	backoffs   *backoffs // to delete
	marks      *backoffs // to mark
	delays     delays
	snapshots  snapshots
	logs       logDedup
	workers    sync.WaitGroup
	ended      sync.Once
}

// item is one subject in the queue.
type item struct {
	namespace string
	uid       types.UID
}

func newPipeline(r *Reconciler, w *watchedKind) *pipeline {
	return &pipeline{
		reconciler: r,
		kind:       w,
		fairQueue:  newFairQueue(),
		queueTimes: newQueueTimes(r.Tracer != nil),
		limit:      newLimiter(r.Clock, r.MaxInFlight),
		throttle:   newThrottle(r.Clock, r.MaxInFlight),
		backoffs:   newBackoffs(),
		marks:      newBackoffs(),
		queue:      priorityqueue.New[item](w.index.Kind().String()),
	}
}

// run works until ctx ends or stop is called, and all attempts in flight have ended.
func (p *pipeline) run(ctx context.Context) {
	for range p.reconciler.MaxInFlight {
		p.workers.Go(func() { p.work(ctx) })
	}
	unhook := context.AfterFunc(ctx, p.stop)
	defer unhook() // ctx may outlive the kind
	p.workers.Wait()
}

// stop lets the workers finish their attempts. It does not wait.
func (p *pipeline) stop() { p.ended.Do(func() { p.queue.ShutDown(); p.throttle.stop() }) }

// enqueue adds a subject that is due by a rule.
func (p *pipeline) enqueue(s policy.Subject, rule policy.RuleID) {
	p.add(item{namespace: s.Namespace, uid: s.UID}, 0, queueKey{policy: rule.Policy}, queueKey{namespace: s.Namespace})
}

// retry requeues a subject after a while; the retries of its namespace share a lane. Until then its entry in a ledger is
// withdrawn.
func (p *pipeline) retry(it item, after time.Duration) {
	p.kind.index.Release(it.uid, p.reconciler.Clock.Now())
	p.withdraw(it)
	p.add(it, after, queueKey{namespace: it.namespace, retries: true})
}

func (p *pipeline) add(it item, after time.Duration, in ...queueKey) {
	p.queueTimes.join(it, p.reconciler.Clock.Now().Add(after), waited{})
	p.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(p.fairQueue.join(in...)), After: after}, it)
}

// work reconciles one subject after the other, until the queue is shut down or another worker has replaced this one.
func (p *pipeline) work(ctx context.Context) {
	for {
		it, priority, shutdown := p.queue.GetWithPriority()
		if shutdown {
			return
		}
		p.fairQueue.served(priority, p.queue.Len())
		if p.enter(ctx, it) && p.leave(ctx, it, p.reconcile(ctx, it)) {
			return
		}
	}
}
