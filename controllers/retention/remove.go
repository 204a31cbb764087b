package retention

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
)

// ErrNamespace is wrapped by the error of a Fence that concerns one namespace only: others may go on.
var ErrNamespace = errors.New("namespace in doubt")

const (
	fencePause     = 500 * time.Millisecond // before a worker tries again what the fence stopped
	permitTimeout  = time.Second            // of asking for the rights of a rule
	readTimeout    = 10 * time.Second       // of a read past the watch
	namespacePause = 5 * time.Second        // before a subject is tried again whose namespace is in doubt
)

// reconcile judges one subject and carries the verdict out. The fence comes last before the verdict, so that nothing
// that was waited for is older than the fence promises.
func (p *pipeline) reconcile(ctx context.Context, it item) {
	if p.limit.acquire(ctx) != nil {
		return
	}
	var attempt *Outcome
	defer func() { p.limit.release(attempt) }()
	if p.owner.slots.acquire(ctx, p) != nil {
		return
	}
	defer p.owner.slots.release(p)
	if p.tries.isDenied(it.namespace, p.owner.Clock.Now()) {
		p.retry(it, deniedRetry+time.Duration(p.queue.Len())*deniedPerItem)
		return
	}
	p.refresh(ctx, it)
	if p.owner.pace.Wait(ctx) != nil {
		return
	}
	if err := p.owner.Fence.Check(ctx, it.namespace); err != nil {
		p.holdBack(ctx, it, err)
		return
	}
	p.owner.setDoubt(nil)
	now := p.owner.Clock.Now()
	j, known := p.kind.index.Judge(it.uid, now)
	switch {
	case known && j.Warrant.Valid():
		attempt = p.remove(ctx, it, j.Warrant)
	case known && j.Marking.Valid():
		attempt = p.mark(ctx, it, j.Marking)
	default: // not due any more: back to the clock
		p.kind.index.Reconsider(it.uid, now)
		p.tries.forget(it)
		p.marks.forget(it)
	}
}

// remove carries a warrant out, if its rule has the rights.
func (p *pipeline) remove(ctx context.Context, it item, w policy.Warrant) *Outcome {
	if !p.permitted(ctx, it, w.Rule()) {
		return nil
	}
	// A deletion that has begun is seen through: what happened to it must be known.
	outcome := p.owner.Remover.Remove(context.WithoutCancel(ctx), w.Rule().Kind, w)
	p.settle(ctx, it, w, outcome)
	return &outcome
}

// permitted reports whether a rule has the rights it needs; it asks no longer than until what the fence has found grows
// old. If not, the subject is tried again later.
func (p *pipeline) permitted(ctx context.Context, it item, rule *policy.Rule) bool {
	ctx, cancel := context.WithTimeout(ctx, permitTimeout)
	defer cancel()
	err := p.owner.Fence.Permit(ctx, rule)
	if err != nil {
		log.FromContext(ctx).V(1).Info("not permitted", "namespace", it.namespace, "rule", rule.ID.String(), "why", err.Error())
		p.retry(it, namespacePause)
	}
	return err == nil
}

// refresh reads a subject past the watch that has kept changing under our attempts.
func (p *pipeline) refresh(ctx context.Context, it item) {
	subject, known := p.kind.index.Subject(it.uid)
	if !known || !p.tries.contested(it) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := p.owner.reread(ctx, p.kind, subject); err != nil {
		log.FromContext(ctx).V(1).Info("could not be read", "name", subject.Name, "namespace", it.namespace, "err", err.Error())
	}
}

// settle draws the consequences of an attempt.
func (p *pipeline) settle(ctx context.Context, it item, w policy.Warrant, o Outcome) {
	log := log.FromContext(ctx).WithValues("kind", w.Rule().Kind.Kind, "namespace", it.namespace,
		"name", w.Subject().Name, "uid", it.uid, "rule", w.Rule().ID.String())
	p.owner.Witness.Attempted(o.Result)
	switch o.Result {
	case Removed, Gone:
		p.kind.index.MarkGone(w.Subject(), p.owner.Clock.Now())
		p.tries.forget(it)
		p.tries.allow(it.namespace)
		if o.Result == Removed {
			log.Info("deleted", "due", w.Due())
			p.owner.Witness.Removed(Removal{
				Kind: w.Rule().Kind, Subject: w.Subject(), Rule: w.Rule(), Reason: w.Reason(), Due: w.Due(), At: p.owner.Clock.Now(),
			})
		}
		return
	case Changed:
		log.V(1).Info("changed since it was judged")
	case Denied:
		p.tries.deny(it.namespace, p.owner.Clock.Now())
		fallthrough
	default:
		log.Info("not deleted", "result", o.Result.String(), "err", o.Err.Error())
	}
	p.retry(it, p.tries.again(it, w.Subject().ResourceVersion, o.Result))
}

// holdBack puts a subject off that the fence stopped. When everything is in doubt the worker rests too.
func (p *pipeline) holdBack(ctx context.Context, it item, err error) {
	log.FromContext(ctx).V(1).Info("held back", "namespace", it.namespace, "why", err.Error())
	if errors.Is(err, ErrNamespace) {
		p.owner.setDoubt(nil)
		p.retry(it, namespacePause)
		return
	}
	p.owner.setDoubt(err)
	p.retry(it, fencePause)
	select {
	case <-ctx.Done():
	case <-p.owner.Clock.After(fencePause):
	}
}
