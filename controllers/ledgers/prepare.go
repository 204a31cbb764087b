// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ErrMissing says that the policy's status records a ledger that does not exist. An error of State wraps it.
var ErrMissing = errors.New("the RetentionLedger that status.ledger of the policy names does not exist")

const forgetEvery = time.Minute

// prepare makes sure that the worker has read the ledger, and that the ledger exists if it must.
func (w *worker) prepare(ctx context.Context) error {
	w.mu.Lock()
	now := w.manager.Clock.Now()
	p, orphaned := w.policy, w.orphaned
	mustRead := !w.read && !w.none || w.machine.MayBeReplaced() && now.Sub(w.readAt) >= retryEvery
	if now.Sub(w.forgot) >= forgetEvery {
		w.forgot = now
		mayReturn := w.mayReturn()
		w.machine.Forget(mayReturn)
		maps.DeleteFunc(w.stuck, func(uid types.UID, _ stuck) bool { return !mayReturn(uid) })
		w.unpark()
		w.pruneQueue()
	}
	w.mu.Unlock()
	if orphaned {
		if err := w.deleteLedger(ctx); err != nil {
			return err
		}
	}
	if mustRead {
		if err := w.readLedger(ctx, p); err != nil {
			return err
		}
	}
	w.mu.Lock()
	caughtUp := w.caughtUp || p == nil
	w.mu.Unlock()
	if caughtUp {
		return nil
	}
	return w.check(ctx, p)
}

// mayReturn returns a function that reports which objects may be requested again although they have been counted: those
// that the reconciler knows, and the owners of waiting subjects.
func (w *worker) mayReturn() func(types.UID) bool {
	owners := map[types.UID]bool{}
	for _, r := range w.requests {
		if r.owner != nil {
			owners[r.owner.UID] = true
		}
	}
	known := w.manager.Known()
	return func(uid types.UID) bool { return owners[uid] || known(uid) }
}

// readLedger reads the ledger. It is not an error if the ledger does not exist, unless it must.
func (w *worker) readLedger(ctx context.Context, p *policy.Policy) error {
	stored, err := w.manager.get(ctx, w.uid)
	if apierrors.IsNotFound(err) {
		return w.miss(ctx, p)
	}
	if err != nil {
		return fmt.Errorf("read RetentionLedger %s: %w", w.uid, err)
	}
	if err := w.adopt(stored); err != nil {
		return fmt.Errorf("RetentionLedger %s: %w", w.uid, err)
	}
	return nil
}

// adopt takes a ledger that was just read.
func (w *worker) adopt(stored *v1alpha1.RetentionLedger) error {
	w.mu.Lock()
	w.readAt = w.manager.Clock.Now()
	err := w.machine.Read(stored)
	if err == nil && w.raising != "" && w.raising != stored.ResourceVersion {
		w.rebases, w.raising = w.rebases+1, ""
	}
	if err == nil && !w.sealed() && !w.late { // another controller has created it since the ledgers were taken over
		err = ledger.ErrDeposed
	}
	w.read = err == nil
	w.none = w.none && !w.read
	var found []*request
	if w.read {
		found = w.takeConfirmed(w.readAt)
	}
	w.mu.Unlock()
	ready(found)
	return err
}

// miss is called when the ledger does not exist. That is an error if it existed, unless the policy's status does not name
// it: then the worker creates it again.
func (w *worker) miss(ctx context.Context, p *policy.Policy) error {
	w.mu.Lock()
	w.read = false
	expected := w.machine.Stored() != nil || w.recorded
	w.none = !expected && w.policy == nil // not p: the policy may have been added since the read began
	w.mu.Unlock()
	if !expected {
		return nil
	}
	if p == nil {
		return w.missing()
	}
	status, err := w.manager.statusOf(ctx, p)
	switch {
	case err != nil:
		return fmt.Errorf("read policy: %w", err)
	case status.Ledger != nil:
		return w.missing()
	}
	w.renew()
	return nil
}

// renew starts to count again from zero: it drops all recorded entries.
func (w *worker) renew() {
	w.mu.Lock()
	w.machine = ledger.New(w.manager.holder)
	w.rebases++
	w.recorded, w.caughtUp, w.late = false, false, false
	w.endsFrom = time.Time{}
	var left []*request
	for _, r := range w.requests {
		if r.isConfirmed() {
			left = append(left, r)
		}
	}
	for _, r := range left {
		w.drop(r)
	}
	w.mu.Unlock()
	ready(left)
}

func (w *worker) missing() error {
	return fmt.Errorf("%w: restore RetentionLedger %s, or remove status.ledger of the policy to create a new one that starts with status.deleted", ErrMissing, w.uid)
}

