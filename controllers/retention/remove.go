package retention

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
)

// ErrNamespace is wrapped by the error of a Fence that concerns one namespace only: others may go on.
var ErrNamespace = errors.New("namespace in doubt")

const (
	fencePause     = 500 * time.Millisecond // before a worker tries again what the fence stopped
	namespacePause = 5 * time.Second        // before a subject is tried again whose namespace is in doubt
	rereadAfter    = 2                      // conflicts in a row after which the watch is not waited for
)

// work reconciles one subject after the other until the queue is shut down.
func (r *Reconciler) work(ctx context.Context) {
	for {
		it, priority, shutdown := r.queue.GetWithPriority()
		if shutdown {
			return
		}
		r.lanes.served(priority)
		if ctx.Err() == nil {
			r.reconcile(ctx, it)
		}
		r.queue.Done(it)
	}
}

// reconcile judges one subject and carries the verdict out. The fence comes last before the verdict, so that nothing
// that was waited for is older than the fence promises.
func (r *Reconciler) reconcile(ctx context.Context, it item) {
	if r.limit.acquire(ctx) != nil {
		return
	}
	outcome := Outcome{Result: Changed}
	defer func() { r.limit.release(outcome) }()
	if r.pace.Wait(ctx) != nil {
		return
	}
	if err := r.Fence.Check(ctx, it.namespace); err != nil {
		r.holdBack(ctx, it, err)
		return
	}
	r.doubt.Store(nil)
	now := r.Clock.Now()
	verdict, warrant, known := it.kind.index.Judge(it.uid, now)
	if !known || verdict.Action != policy.Delete {
		it.kind.index.Reconsider(it.uid, now)
		r.queue.Forget(it)
		return
	}
	// A deletion that has begun is seen through: what happened to it must be known.
	outcome = r.Remover.Remove(context.WithoutCancel(ctx), warrant.Rule().Kind, warrant)
	r.settle(ctx, it, warrant, outcome)
}

// settle draws the consequences of an attempt.
func (r *Reconciler) settle(ctx context.Context, it item, w policy.Warrant, o Outcome) {
	log := log.FromContext(ctx).WithValues("kind", w.Rule().Kind.Kind, "namespace", it.namespace,
		"name", w.Subject().Name, "uid", it.uid, "rule", w.Rule().ID.String())
	if r.Witness != nil {
		r.Witness.Attempted(o.Result)
	}
	switch o.Result {
	case Removed:
		it.kind.index.MarkGone(w.Subject())
		r.queue.Forget(it)
		log.Info("deleted", "due", w.Due())
		r.witness(w)
		return
	case Gone:
		it.kind.index.MarkGone(w.Subject())
		r.queue.Forget(it)
		return
	case Changed:
		log.V(1).Info("changed since it was judged")
		if r.queue.NumRequeues(it) >= rereadAfter {
			if err := r.reread(ctx, it.kind, w.Subject()); err != nil {
				log.V(1).Info("could not be read", "err", err.Error())
			}
		}
	default:
		log.Info("not deleted", "result", o.Result.String(), "err", o.Err.Error())
	}
	r.queue.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, it)
}

func (r *Reconciler) witness(w policy.Warrant) {
	if r.Witness == nil {
		return
	}
	r.Witness.Removed(Removal{
		Kind: w.Rule().Kind, Subject: w.Subject(), Rule: w.Rule(), Reason: policy.Expired, Due: w.Due(), At: r.Clock.Now(),
	})
}

// holdBack puts a subject off that the fence stopped. When everything is in doubt the worker rests too.
func (r *Reconciler) holdBack(ctx context.Context, it item, err error) {
	log.FromContext(ctx).V(1).Info("held back", "namespace", it.namespace, "why", err.Error())
	if errors.Is(err, ErrNamespace) {
		r.queue.AddWithOpts(priorityqueue.AddOpts{After: namespacePause}, it)
		return
	}
	r.doubt.Store(&err)
	r.queue.AddWithOpts(priorityqueue.AddOpts{After: fencePause}, it)
	select {
	case <-ctx.Done():
	case <-r.Clock.After(fencePause):
	}
}
