// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// ArchiveUnavailable is the reason of a Delay: the rule archives, and the archive does not record due objects.
const ArchiveUnavailable = "ArchiveUnavailable"

// noArchive is the Archive of a Reconciler that has none: it never gives a receipt, so rules that archive delete nothing.
type noArchive struct{}

var errNoArchive = errors.New("this process cannot archive; no object of the rule is deleted")

func (noArchive) Lookup(policy.Intent, policy.Target) (r policy.Receipt, ok bool) {
	return r, false
}
func (noArchive) Record(policy.Intent, policy.Target, Candidate) *Outcome {
	return &Outcome{Err: errNoArchive, Unsent: true}
}
func (noArchive) Withdraw(policy.Intent)                       {}
func (noArchive) Finish(policy.Intent, policy.Target, Outcome) {}

// ensureArchived reports whether there is a receipt for a target, or the rule does not archive. If not, it has the target recorded: the
// subject is evaluated again when there is one.
func (p *pipeline) ensureArchived(ctx context.Context, it item, i policy.Intent, t policy.Target, before waited) bool {
	if i.Rule.Archive == nil {
		return true
	}
	if _, ok := p.reconciler.Archive.Lookup(i, t); ok {
		return true
	}
	switch o := p.reconciler.Archive.Record(i, t, p.candidateOf(it, before.archive(p.reconciler.Clock.Now()))); {
	case o == nil:
		p.delays.renew(it, p.reconciler.Clock.Now())
		p.throttle.awaitRecord(it.namespace, p.queueKeyOf(it, []*policy.Rule{i.Rule}))
	case o.Result == Changed, o.Result == Gone:
		p.settle(ctx, it, i, *o)
	default:
		p.retryUnarchived(ctx, it, i, o.Err)
	}
	return false
}

// retryUnarchived has a subject retried with backoff that the archive does not record.
func (p *pipeline) retryUnarchived(ctx context.Context, it item, i policy.Intent, why error) {
	setCause(ctx, why)
	now := p.reconciler.Clock.Now()
	log.FromContext(ctx).V(p.logs.level("object not archived", i.Rule.Archive.To, now)).Info("object not archived, so it is kept", "kind", i.Rule.Kind.Kind,
		"namespace", it.namespace, "name", i.Subject.Name, "rule", i.Rule.ID.String(), "archive", i.Rule.Archive.To, "why", why.Error())
	p.delays.addObstacle(it, Delay{Reason: ArchiveUnavailable, Message: short(why)}, now)
	p.retry(it, p.backoffs.again(it, i.Subject.ResourceVersion, Failed))
}

// clear returns the Clearance to delete the target of an attempt. If ok is false, its rule archives or makes snapshots and a receipt
// is gone, or is for something else: the subject is retried, and recorded again.
func (f *attempt) clear(ctx context.Context, j index.Decision) (c policy.Clearance, ok bool) {
	i := j.Permit.Intent()
	var receipt policy.Receipt
	if i.Rule.Archive != nil {
		receipt, _ = f.reconciler.Archive.Lookup(i, f.target)
	}
	c, err := policy.Clear(j.Permit, f.target, receipt, f.taken)
	switch {
	case err != nil && f.needsSnapshot(j):
		f.retryWithoutSnapshot(ctx, f.it, i, err)
	case err != nil && i.Rule.Archive != nil:
		f.retryUnarchived(ctx, f.it, i, err)
	case err != nil:
		f.retrySoon(ctx, f.it, err)
	}
	return c, err == nil
}
