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

func (noLedger) Open(context.Context) error                            { return nil }
func (noLedger) Lookup(policy.Intent) (target policy.Target, ok bool)  { return target, false }
func (noLedger) Reserve(_ policy.Intent, _ policy.Target, _ Candidate) {}
func (noLedger) Fits(policy.Intent, int) bool                          { return false }
func (noLedger) MarkSent(policy.Intent, policy.Target) bool            { return false }
func (noLedger) Withdraw(policy.Intent)                                {}
func (noLedger) Finish(_ policy.Intent, _ policy.Target, _ Outcome)    {}

// reserve has the expected deletion of a subject recorded.
func (p *pipeline) reserve(ctx context.Context, it item, i policy.Intent, before waited) {
	if !p.permitted(ctx, it, []*policy.Rule{i.Rule}) || !p.readSinceOpen(ctx, it, i) {
		return
	}
	target, blocked := p.resolveTarget(ctx, it, i)
	if blocked == nil {
		if i.Rule.Archive != nil {
			p.delays.renew(it, p.reconciler.Clock.Now())
		}
		p.reconciler.Ledger.Reserve(i, target, p.candidateOf(it, before.reserve(p.reconciler.Clock.Now())))
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
	expected := j.Expected.Rule != nil
	switch {
	case j.Marking.Valid(): // the mark changes the version; the new version is recorded
		return target, nil, true
	case expected && !p.mayTakeOwner(ctx, it, j.Expected):
		return target, nil, false
	case expected && p.awaitsSnapshot(ctx, it, j.Permit):
		return target, nil, false
	case expected:
		target, ok = p.reconciler.Ledger.Lookup(j.Expected)
		if !ok {
			p.reserve(ctx, it, j.Expected, before)
		}
		if ok && j.Expected.Rule.Snapshot != nil { // the claim changes when a snapshot is taken, so it is archived only after that
			ok = j.Permit.Valid() && p.snapshotted(ctx, it, j.Permit)
		}
		ok = ok && p.archived(ctx, it, j.Expected, target, before)
		if !j.Permit.Valid() { // gets a due time again: the wall clock may have stepped back
			p.kind.index.Reconsider(it.uid, p.reconciler.Clock.Now())
		}
		return target, nil, ok && j.Permit.Valid()
	case j.Permit.Valid() && !p.mayTakeOwner(ctx, it, j.Permit.Intent()):
		return target, nil, false
	case j.Permit.Valid() && !p.snapshotted(ctx, it, j.Permit):
		return target, nil, false
	case j.Permit.Valid():
		target, blocked = p.resolveTarget(ctx, it, j.Permit.Intent())
		return target, blocked, blocked == nil
	default:
		return target, nil, true
	}
}
