package ledgers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ErrMissing says that the policy's status records a ledger that does not exist. An error of State wraps it.
var ErrMissing = errors.New("the RetentionLedger that status.ledger of the policy names does not exist")

// errBuried ends the worker of a policy that no longer exists.
var errBuried = errors.New("the policy and its RetentionLedger were deleted")

const (
	lookFirst    = time.Second // between two reads of doubtful objects
	lookMost     = time.Minute
	looksAtATime = 50
	lookPatience = 3 * time.Second // for all reads of a step: deletions wait to be recorded
	forgetEvery  = time.Minute
)

// prepare makes sure that the worker has read the ledger, and that the ledger exists if it must.
func (a *worker) prepare(ctx context.Context) error {
	a.mu.Lock()
	now := a.manager.Clock.Now()
	p, orphaned := a.policy, a.orphaned
	mustRead := !a.read && !a.none || a.machine.Loose() && now.Sub(a.readAt) >= retryEvery
	if now.Sub(a.forgot) >= forgetEvery {
		a.forgot = now
		mayReturn := a.mayReturn()
		a.machine.Forget(mayReturn)
		maps.DeleteFunc(a.stuck, func(uid types.UID, _ stuck) bool { return !mayReturn(uid) })
		a.unpark()
		a.pruneLine()
	}
	a.mu.Unlock()
	if orphaned {
		if err := a.deleteLedger(ctx); err != nil {
			return err
		}
	}
	if mustRead {
		if err := a.readLedger(ctx, p); err != nil {
			return err
		}
	}
	a.mu.Lock()
	checked := a.checked || p == nil
	a.mu.Unlock()
	if checked {
		return nil
	}
	return a.check(ctx, p)
}

// mayReturn returns a function that reports which objects may be requested again although they have been counted: those
// that the reconciler knows, and the owners of waiting subjects.
func (a *worker) mayReturn() func(types.UID) bool {
	owners := map[types.UID]bool{}
	for _, r := range a.requests {
		if r.owner != nil {
			owners[r.owner.UID] = true
		}
	}
	return func(uid types.UID) bool { return owners[uid] || a.manager.Knows(uid) }
}

// readLedger reads the ledger. It is not an error if the ledger does not exist, unless it must.
func (a *worker) readLedger(ctx context.Context, p *policy.Policy) error {
	stored, err := a.manager.get(ctx, a.uid)
	if apierrors.IsNotFound(err) {
		return a.miss(ctx, p)
	}
	if err != nil {
		return fmt.Errorf("read RetentionLedger %s: %w", a.uid, err)
	}
	if err := a.adopt(stored); err != nil {
		return fmt.Errorf("RetentionLedger %s: %w", a.uid, err)
	}
	return nil
}

// adopt takes a ledger that was just read.
func (a *worker) adopt(stored *v1alpha1.RetentionLedger) error {
	a.mu.Lock()
	a.readAt = a.manager.Clock.Now()
	err := a.machine.Read(stored)
	if err == nil && !a.sealed() && !a.late { // another controller has created it since the ledgers were taken over
		err = ledger.ErrDeposed
	}
	a.read = err == nil
	a.none = a.none && !a.read
	var standing []*request
	if a.read {
		standing = a.takeUp(a.readAt)
	}
	a.mu.Unlock()
	ready(standing)
	return err
}

// miss is called when the ledger does not exist. That is an error if it existed, unless the policy's status does not name
// it: then the worker creates it again.
func (a *worker) miss(ctx context.Context, p *policy.Policy) error {
	a.mu.Lock()
	a.read = false
	expected := a.machine.Stored() != nil || a.recorded
	a.none = !expected && a.policy == nil // not p: the policy may have been added since the read began
	a.mu.Unlock()
	if !expected {
		return nil
	}
	if p == nil {
		return a.missing()
	}
	status, err := a.manager.statusOf(ctx, p)
	switch {
	case err != nil:
		return fmt.Errorf("read policy: %w", err)
	case status.Ledger != nil:
		return a.missing()
	}
	a.renew()
	return nil
}

// renew starts to count again from zero: it drops all recorded entries.
func (a *worker) renew() {
	a.mu.Lock()
	a.machine = ledger.New(a.manager.holder)
	a.recorded, a.checked, a.late = false, false, false
	a.endsFrom = time.Time{}
	var left []*request
	for _, r := range a.requests {
		if r.stands {
			left = append(left, r)
		}
	}
	for _, r := range left {
		a.drop(r)
	}
	a.mu.Unlock()
	ready(left)
}

func (a *worker) missing() error {
	return fmt.Errorf("%w: restore RetentionLedger %s, or remove status.ledger of the policy to count from zero", ErrMissing, a.uid)
}

// check makes sure that an enforced policy has a ledger.
func (a *worker) check(ctx context.Context, p *policy.Policy) error {
	status, err := a.manager.statusOf(ctx, p)
	if apierrors.IsNotFound(err) {
		return nil // the next snapshot will not have the policy
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
	case has:
		err = a.catchUp(ctx, p, status)
	case recorded:
		return a.missing()
	case p.Mode != v1alpha1.Enforce:
		a.mu.Lock()
		a.none = a.policy == p
		a.mu.Unlock()
		return nil
	default:
		err = a.createLedger(ctx, p, status)
	}
	if err == nil {
		a.mu.Lock()
		a.checked = true
		a.mu.Unlock()
		a.manager.Changed()
	}
	return err
}

