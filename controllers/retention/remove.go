package retention

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
)

// ErrNamespace is wrapped by the error of a Fence that concerns one namespace only: others may go on.
var ErrNamespace = errors.New("namespace in doubt")

const (
	fencePause     = 500 * time.Millisecond // before a worker tries again what the fence stopped
	readTimeout    = 10 * time.Second       // of a read past the watch
	behindPause    = 500 * time.Millisecond // before a subject is tried again of which not all may be known at the moment
	behindPerItem  = time.Millisecond       // added for each subject waiting, so that waiting costs little
	ledgerPause    = 200 * time.Millisecond // before a subject is tried again whose entry in the ledger has ended
	namespacePause = 5 * time.Second        // before a subject is tried again whose namespace is in doubt
)

// reconcile finds what is likely to be done with one subject, and waits for its turn. Everything is checked and decided after
// that: see preflight. The Outcome is nil when nothing was attempted.
func (p *pipeline) reconcile(ctx context.Context, it item) *Outcome {
	if p.tries.saidGone(it) && !p.kind.index.Recall(it.uid, p.owner.Clock.Now()) {
		p.tries.forget(it)
		return nil
	}
	f := &preflight{pipeline: p, it: it}
	var ok bool
	p.timed(ctx, it, func() { ok = f.begin(ctx) })
	switch {
	case !ok:
		return f.blocked
	case f.likely.Warrant.Valid() && p.owner.pace.Wait(ctx) != nil:
		return nil
	default:
		return f.run(ctx)
	}
}

// begin finds what is likely to be done, and to what. If it reports false, nothing can be done now, and that has been seen to.
func (f *preflight) begin(ctx context.Context) (ok bool) {
	f.refresh(ctx, f.it)
	var known bool
	if f.likely, known = f.kind.index.Look(f.it.uid, f.owner.Clock.Now()); !known { // no check of what is gone has to succeed
		f.kind.index.Reconsider(f.it.uid, f.owner.Clock.Now())
		f.tries.forget(f.it)
		f.marks.forget(f.it)
		return false
	}
	if !f.permitted(ctx, f.it, f.likely.Rules()) {
		return false
	}
	f.target, f.blocked, ok = f.pipeline.target(ctx, f.it, f.likely)
	return ok
}

// aim finds what goes. The Outcome says why nothing does for now, and has been seen to.
func (p *pipeline) aim(ctx context.Context, it item, i policy.Intent) (policy.Target, *Outcome) {
	target, blocked := p.owner.Remover.Aim(ctx, i)
	if blocked != nil {
		p.settle(ctx, it, i, *blocked)
	}
	return target, blocked
}

// permitted reports whether rules have the rights they need. If not, the subject is tried again later.
func (p *pipeline) permitted(ctx context.Context, it item, rules []*policy.Rule) bool {
	_, obstacle := p.mayAct(ctx, it, rules)
	if obstacle != nil {
		obstacle()
	}
	return obstacle == nil
}

// areAmong reports whether rules are among those permitted, or need no permission.
func areAmong(rules, permitted []*policy.Rule) bool {
	return !slices.ContainsFunc(rules, func(r *policy.Rule) bool {
		return r.Namespace != "" && !slices.ContainsFunc(permitted, func(o *policy.Rule) bool {
			return o.ID == r.ID && o.ServiceAccount == r.ServiceAccount && o.Kind == r.Kind && o.Mark == r.Mark
		})
	})
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
func (p *pipeline) settle(ctx context.Context, it item, i policy.Intent, o Outcome) {
	log := log.FromContext(ctx).WithValues("kind", i.Rule.Kind.Kind, "namespace", it.namespace,
		"name", i.Subject.Name, "uid", it.uid, "rule", i.Rule.ID.String())
	switch o.Result {
	case Removed, Gone:
		if o.Result == Removed {
			p.kind.index.Deleted(i, p.owner.Clock.Now())
		}
		p.kind.index.MarkGone(i.Subject, p.owner.Clock.Now())
		if o.Result == Removed {
			p.tries.forget(it)
			log.V(1).Info("deleted", "due", i.Due, "owner", i.Owner.String())
			return
		}
		// An API server that has not read its store yet finds nothing. If it was wrong, nobody else will say so.
		p.retry(it, p.tries.again(it, i.Subject.ResourceVersion, o.Result))
		return
	case Changed:
		log.V(1).Info("changed since it was judged")
	default:
		log.V(p.said.level("not deleted "+o.Result.String(), p.owner.Clock.Now())).
			Info("not deleted", "result", o.Result.String(), "err", o.Err.Error())
	}
	p.retry(it, p.tries.again(it, i.Subject.ResourceVersion, o.Result))
}

// putOff has a subject tried again soon, the later the more wait.
func (p *pipeline) putOff(ctx context.Context, it item, err error) {
	log.FromContext(ctx).V(1).Info("put off", "namespace", it.namespace, "why", err.Error())
	p.retry(it, behindPause+time.Duration(p.queue.Len())*behindPerItem)
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
