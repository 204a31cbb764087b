package ledgers

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ErrMissing is wrapped by the trouble of a policy whose status records a ledger that is not there.
var ErrMissing = errors.New("the RetentionLedger that its status records is missing")

// errBuried ends the account of a ledger whose policy is gone.
var errBuried = errors.New("the policy is gone, and so is its ledger")

const (
	lookFirst    = time.Second // between two looks at what is doubtful
	lookMost     = time.Minute
	looksAtATime = 50
	forgetEvery  = time.Minute
)

// prepare makes sure that the ledger is known as it is, and that there is one if there has to be.
func (a *account) prepare(ctx context.Context) error {
	a.mu.Lock()
	now := a.office.Clock.Now()
	p, orphaned, checked := a.policy, a.orphaned, a.checked
	mustRead := !a.read && !a.none || a.keeper.Loose() && now.Sub(a.readAt) >= retryEvery
	if now.Sub(a.forgot) >= forgetEvery {
		a.forgot = now
		a.keeper.Forget(a.office.Knows)
	}
	a.mu.Unlock()
	if mustRead {
		if err := a.readLedger(ctx); err != nil {
			return err
		}
	}
	switch {
	case orphaned:
		return a.bury(ctx)
	case p != nil && !checked:
		return a.check(ctx, p)
	}
	return nil
}

// readLedger reads the ledger. None is fine as long as nothing says that there has to be one.
func (a *account) readLedger(ctx context.Context) error {
	stored, err := a.office.get(ctx, a.uid)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err) && a.keeper.Stored() == nil && !a.recorded:
		return nil
	case apierrors.IsNotFound(err):
		a.read = false
		return a.missing()
	case err != nil:
		return fmt.Errorf("read RetentionLedger %s: %w", a.uid, err)
	}
	a.readAt = a.office.Clock.Now()
	if err := a.keeper.Read(stored); err != nil {
		a.read = false
		return fmt.Errorf("RetentionLedger %s: %w", a.uid, err)
	}
	a.read = true
	return nil
}

func (a *account) missing() error {
	return fmt.Errorf("%w: restore RetentionLedger %s, or remove status.ledger of the policy to begin to count anew", ErrMissing, a.uid)
}

// check makes sure that a policy which is enforced has a ledger.
func (a *account) check(ctx context.Context, p *policy.Policy) error {
	status, err := a.office.statusOf(ctx, p)
	if apierrors.IsNotFound(err) {
		return nil // the book will say so
	}
	if err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	a.mu.Lock()
	has := a.read
	a.recorded = a.recorded || status.Ledger != nil
	recorded := a.recorded
	a.mu.Unlock()
	switch {
	case has && !recorded:
		err = a.raise(ctx, status)
	case has:
	case recorded:
		return a.missing()
	case p.Mode != v1alpha1.Enforce:
		a.mu.Lock()
		a.none = a.policy == p
		a.mu.Unlock()
		return nil
	default:
		err = a.found(ctx, p, status)
	}
	if err == nil {
		a.mu.Lock()
		a.checked = true
		a.mu.Unlock()
		a.office.Changed()
	}
	return err
}

// found makes the ledger. It begins with what the policy has deleted before it kept one.
func (a *account) found(ctx context.Context, p *policy.Policy, status v1alpha1.RetentionPolicyStatus) error {
	kind := v1alpha1.ClusterRetentionPolicyKind.Kind
	if p.Namespace != "" {
		kind = v1alpha1.RetentionPolicyKind.Kind
	}
	l := &v1alpha1.RetentionLedger{Holder: a.office.holder, Policy: v1alpha1.LedgerPolicy{
		Kind: kind, Namespace: p.Namespace, Name: p.ObjectName(), UID: p.UID,
	}}
	l.Name = string(a.uid)
	carryOver(l, status)
	if err := a.office.create(ctx, l); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create RetentionLedger %s: %w", a.uid, err)
	}
	if err := a.readLedger(ctx); err != nil {
		return err
	}
	if !a.isSealed() { // it was there, and nobody had taken it over before the objects were listed
		return fmt.Errorf("RetentionLedger %s: %w", a.uid, ledger.ErrDeposed)
	}
	return nil
}

// raise brings a ledger that is not recorded, and so has not been counted in for a while, up to what the policy has deleted.
func (a *account) raise(ctx context.Context, status v1alpha1.RetentionPolicyStatus) error {
	stored, err := a.office.get(ctx, a.uid)
	if err != nil {
		return fmt.Errorf("read RetentionLedger %s: %w", a.uid, err)
	}
	if !carryOver(stored, status) || stored.Holder != a.office.holder {
		return nil
	}
	if err := a.office.update(ctx, stored); err != nil {
		return fmt.Errorf("write RetentionLedger %s: %w", a.uid, err)
	}
	return a.readLedger(ctx)
}

// carryOver makes counters no less than what the status has, and reports whether that changed any.
func carryOver(l *v1alpha1.RetentionLedger, s v1alpha1.RetentionPolicyStatus) (changed bool) {
	raise := func(to *int64, least int64) {
		if *to < least {
			*to, changed = least, true
		}
	}
	raise(&l.Total.Deleted, s.Deleted)
	counters := map[string]*int64{}
	for i := range l.Rules {
		counters[l.Rules[i].Name] = &l.Rules[i].Deleted
	}
	var added []v1alpha1.LedgerRule
	for _, r := range s.Rules {
		if known := counters[r.Name]; known != nil {
			raise(known, r.Deleted)
		} else if r.Deleted > 0 {
			added = append(added, v1alpha1.LedgerRule{Name: r.Name, LedgerCount: v1alpha1.LedgerCount{Deleted: r.Deleted}})
		}
	}
	l.Rules = append(l.Rules, added...)
	return changed || len(added) > 0
}

func (a *account) isSealed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sealed()
}

// bury deletes the ledger of a policy that is gone. One that is only not in the book stays.
func (a *account) bury(ctx context.Context) error {
	a.mu.Lock()
	stored := a.keeper.Stored()
	a.mu.Unlock()
	if stored == nil {
		return errBuried
	}
	gone, err := a.office.isGone(ctx, stored.Policy)
	if err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	if !gone {
		return nil
	}
	if err := a.office.remove(ctx, stored); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete RetentionLedger %s: %w", a.uid, err)
	}
	return errBuried
}

// look reads the objects of doubtful entries.
func (a *account) look(ctx context.Context) {
	a.mu.Lock()
	now := a.office.Clock.Now()
	doubtful := a.keeper.Doubtful()
	if len(doubtful) == 0 || now.Sub(a.looked) < a.lookAgain {
		a.mu.Unlock()
		return
	}
	a.looked = now
	a.mu.Unlock()
	resolved := 0
	for i := range min(len(doubtful), looksAtATime) {
		e := doubtful[(a.lookFrom+i)%len(doubtful)]
		sight, err := a.office.Objects.Sight(ctx, e.Target)
		if err != nil {
			log.FromContext(ctx).V(1).Info("could not be read", "kind", e.Kind.Kind, "namespace", e.Namespace, "name", e.Name, "err", err.Error())
			continue
		}
		if a.saw(e, sight) {
			resolved++
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lookFrom += looksAtATime - resolved
	if resolved > 0 {
		a.lookAgain = 0
		if a.endsFrom.IsZero() {
			a.endsFrom = now
		}
		return
	}
	a.lookAgain = min(max(lookFirst, 2*a.lookAgain), lookMost)
}

func (a *account) saw(e ledger.Entry, sight ledger.Sight) (ended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keeper.Saw(e, sight)
	return !a.keeper.Stands(e.Target)
}
