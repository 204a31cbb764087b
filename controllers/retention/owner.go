// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
)

var (
	errNotListed = errors.New("rules apply to its kind, and Sunset has not listed all objects of the kind yet")
	errUnseen    = errors.New("the rules about its own kind have not evaluated its current version")
)

// ownerPermittedOrRetry reports whether the owner may be deleted, as far as that is known without reading it. It checks the
// permissions of the rule and, if the owner's kind is watched, the rules about the owner. If not, the subject is retried
// later.
func (p *pipeline) ownerPermittedOrRetry(ctx context.Context, it item, i policy.Intent) bool {
	owner := i.Owner
	if owner == nil {
		return true
	}
	if _, obstacle := p.checkOwnerPermission(ctx, it, i); obstacle != nil {
		obstacle()
		return false
	}
	return p.applyOwnerVerdict(ctx, it, i, p.reconciler.cachedOwnerVerdict(owner))
}

// checkOwnerPermission checks whether the rule of an intent has the permission to delete the owner. If not, the obstacle has the
// subject retried later.
func (p *pipeline) checkOwnerPermission(ctx context.Context, it item, i policy.Intent) (since time.Time, obstacle func()) {
	if i.Owner == nil {
		return p.reconciler.Clock.Now(), nil
	}
	permit, cancel := context.WithTimeout(ctx, permitTimeout)
	defer cancel()
	since, err := p.reconciler.Live.PermitOwner(permit, i.Rule, i.Owner)
	if err != nil {
		return since, func() { p.retryKeptOwner(ctx, it, i, err) }
	}
	return since, nil
}

// ownerAgrees reports whether the rules about the owner's kind permit the deletion of exactly this version: an object is
// kept until all rules about it agree. If not, the subject is retried later.
func (p *pipeline) ownerAgrees(ctx context.Context, it item, i policy.Intent, t policy.Target) bool {
	if i.Owner == nil {
		return true
	}
	switch v, err := p.reconciler.ownerVerdict(t); {
	case errors.Is(err, errBehind):
		p.retrySoon(ctx, it, err)
		return false
	case errors.Is(err, errUnseen):
		p.settle(ctx, it, i, Outcome{Result: Changed, Err: err})
		return false
	case err != nil:
		p.retryKeptOwner(ctx, it, i, err)
		return false
	default:
		return p.applyOwnerVerdict(ctx, it, i, v)
	}
}

// allowsDelete reports whether the verdict of the rules about an owner's kind permits its deletion.
func allowsDelete(v policy.Verdict) bool { return v.Action == policy.Delete || v.Reason.SaysNothing() }

// applyOwnerVerdict reports whether the verdict of the rules about an owner's kind permits its deletion. If not, the subject
// is retried later.
func (p *pipeline) applyOwnerVerdict(ctx context.Context, it item, i policy.Intent, v policy.Verdict) bool {
	switch {
	case allowsDelete(v):
		return true
	case v.Action == policy.Wait:
		why := fmt.Errorf("its owner %s is kept until %s by rule %s", i.Owner, v.Due.UTC().Format(time.RFC3339), v.Rule)
		setCause(ctx, why)
		p.delays.addObstacle(it, Delay{Reason: "OwnerWaits", Message: why.Error()}, p.reconciler.Clock.Now())
		log.FromContext(ctx).V(1).Info("owner is not due", "owner", i.Owner.String(), "namespace", it.namespace, "rule", v.Rule.String(), "until", v.Due)
		p.retry(it, min(v.Due.Sub(p.reconciler.Clock.Now()), retryRefused))
	default:
		p.retryKeptOwner(ctx, it, i, fmt.Errorf("a rule about its own kind keeps it: %s by rule %s", v.Reason, v.Rule))
	}
	return false
}

// retryKeptOwner logs why an owner is kept, and has the subject retried with backoff.
func (p *pipeline) retryKeptOwner(ctx context.Context, it item, i policy.Intent, why error) {
	setCause(ctx, why)
	log.FromContext(ctx).V(p.logs.level("owner not deleted", "", p.reconciler.Clock.Now())).Info("owner not deleted", "owner", i.Owner.String(), "kind", i.Rule.Kind.Kind, "namespace", it.namespace,
		"name", i.Subject.Name, "rule", i.Rule.ID.String(), "why", why.Error())
	p.delays.addOwnerKept(it, i.Owner, why, p.reconciler.Clock.Now())
	p.retry(it, p.backoffs.again(it, i.Subject.ResourceVersion, Refused))
}

// cachedOwnerVerdict returns the verdict of the rules about an owner's kind, for the version in the index. It is
// NotSelected if the owner is not in the index.
func (r *Reconciler) cachedOwnerVerdict(owner *policy.Owner) policy.Verdict {
	r.mu.Lock()
	w := r.kinds[policy.StoredAs(owner.Kind)]
	r.mu.Unlock()
	if w != nil {
		if j, ok := w.index.Peek(owner.UID, r.Clock.Now()); ok {
			return j.Verdict
		}
	}
	return policy.Verdict{Reason: policy.NotSelected}
}

// ownerVerdict returns the verdict of the rules about the kind of a target. The error says why it is unknown.
func (r *Reconciler) ownerVerdict(t policy.Target) (policy.Verdict, error) {
	kind := policy.StoredAs(t.Kind)
	r.mu.Lock()
	w, concerned := r.kinds[kind], r.snapshot.Effective(kind, t.Namespace).HasEnforced()
	wanted := w != nil && w.until.IsZero()
	r.mu.Unlock()
	switch {
	case !concerned:
		return policy.Verdict{Reason: policy.NotSelected}, nil
	case !wanted:
		return policy.Verdict{}, errNotListed
	}
	from, err := r.confirm(w, policy.Subject{Namespace: t.Namespace, Name: t.Name, UID: t.UID, ResourceVersion: t.ResourceVersion})
	if err != nil {
		return policy.Verdict{}, err
	}
	if v, ok := w.index.PeekAt(t, r.Clock.Now()); ok && w.index.IsFrom(from) {
		return v, nil
	}
	if _, synced := w.index.Len(); !synced {
		return policy.Verdict{}, errNotListed
	}
	return policy.Verdict{}, errUnseen
}