// createLedger creates the ledger. Its counters begin with the deletions in the policy's status.
func (a *worker) createLedger(ctx context.Context, p *policy.Policy, status v1alpha1.RetentionPolicyStatus) error {
	kind := v1alpha1.ClusterRetentionPolicyKind.Kind
	if p.Namespace != "" {
		kind = v1alpha1.RetentionPolicyKind.Kind
	}
	of := v1alpha1.LedgerPolicy{Kind: kind, Namespace: p.Namespace, Name: p.ObjectName(), UID: p.UID}
	l := &v1alpha1.RetentionLedger{Holder: a.manager.holder, Policy: of}
	l.Name = string(a.uid)
	carryOver(l, status)
	if err := a.manager.create(ctx, l); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create RetentionLedger %s: %w", a.uid, err)
	}
	return a.readLedger(ctx, p)
}

// catchUp raises the counters of a ledger to those in the policy's status: the policy may have kept no ledger for a while.
func (a *worker) catchUp(ctx context.Context, p *policy.Policy, status v1alpha1.RetentionPolicyStatus) error {
	a.mu.Lock()
	counted := a.machine.Stored().DeepCopy()
	a.mu.Unlock()
	if !carryOver(counted, status) {
		return nil
	}
	stored, err := a.manager.get(ctx, a.uid)
	if err != nil {
		return fmt.Errorf("read RetentionLedger %s: %w", a.uid, err)
	}
	if !carryOver(stored, status) || stored.Holder != a.manager.holder {
		return nil
	}
	if err := a.manager.update(ctx, stored); err != nil {
		return fmt.Errorf("write RetentionLedger %s: %w", a.uid, err)
	}
	return a.readLedger(ctx, p)
}

// carryOver raises counters to those of the status, and reports whether it changed any.
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

// deleteLedger deletes the ledger of a deleted policy, even if invalid. If only the snapshot lacks the policy, it stays.
func (a *worker) deleteLedger(ctx context.Context) error {
	stored, err := a.manager.get(ctx, a.uid)
	if apierrors.IsNotFound(err) {
		return errBuried
	}
	if err != nil && !errors.Is(err, ErrNewer) {
		return fmt.Errorf("read RetentionLedger %s: %w", a.uid, err)
	}
	named := stored.Policy
	if named.Name == "" {
		return fmt.Errorf("RetentionLedger %s does not name its policy; if that policy no longer exists, delete the RetentionLedger", a.uid)
	}
	named.UID = a.uid
	gone, err := a.manager.isGone(ctx, named)
	if err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	if !gone {
		return nil
	}
	if err := a.manager.remove(ctx, stored); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete RetentionLedger %s: %w", a.uid, err)
	}
	return errBuried
}

// resolveDoubt reads the objects of doubtful entries.
func (a *worker) resolveDoubt(ctx context.Context) {
	a.mu.Lock()
	now := a.manager.Clock.Now()
	if now.Sub(a.looked) < a.lookAgain {
		a.mu.Unlock()
		return
	}
	doubtful := a.machine.Look(now)
	if len(doubtful) == 0 {
		a.unread = nil
		a.mu.Unlock()
		return
	}
	a.looked = now
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	looks, resolved := min(len(doubtful), looksAtATime), 0
	var unread error
	for i := range looks {
		if ctx.Err() != nil {
			looks = i
			break
		}
		e := doubtful[(a.lookFrom+i)%len(doubtful)]
		sight, err := a.manager.Objects.Sight(ctx, e.Target)
		if err != nil {
			log.FromContext(ctx).V(1).Info("object not read", "kind", e.Kind.Kind, "namespace", e.Namespace, "name", e.Name, "err", err.Error())
			unread = cmp.Or(unread, fmt.Errorf("read %s %q in namespace %q: %w", e.Kind.Kind, e.Name, e.Namespace, err))
			continue
		}
		if a.saw(e, sight, now) {
			resolved++
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if looks > 0 && (unread == nil) != (a.unread == nil) {
		defer a.manager.Changed()
	}
	a.unread = unread
	a.lookFrom += looks - resolved
	if resolved > 0 {
		a.lookAgain = 0
		a.ends(now)
		return
	}
	a.lookAgain = min(max(lookFirst, 2*a.lookAgain), lookMost)
}

// saw takes the result of a read that began at the given time. If that ends the entry of an object that still exists
// unchanged, the object is stuck.
func (a *worker) saw(e ledger.Entry, sight ledger.Observation, began time.Time) (ended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ended = a.machine.Saw(e, sight, began)
	if ended && sight.Shows(e.Target) {
		pause := min(max(stuckFirst, 2*a.stuck[e.UID].pause), stuckMost)
		a.stuck[e.UID] = stuck{until: began.Add(pause), pause: pause}
	}
	return ended
}
