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
	errNotListed = errors.New("rules apply to its kind, which Sunset has not listed completely")
	errUnseen    = errors.New("its version is not the one that the rules about its own kind have evaluated")
)

// mayTakeOwner reports whether the owner may be deleted, as far as is known without reading it: by the permissions of the rule, and by
// the rules about the owner if its kind is watched. If not, the subject is retried later.
func (p *pipeline) mayTakeOwner(ctx context.Context, it item, i policy.Intent) bool {
	owner := i.Owner
	if owner == nil {
		return true
	}
	if _, obstacle := p.mayTouchOwner(ctx, it, i); obstacle != nil {
		obstacle()
		return false
	}
	return p.applyOwnerVerdict(ctx, it, i, p.owner.cachedOwnerVerdict(owner))
}

// mayTouchOwner asks whether the rule of an intent has the permission to delete the owner. If not, the obstacle has the subject retried
// later.
func (p *pipeline) mayTouchOwner(ctx context.Context, it item, i policy.Intent) (since time.Time, obstacle func()) {
	if i.Owner == nil {
		return p.owner.Clock.Now(), nil
	}
	permit, cancel := context.WithTimeout(ctx, permitTimeout)
	defer cancel()
	since, err := p.owner.Live.PermitOwner(permit, i.Rule, i.Owner)
	if err != nil {
		return since, func() { p.deferOwner(ctx, it, i, err) }
	}
	return since, nil
}

// ownerAgrees reports whether the rules about the owner's kind permit the deletion of exactly this version: an object stays until all
// rules about it agree. If not, the subject is retried later.
func (p *pipeline) ownerAgrees(ctx context.Context, it item, i policy.Intent, t policy.Target) bool {
	if i.Owner == nil {
		return true
	}
	switch v, err := p.owner.ownerVerdict(t); {
	case errors.Is(err, errBehind):
		p.putOff(ctx, it, err)
		return false
	case errors.Is(err, errUnseen):
		p.settle(ctx, it, i, Outcome{Result: Changed, Err: err})
		return false
	case err != nil:
		p.deferOwner(ctx, it, i, err)
		return false
	default:
		return p.applyOwnerVerdict(ctx, it, i, v)
	}
}

// allowsDelete reports whether the verdict of the rules about an owner's kind permits its deletion.
func allowsDelete(v policy.Verdict) bool { return v.Action == policy.Delete || v.Reason.SaysNothing() }

// applyOwnerVerdict reports whether the verdict of the rules about an owner's kind permits its deletion. If not, the subject is retried later.
func (p *pipeline) applyOwnerVerdict(ctx context.Context, it item, i policy.Intent, v policy.Verdict) bool {
	switch {
	case allowsDelete(v):
		return true
	case v.Action == policy.Wait:
		p.delays.meets(it, Delay{Reason: "OwnerWaits", Message: fmt.Sprintf("its owner %s stays until %s, by %s", i.Owner, v.Due.UTC().Format(time.RFC3339), v.Rule)}, p.owner.Clock.Now())
		log.FromContext(ctx).V(1).Info("the owner waits", "owner", i.Owner.String(), "namespace", it.namespace, "rule", v.Rule.String(), "until", v.Due)
		p.retry(it, min(v.Due.Sub(p.owner.Clock.Now()), retryRefused))
	default:
		p.deferOwner(ctx, it, i, fmt.Errorf("rules about its own kind keep it: %s by %s", v.Reason, v.Rule))
	}
	return false
}

// deferOwner logs why an owner stays, and has the subject retried with backoff.
func (p *pipeline) deferOwner(ctx context.Context, it item, i policy.Intent, why error) {
	log.FromContext(ctx).V(p.said.level("owner not deleted", "", p.owner.Clock.Now())).Info("owner not deleted", "owner", i.Owner.String(), "kind", i.Rule.Kind.Kind, "namespace", it.namespace,
		"name", i.Subject.Name, "rule", i.Rule.ID.String(), "why", why.Error())
	p.delays.keepsOwner(it, i.Owner, why, p.owner.Clock.Now())
	p.retry(it, p.tries.again(it, i.Subject.ResourceVersion, Refused))
}

// cachedOwnerVerdict is what the rules about an owner's own kind say of the version of it that is known; they say nothing of one
// that is not.
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

// ownerVerdict is what the rules about the kind of a target say of it. The error says that this is not known.
func (r *Reconciler) ownerVerdict(t policy.Target) (policy.Verdict, error) {
	kind := policy.StoredAs(t.Kind)
	r.mu.Lock()
	w, concerned := r.kinds[kind], r.snapshot.Effective(kind, t.Namespace).HasSay()
	wanted := w != nil && w.until.IsZero()
	r.mu.Unlock()
	switch {
	case !concerned:
		return policy.Verdict{Reason: policy.NotSelected}, nil
	case !wanted:
		return policy.Verdict{}, errNotListed
	}
	if err := r.confirm(w, policy.Subject{Namespace: t.Namespace, Name: t.Name, UID: t.UID}); err != nil {
		return policy.Verdict{}, err
	}
	if v, ok := w.index.PeekAt(t, r.Clock.Now()); ok {
		return v, nil
	}
	if _, synced := w.index.Len(); !synced {
		return policy.Verdict{}, errNotListed
	}
	return policy.Verdict{}, errUnseen
}
