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

// reconcile judges one subject and carries the verdict out. The fence comes last before the verdict, so that nothing
// that was waited for is older than the fence promises.
func (p *pipeline) reconcile(ctx context.Context, it item) {
	if p.limit.acquire(ctx) != nil {
		return
	}
	var attempt *Outcome
	defer func() { p.limit.release(attempt) }()
	if p.owner.pace.Wait(ctx) != nil {
		return
	}
	if err := p.owner.Fence.Check(ctx, it.namespace); err != nil {
		p.holdBack(ctx, it, err)
		return
	}
	p.owner.doubt.Store(nil)
	now := p.owner.Clock.Now()
	verdict, warrant, known := p.kind.index.Judge(it.uid, now)
	if !known || verdict.Action != policy.Delete {
		p.kind.index.Reconsider(it.uid, now)
		p.queue.Forget(it)
		return
	}
	// A deletion that has begun is seen through: what happened to it must be known.
	outcome := p.owner.Remover.Remove(context.WithoutCancel(ctx), warrant.Rule().Kind, warrant)
	attempt = &outcome
	p.settle(ctx, it, warrant, outcome)
}

// settle draws the consequences of an attempt.
func (p *pipeline) settle(ctx context.Context, it item, w policy.Warrant, o Outcome) {
	log := log.FromContext(ctx).WithValues("kind", w.Rule().Kind.Kind, "namespace", it.namespace,
		"name", w.Subject().Name, "uid", it.uid, "rule", w.Rule().ID.String())
	p.owner.Witness.Attempted(o.Result)
	switch o.Result {
	case Removed:
		p.kind.index.MarkGone(w.Subject())
		p.queue.Forget(it)
		log.Info("deleted", "due", w.Due())
		p.owner.Witness.Removed(Removal{
			Kind: w.Rule().Kind, Subject: w.Subject(), Rule: w.Rule(), Reason: policy.Expired, Due: w.Due(), At: p.owner.Clock.Now(),
		})
		return
	case Gone:
		p.kind.index.MarkGone(w.Subject())
		p.queue.Forget(it)
		return
	case Changed:
		log.V(1).Info("changed since it was judged")
		if p.queue.NumRequeues(it) >= rereadAfter {
			if err := p.owner.reread(ctx, p.kind, w.Subject()); err != nil {
				log.V(1).Info("could not be read", "err", err.Error())
			}
		}
	default:
		log.Info("not deleted", "result", o.Result.String(), "err", o.Err.Error())
	}
	p.retry(it, priorityqueue.AddOpts{RateLimited: true})
}

// holdBack puts a subject off that the fence stopped. When everything is in doubt the worker rests too.
func (p *pipeline) holdBack(ctx context.Context, it item, err error) {
	log.FromContext(ctx).V(1).Info("held back", "namespace", it.namespace, "why", err.Error())
	if errors.Is(err, ErrNamespace) {
		p.retry(it, priorityqueue.AddOpts{After: namespacePause})
		return
	}
	p.owner.doubt.Store(&err)
	p.retry(it, priorityqueue.AddOpts{After: fencePause})
	select {
	case <-ctx.Done():
	case <-p.owner.Clock.After(fencePause):
	}
}
