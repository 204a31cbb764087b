package retention

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/sunset-k8s/sunset/policy"
)

// pipeline removes what is due of one kind. Every kind has its own queue, workers and limit, so that a kind which is slow
// or refused delays no other.
type pipeline struct {
	owner   *Reconciler
	kind    *watched
	queue   priorityqueue.PriorityQueue[item]
	lanes   *lanes
	limit   *limiter
	workers sync.WaitGroup
	ended   sync.Once
}

// item is one subject in the queue.
type item struct {
	namespace string
	uid       types.UID
}

const (
	retryFirst = 100 * time.Millisecond
	retryLast  = 10 * time.Minute
)

// newPipeline starts the workers; they end when ctx does or stop is called.
func newPipeline(ctx context.Context, r *Reconciler, w *watched) *pipeline {
	p := &pipeline{
		owner: r,
		kind:  w,
		lanes: newLanes(),
		limit: newLimiter(r.Clock, r.MaxInFlight),
		queue: priorityqueue.New(w.index.Kind().String(), func(o *priorityqueue.Opts[item]) {
			o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[item](retryFirst, retryLast)
		}),
	}
	for range r.MaxInFlight {
		p.workers.Go(func() { p.work(ctx) })
	}
	context.AfterFunc(ctx, p.stop)
	return p
}

// stop lets the workers finish what they are at. It does not wait.
func (p *pipeline) stop() { p.ended.Do(p.queue.ShutDown) }

// enqueue adds a subject that is due on the word of a rule.
func (p *pipeline) enqueue(s policy.Subject, rule policy.RuleID) {
	p.add(item{namespace: s.Namespace, uid: s.UID}, lane{policy: rule.Policy, namespace: s.Namespace}, priorityqueue.AddOpts{})
}

// retry adds a subject again; its namespace's retries share a lane.
func (p *pipeline) retry(it item, o priorityqueue.AddOpts) {
	p.add(it, lane{namespace: it.namespace}, o)
}

func (p *pipeline) add(it item, in lane, o priorityqueue.AddOpts) {
	o.Priority = ptr.To(p.lanes.join(in))
	p.queue.AddWithOpts(o, it)
}

// work reconciles one subject after the other until the queue is shut down.
func (p *pipeline) work(ctx context.Context) {
	for {
		it, priority, shutdown := p.queue.GetWithPriority()
		if shutdown {
			return
		}
		p.lanes.served(priority)
		if ctx.Err() == nil {
			p.reconcile(ctx, it)
		}
		p.queue.Done(it)
	}
}
