// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"

	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// noLedger is the Ledger of a Reconciler that has none: deletions that must be recorded are never sent.
type noLedger struct{}

func (noLedger) Open(context.Context) error                           { return nil }
func (noLedger) Lookup(policy.Intent) (target policy.Target, ok bool) { return target, false }
func (noLedger) Reserve(policy.Intent, policy.Target, Candidate) bool { return true } // no ledger will open
func (noLedger) Awaits(policy.Intent, Candidate) bool                 { return false }
func (noLedger) Fits(policy.Intent, int) bool                         { return false }
func (noLedger) MarkSent(policy.Intent, policy.Target) bool           { return false }
func (noLedger) Withdraw(policy.Intent)                               {}
func (noLedger) Finish(policy.Intent, policy.Target, Outcome) bool    { return false }

// reserve has the expected deletion of a subject recorded.
func (p *pipeline) reserve(ctx context.Context, it item, i policy.Intent, before waited) {
	if !p.permittedOrRetry(ctx, it, []*policy.Rule{i.Rule}) || !p.ensureReadSinceOpen(ctx, it, i) {
		return
	}
	target, blocked := p.resolveTarget(ctx, it, i)
	if blocked == nil {
		p.delays.renew(it, p.reconciler.Clock.Now())
		if !p.reconciler.Ledger.Reserve(i, target, p.candidateOf(it, before.reserve(p.reconciler.Clock.Now()))) {
			p.retry(it, retryLater)
			return
		}
		p.throttle.awaitRecord(it.namespace, p.queueKeyOf(it, []*policy.Rule{i.Rule}))
	}
}

// withdraw removes the ledger entry of a subject that is put off, to make room for others.
func (p *pipeline) withdraw(it item) {
	j, _ := p.kind.index.Peek(it.uid, p.reconciler.Clock.Now())
	if j.Expected.Rule == nil {
		return
	}
	p.reconciler.Ledger.Withdraw(j.Expected)
	if j.Expected.Rule.Archive != nil {
		p.reconciler.Archive.Withdraw(j.Expected)
	}
}

// candidate is an item of a pipeline. It implements Candidate. It is small: each subject of a backlog that is to be recorded has one.
type candidate struct {
	pipeline *pipeline
	item     item
	waited   *waited // nil without tracing
}

func (p *pipeline) candidateOf(it item, before waited) candidate {
	c := candidate{pipeline: p, item: it}
	if p.queueTimes != nil {
		kept := before
		c.waited = &kept
	}
	return c
}

func (c candidate) Intent() (policy.Intent, bool) {
	j, _ := c.pipeline.peek(c.item)
	return j.Expected, j.Expected.Rule != nil
}

func (c candidate) Ready() {
	c.pipeline.queueTimes.join(c.item, c.pipeline.reconciler.Clock.Now(), ptr.Deref(c.waited, waited{}))
	i, expected := c.Intent()
	if !expected {
		c.pipeline.add(c.item, 0, queueKey{namespace: c.item.namespace, retries: true})
		return
	}
	c.pipeline.add(c.item, 0, queueKey{policy: i.Rule.ID.Policy}, queueKey{namespace: c.item.namespace})
}

// reserveOrResolve returns the target to delete, as recorded in the ledger if the policy has one, and in the archive if the rule
// archives, and with a VolumeSnapshot if the rule makes one. If ok is false, there is nothing to do now: recording is in progress, the
// recorded subject is not due yet, or it may not be deleted for now.
func (p *pipeline) reserveOrResolve(ctx context.Context, it item, j index.Decision, before waited) (target policy.Target, blocked *Outcome, ok bool) {
	switch {
	case j.Marking.Valid(): // the mark changes the version; the new version is recorded
		return target, nil, true
	case j.Expected.Rule != nil:
		target, ok = p.recordedTarget(ctx, it, j, before)
		return target, nil, ok
	case !j.Permit.Valid():
		return target, nil, true
	case !p.ownerPermittedOrRetry(ctx, it, j.Permit.Intent()), !p.ensureSnapshot(ctx, it, j.Permit):
		return target, nil, false
	default:
		target, blocked = p.resolveTarget(ctx, it, j.Permit.Intent())
		return target, blocked, blocked == nil
	}
}

// recordedTarget is reserveOrResolve for a rule whose policy has a ledger, or that archives. It also prepares a deletion that is only
// expected soon.
func (p *pipeline) recordedTarget(ctx context.Context, it item, j index.Decision, before waited) (target policy.Target, ok bool) {
	i := j.Expected
	if !p.ownerPermittedOrRetry(ctx, it, i) || p.awaitsSnapshot(ctx, it, j.Permit) {
		return target, false
	}
	if !j.Permit.Valid() { // gets a due time again: the wall clock may have stepped back
		defer func() { p.kind.index.Reconsider(it.uid, p.reconciler.Clock.Now()) }()
	}
	if target, ok = p.reconciler.Ledger.Lookup(i); !ok {
		p.reserve(ctx, it, i, before)
		return target, false
	}
	if i.Rule.Snapshot != nil && (!j.Permit.Valid() || !p.ensureSnapshot(ctx, it, j.Permit)) {
		return target, false // the claim changes when a snapshot is taken, so it is archived only after that
	}
	return target, p.ensureArchived(ctx, it, i, target, before) && j.Permit.Valid()
}