// check makes sure that an enforced policy has a ledger.
func (w *worker) check(ctx context.Context, p *policy.Policy) error {
	status, err := w.manager.statusOf(ctx, p)
	if apierrors.IsNotFound(err) {
		return nil // the next snapshot will not have the policy
	}
	if err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	w.mu.Lock()
	if w.policy != p {
		w.mu.Unlock()
		return nil
	}
	has, lapsed := w.read, w.lapsed
	w.recorded = w.recorded || status.Ledger != nil
	recorded := w.recorded
	w.mu.Unlock()
	switch {
	case !has && recorded:
		return w.missing()
	case !has && p.Mode != v1alpha1.Enforce:
		w.mu.Lock()
		w.none = w.policy == p
		w.mu.Unlock()
		return nil
	case has && lapsed && status.ObservedGeneration > 0 && status.ObservedGeneration < p.Generation:
		return nil // the next status has more of the deletions by the earlier spec
	case has:
		err = w.catchUp(ctx, p, status)
	default:
		err = w.createLedger(ctx, p, status)
	}
	if err == nil {
		w.mu.Lock()
		w.caughtUp = w.policy == p && w.read
		w.lapsed = w.lapsed && !w.caughtUp
		w.mu.Unlock()
		w.manager.Changed()
	}
	return err
}

// createLedger creates the ledger. Its counters begin with the deletions in the policy's status.
func (w *worker) createLedger(ctx context.Context, p *policy.Policy, status v1alpha1.RetentionPolicyStatus) error {
	of := v1alpha1.LedgerPolicy{Kind: v1alpha1.PolicyKind(p.Namespace).Kind, Namespace: p.Namespace, Name: p.ObjectName(), UID: p.UID}
	l := &v1alpha1.RetentionLedger{Holder: w.manager.holder, Policy: of}
	l.Name = string(w.uid)
	carryOver(l, p, status)
	if err := w.manager.create(ctx, l); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create RetentionLedger %s: %w", w.uid, err)
	}
	return w.readLedger(ctx, p)
}

// catchUp raises the counters of a ledger to those in the policy's status: the policy may have kept no ledger for a while.
func (w *worker) catchUp(ctx context.Context, p *policy.Policy, status v1alpha1.RetentionPolicyStatus) error {
	w.mu.Lock()
	counted := w.machine.Stored().DeepCopy()
	w.mu.Unlock()
	if !carryOver(counted, p, status) {
		return nil
	}
	stored, err := w.manager.get(ctx, w.uid)
	if apierrors.IsNotFound(err) {
		return w.readLedger(ctx, p)
	}
	if err != nil {
		return fmt.Errorf("read RetentionLedger %s: %w", w.uid, err)
	}
	if !carryOver(stored, p, status) || stored.Holder != w.manager.holder {
		return w.readLedger(ctx, p) // the API server has the raised counts already, or the ledger has another holder
	}
	w.mu.Lock()
	w.raising = stored.ResourceVersion
	w.mu.Unlock()
	if err := w.manager.update(ctx, stored); err != nil {
		w.mu.Lock()
		w.machine.Lost()
		w.read = false
		w.mu.Unlock()
		return fmt.Errorf("write RetentionLedger %s: %w", w.uid, err)
	}
	return w.readLedger(ctx, p)
}

// carryOver raises counters to those of the status, and reports whether it changed any. A ledger does not count the images that nodes
// have removed: the status adds these to the ledger's counts.
func carryOver(l *v1alpha1.RetentionLedger, p *policy.Policy, s v1alpha1.RetentionPolicyStatus) (changed bool) {
	raise := func(to *int64, least int64) {
		if *to < least {
			*to, changed = least, true
		}
	}
	images := int64(0)
	if s.NodeImages != nil {
		images = s.NodeImages.Removed.Images
	}
	raise(&l.Total.Deleted, s.Deleted-images)
	counters := map[string]*int64{}
	for i := range l.Rules {
		counters[l.Rules[i].Name] = &l.Rules[i].Deleted
	}
	var added []v1alpha1.LedgerRule
	for _, r := range s.Rules {
		isOfImages := slices.ContainsFunc(p.Rules, func(of *policy.Rule) bool { return of.ID.Rule == r.Name && of.OnNodes() })
		switch known := counters[r.Name]; {
		case isOfImages:
		case known != nil:
			raise(known, r.Deleted)
		case r.Deleted > 0:
			added = append(added, v1alpha1.LedgerRule{Name: r.Name, LedgerCount: v1alpha1.LedgerCount{Deleted: r.Deleted}})
		}
	}
	l.Rules = append(l.Rules, added...)
	return changed || len(added) > 0
}

// deleteLedger deletes the ledger of a deleted policy, even if invalid. If only the snapshot lacks the policy, it stays.
func (w *worker) deleteLedger(ctx context.Context) error {
	stored, err := w.manager.get(ctx, w.uid)
	if apierrors.IsNotFound(err) {
		return errPolicyDeleted
	}
	if err != nil && !errors.Is(err, ErrNewer) {
		return fmt.Errorf("read RetentionLedger %s: %w", w.uid, err)
	}
	named := stored.Policy
	if named.Name == "" {
		return fmt.Errorf("RetentionLedger %s does not name its policy; if that policy no longer exists, delete the RetentionLedger", w.uid)
	}
	named.UID = w.uid
	switch _, err := w.manager.readPolicy(ctx, named); {
	case err == nil:
		return nil
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read policy: %w", err)
	}
	if err := w.manager.remove(ctx, stored); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete RetentionLedger %s: %w", w.uid, err)
	}
	return errPolicyDeleted
}
