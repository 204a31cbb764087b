// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	preflightPause = 500 * time.Millisecond // pause of a worker after preflight has stopped a deletion
	readTimeout    = 10 * time.Second       // of a live read
	behindPause    = 500 * time.Millisecond // before a retry of a subject whose facts may be out of date
	behindPerItem  = time.Millisecond       // added for each waiting subject, so that many retries cost little
	ledgerPause    = 200 * time.Millisecond // before a retry of a subject whose entry in the ledger has ended
	namespacePause = 5 * time.Second        // before a retry of a subject whose namespace check failed
)

// resolveTarget finds the object to delete. If the Outcome says why there is none now, the subject is retried later.
func (p *pipeline) resolveTarget(ctx context.Context, it item, i policy.Intent) (policy.Target, *Outcome) {
	resolver, ok := p.reconciler.Remover.(TargetResolver)
	if !ok {
		return policy.TargetOf(i.Rule.Kind, i.Subject), nil
	}
	target, blocked := resolver.ResolveTarget(ctx, i)
	if blocked != nil {
		p.settle(ctx, it, i, *blocked)
	}
	return target, blocked
}

// permittedOrRetry reports whether rules have the permissions that they need. If not, the subject is retried later.
func (p *pipeline) permittedOrRetry(ctx context.Context, it item, rules []*policy.Rule) bool {
	_, obstacle := p.mayAct(ctx, it, rules)
	if obstacle != nil {
		obstacle()
	}
	return obstacle == nil
}

// areAmong reports whether each rule is among the permitted ones, or needs no permission.
func areAmong(rules, permitted []*policy.Rule) bool {
	return !slices.ContainsFunc(rules, func(r *policy.Rule) bool {
		return r.Namespace != "" && !slices.ContainsFunc(permitted, func(o *policy.Rule) bool {
			return o.ID == r.ID && o.ServiceAccount == r.ServiceAccount && o.Kind == r.Kind && o.Mark == r.Mark
		})
	})
}

// refresh reads a subject live if several attempts in a row found that it had changed: then the watch lags behind.
func (p *pipeline) refresh(ctx context.Context, it item) {
	subject, known := p.kind.index.Subject(it.uid)
	if !known || !p.backoffs.contested(it) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := p.reconciler.reread(ctx, p.kind, subject); err != nil {
		log.FromContext(ctx).V(1).Info("object not read", "name", subject.Name, "namespace", it.namespace, "err", err.Error())
	}
}

// settle records the result of an attempt, and has the subject retried if it still exists.
func (p *pipeline) settle(ctx context.Context, it item, i policy.Intent, o Outcome) {
	log := log.FromContext(ctx).WithValues("kind", i.Rule.Kind.Kind, "namespace", it.namespace,
		"name", i.Subject.Name, "uid", it.uid, "rule", i.Rule.ID.String())
	switch o.Result {
	case Removed, Gone:
		if o.Result == Removed {
			p.kind.index.Deleted(i, p.reconciler.Clock.Now())
		}
		p.kind.index.MarkGone(i.Subject, p.reconciler.Clock.Now())
		if o.Result == Removed {
			p.backoffs.forget(it)
			p.marks.forget(it)
			p.delays.deleted(it)
			log.V(1).Info("deleted", "due", i.Due, "owner", i.Owner.String())
			return
		}
		// An API server that has not read its store yet answers 404. No watch event would correct that.
		p.retry(it, p.backoffs.again(it, i.Subject.ResourceVersion, o.Result))
		return
	case Changed:
		log.V(1).Info("object changed since it was evaluated")
	default:
		p.delays.addFailure(it, i.Owner, o, p.reconciler.Clock.Now())
		log.V(p.logs.level("object not deleted", o.Result.String(), p.reconciler.Clock.Now())).
			Info("object not deleted", "result", o.Result.String(), "err", o.Err.Error())
	}
	p.retry(it, p.backoffs.again(it, i.Subject.ResourceVersion, o.Result))
}

// retrySoon has a subject retried soon, or later if many subjects wait.
func (p *pipeline) retrySoon(ctx context.Context, it item, err error) {
	setCause(ctx, err)
	log.FromContext(ctx).V(1).Info("deletion postponed: a check or a read before it failed", "namespace", it.namespace, "why", err.Error())
	p.delays.addObstacle(it, Delay{Reason: "Failing", Message: err.Error()}, p.reconciler.Clock.Now())
	p.retry(it, behindPause+time.Duration(p.queue.Len())*behindPerItem)
}

// retryAfterPreflight retries a subject later that preflight has stopped. If preflight stops all namespaces, the worker pauses too.
func (p *pipeline) retryAfterPreflight(ctx context.Context, it item, err error) {
	setCause(ctx, err)
	log.FromContext(ctx).V(1).Info("deletion postponed: a check before it failed", "namespace", it.namespace, "why", err.Error())
	if errors.Is(err, preflight.ErrNamespace) {
		p.reconciler.setPreflightError(nil)
		p.delays.addObstacle(it, Delay{Reason: "NamespaceInDoubt", Message: err.Error()}, p.reconciler.Clock.Now())
		p.retry(it, namespacePause)
		return
	}
	p.reconciler.setPreflightError(err)
	p.retry(it, preflightPause)
	wake.Sleep(ctx, p.reconciler.Clock, preflightPause)
}
