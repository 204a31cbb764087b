package retention

import (
	"context"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// noLedger is the Ledger of a Reconciler that has none: what would have to be counted exactly is never removed.
type noLedger struct{}

func (noLedger) Open(context.Context) error                            { return nil }
func (noLedger) Written(policy.Intent) (target policy.Target, ok bool) { return target, false }
func (noLedger) Write(_ policy.Intent, _ policy.Target, _ Candidate)   {}
func (noLedger) Sending(policy.Intent, policy.Target) bool             { return false }
func (noLedger) Stays(policy.Intent)                                   {}
func (noLedger) Ended(_ policy.Intent, _ policy.Target, _ Outcome)     {}

// writeDown has a subject written down that is going to be removed.
func (p *pipeline) writeDown(ctx context.Context, it item, i policy.Intent) {
	if !p.permitted(ctx, it, []*policy.Rule{i.Rule}) {
		return
	}
	target, blocked := p.aim(ctx, it, i)
	if blocked == nil {
		p.owner.Ledger.Write(i, target, candidate{p, it})
		p.throttle.isWritten(it.namespace, p.laneOf(it, []*policy.Rule{i.Rule}))
	}
}

// stays makes room in the ledger for others than a subject that is put off.
func (p *pipeline) stays(it item) {
	if j, _ := p.kind.index.Look(it.uid, p.owner.Clock.Now()); j.Expected.Rule != nil {
		p.owner.Ledger.Stays(j.Expected)
	}
}

// candidate is an item of a pipeline. It implements Candidate.
type candidate struct {
	pipeline *pipeline
	item     item
}

func (c candidate) Intent() (policy.Intent, bool) {
	j, _ := c.pipeline.kind.index.Look(c.item.uid, c.pipeline.owner.Clock.Now())
	return j.Expected, j.Expected.Rule != nil
}

func (c candidate) Ready() {
	i, expected := c.Intent()
	if !expected {
		c.pipeline.add(c.item, 0, lane{namespace: c.item.namespace, again: true})
		return
	}
	c.pipeline.add(c.item, 0, lane{policy: i.Rule.ID.Policy}, lane{namespace: c.item.namespace})
}

// target is what to remove: as it stands in the ledger, where one is kept. Nothing is to be done if ok is false: the
// subject is being written down, or is written down and not due yet, or may not go for now.
func (p *pipeline) target(ctx context.Context, it item, j index.Judgement) (target policy.Target, blocked *Outcome, ok bool) {
	expected := j.Expected.Rule != nil
	switch {
	case j.Marking.Valid(): // the version that is marked is another: that one is written down
		return target, nil, true
	case expected && !p.mayTakeOwner(ctx, it, j.Expected):
		return target, nil, false
	case expected:
		target, ok = p.owner.Ledger.Written(j.Expected)
		if !ok {
			p.writeDown(ctx, it, j.Expected)
		}
		if !j.Warrant.Valid() { // back to the clock, which may have been set back
			p.kind.index.Reconsider(it.uid, p.owner.Clock.Now())
		}
		return target, nil, ok && j.Warrant.Valid()
	case j.Warrant.Valid() && !p.mayTakeOwner(ctx, it, j.Warrant.Intent()):
		return target, nil, false
	case j.Warrant.Valid():
		target, blocked = p.aim(ctx, it, j.Warrant.Intent())
		return target, blocked, blocked == nil
	default:
		return target, nil, true
	}
}
