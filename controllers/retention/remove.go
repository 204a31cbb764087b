package retention

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/policy"
)

// ErrNamespace is wrapped by the error of a Fence that concerns one namespace only: others may go on.
var ErrNamespace = errors.New("namespace in doubt")

const (
	fencePause     = 500 * time.Millisecond // before a worker tries again what the fence stopped
	permitTimeout  = time.Second            // of asking for the rights of a rule
	readTimeout    = 10 * time.Second       // of a read past the watch
	behindPause    = 500 * time.Millisecond // before a subject is tried again of which not all may be known at the moment
	behindPerItem  = time.Millisecond       // added for each subject waiting, so that waiting costs little
	ledgerPause    = 200 * time.Millisecond // before a subject is tried again whose entry in the ledger has ended
	namespacePause = 5 * time.Second        // before a subject is tried again whose namespace is in doubt
)

// reconcile judges one subject and carries the verdict out. What may take a while comes before the fence, and the verdict
// after it, so that nothing it rests on is older than the fence promises. The Outcome is nil when nothing was attempted.
func (p *pipeline) reconcile(ctx context.Context, it item) *Outcome {
	if p.tries.saidGone(it) && !p.kind.index.Recall(it.uid, p.owner.Clock.Now()) {
		p.tries.forget(it)
		return nil
	}
	p.refresh(ctx, it)
	likely, _ := p.kind.index.Look(it.uid, p.owner.Clock.Now())
	if !p.permitted(ctx, it, likely.Rules()) {
		return nil
	}
	target, blocked, ok := p.target(ctx, it, likely)
	if !ok {
		return blocked
	}
	if likely.Warrant.Valid() && p.owner.pace.Wait(ctx) != nil {
		return nil
	}
	if err := p.owner.Fence.Check(ctx, it.namespace); err != nil {
		p.holdBack(ctx, it, err)
		return nil
	}
	p.owner.setDoubt(nil)
	return p.carryOut(ctx, it, likely, target)
}

// aim finds what goes. The Outcome says why nothing does for now, and has been seen to.
func (p *pipeline) aim(ctx context.Context, it item, i policy.Intent) (policy.Target, *Outcome) {
	target, blocked := p.owner.Remover.Aim(ctx, i)
	if blocked != nil {
		p.settle(ctx, it, i, *blocked)
	}
	return target, blocked
}

// carryOut does what is to be done with a subject now: what was likely a moment ago, by permitted rules, to the target.
// The Outcome is nil when nothing was attempted.
func (p *pipeline) carryOut(ctx context.Context, it item, likely index.Judgement, target policy.Target) *Outcome {
	if likely.Warrant.Valid() {
		if err := p.owner.confirm(p.kind, likely.Warrant.Subject()); err != nil {
			p.putOff(ctx, it, err)
			return nil
		}
	}
	now := p.owner.Clock.Now()
	j, known := p.kind.index.Judge(it.uid, now)
	switch {
	case !known || len(j.Rules()) == 0: // back to the clock
		p.kind.index.Reconsider(it.uid, now)
		p.tries.forget(it)
		p.marks.forget(it)
		return nil
	case !areAmong(j.Rules(), likely.Rules()), j.Warrant.Valid() && !j.Warrant.Same(likely.Warrant):
		p.retry(it, 0) // another rule decides by now, or another version is judged
		return nil
	case j.Warrant.Valid():
		if !p.agreed(ctx, it, j.Warrant.Intent(), target) {
			return nil
		}
		return p.remove(ctx, it, j.Warrant, target)
	default:
		return p.mark(ctx, it, j.Marking)
	}
}

// remove carries a warrant out.
func (p *pipeline) remove(ctx context.Context, it item, w policy.Warrant, target policy.Target) *Outcome {
	counted := w.Rule().Ledger
	if counted && !p.owner.Ledger.Sending(w.Intent(), target) {
		p.retry(it, ledgerPause)
		return nil
	}
	// A deletion that has begun is seen through: what happened to it must be known.
	outcome := p.timed(ctx, it, func() Outcome {
		return p.owner.Remover.Remove(context.WithoutCancel(ctx), w, target, func() bool { return p.stands(w, target) })
	})
	if !outcome.Unsent {
		p.owner.Witness.Attempted(outcome.Result)
	}
	if counted {
		p.owner.Ledger.Ended(w.Intent(), target, outcome)
	}
	p.settle(ctx, it, w.Intent(), outcome)
	if outcome.Result == Removed {
		p.owner.Witness.Removed(Removal{
			Kind: w.Rule().Kind, Subject: w.Subject(), Owner: w.Owner(), Rule: w.Rule(), Reason: w.Reason(),
			Outcome: w.Intent().Outcome, Due: w.Due(), At: p.owner.Clock.Now(),
		})
	}
	return &outcome
}

// permitted reports whether rules have the rights they need. If not, the subject is tried again later.
func (p *pipeline) permitted(ctx context.Context, it item, rules []*policy.Rule) bool {
	ctx, cancel := context.WithTimeout(ctx, permitTimeout)
	defer cancel()
	for _, rule := range rules {
		if err := p.owner.Fence.Permit(ctx, rule); err != nil {
			log.FromContext(ctx).V(1).Info("not permitted", "namespace", it.namespace, "rule", rule.ID.String(), "why", err.Error())
			p.retry(it, namespacePause)
			return false
		}
	}
	return true
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
