// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
)

// maxRounds is how often the preconditions are checked in one attempt. If the API server is so slow that the first answer
// is too old when the last one comes, the subject is retried later.
const maxRounds = 3

// permitTimeout bounds the permission checks of an attempt.
const permitTimeout = time.Second

var errSlow = errors.New("the checks before a deletion take more than a second, because the API server responds slowly; Sunset retries; check the API server")

// attempt is one attempt to delete a subject or its owner, or to mark it. It begins with the choice of the subject and ends
// with the request. Package preflight lists the checks. No slow step comes between the last check and the request, and the
// sender checks the age of the answers again.
type attempt struct {
	*pipeline
	it     item
	waited waited
	likely index.Decision // the decision when the attempt began
	target policy.Target  // what it deletes; zero for a mark

	prepared Prepared
	taken    policy.SnapshotReceipt // of the VolumeSnapshot of a claim; zero if the rule makes none
	blocked  *Outcome               // why the target is missing or not prepared; nil otherwise
}

// reconcile decides about one subject, waits until the rate limit permits a deletion, and then checks and decides again:
// see preflight. The Outcome is nil if no request was attempted.
func (p *pipeline) reconcile(ctx context.Context, it item) *Outcome {
	defer p.delays.ended(it, p.reconciler.Clock.Now())
	before := p.queueTimes.take(it)
	if p.backoffs.saidGone(it) && !p.kind.index.Undelete(it.uid, p.reconciler.Clock.Now()) {
		p.backoffs.forget(it)
		return nil
	}
	f := &attempt{pipeline: p, it: it, waited: before}
	if p.reconciler.Tracer != nil {
		return f.traced(ctx)
	}
	return f.try(ctx)
}

// try makes the attempt.
func (f *attempt) try(ctx context.Context) *Outcome {
	var ok bool
	f.timed(ctx, f.it, func() { ok = f.begin(ctx) })
	switch {
	case !ok:
		return f.blocked
	case f.likely.Permit.Valid() && f.awaitRate(ctx) != nil:
		return nil
	default:
		return f.run(ctx)
	}
}

// begin decides for the first time, and finds the target. If it reports false, nothing can be done now: the subject is
// retried later, if it still exists.
func (f *attempt) begin(ctx context.Context) (ok bool) {
	f.refresh(ctx, f.it)
	var known bool
	if f.likely, known = f.peek(f.it); !known { // it was deleted: the checks may never succeed again
		f.kind.index.Reconsider(f.it.uid, f.reconciler.Clock.Now())
		f.backoffs.forget(f.it)
		f.marks.forget(f.it)
		return false
	}
	if !f.permittedOrRetry(ctx, f.it, f.likely.Rules()) {
		return false
	}
	f.target, f.blocked, ok = f.pipeline.reserveOrResolve(ctx, f.it, f.likely, f.waited)
	return ok
}

// preconditions returns the preconditions of a deletion, or of a mark, in the order in which they are first checked.
func (f *attempt) preconditions() []preflight.Precondition {
	if !f.likely.Permit.Valid() {
		return []preflight.Precondition{f.permission, f.live}
	}
	all := []preflight.Precondition{
		f.withSpan("permission", f.permission),            // the ServiceAccount of a RetentionPolicy may delete the subject
		f.withSpan("owner permission", f.ownerPermission), // and the owner, if that is deleted instead
		f.withSpan("prepare", f.prepare),                  // if an owner is deleted, the subject has not changed; if an image is deleted, containers do not use it
		f.withSpan("live", f.live),                        // this process leads; policies, namespace and quotas are in force as they are; clocks agree
	}
	if f.likely.Permit.Rule().Snapshot != nil {
		all = append(all, f.withSpan("snapshot", f.snapshot)) // the VolumeSnapshot of the claim is ready to use
	}
	return all
}

// run checks, decides, and sends the request. The Outcome is nil if no request was sent.
func (f *attempt) run(ctx context.Context) *Outcome {
	defer f.release()
	checks := f.preconditions()
	since := make([]time.Time, len(checks))
	for round := range maxRounds {
		var obstacle func()
		f.timed(ctx, f.it, func() { obstacle = f.check(ctx, checks, since, round > 0) })
		if obstacle != nil {
			f.release()
			obstacle()
			return f.blocked
		}
		j, ok := f.decide(ctx)
		if !ok {
			return nil
		}
		if oldest := preflight.Oldest(since...); preflight.Fresh(f.reconciler.Clock.Now(), oldest) {
			return f.carryOut(ctx, j, oldest)
		}
		f.kind.index.Release(f.it.uid, f.reconciler.Clock.Now())
	}
	f.retrySoon(ctx, f.it, errSlow)
	return nil
}

// awaitRate waits until the rate limit permits a deletion. The error is ctx's.
func (f *attempt) awaitRate(ctx context.Context) error {
	ctx, span := startSpan(ctx, "rate limit")
	defer span.End()
	return f.reconciler.deletionRate.Wait(ctx)
}

// check is one round of preflight.
func (f *attempt) check(ctx context.Context, all []preflight.Precondition, since []time.Time, together bool) (obstacle func()) {
	ctx, span := startSpan(ctx, "preflight")
	defer span.End()
	return preflight.Check(ctx, f.reconciler.Clock.Now, all, since, together)
}

func (f *attempt) permission(ctx context.Context) (time.Time, func()) {
	return f.mayAct(ctx, f.it, f.likely.Rules())
}

// mayAct checks whether rules have the permissions that they need. If not, the obstacle has the subject retried later.
func (p *pipeline) mayAct(ctx context.Context, it item, rules []*policy.Rule) (since time.Time, obstacle func()) {
	ctx, cancel := context.WithTimeout(ctx, permitTimeout)
	defer cancel()
	since = p.reconciler.Clock.Now()
	for _, rule := range rules {
		at, err := p.reconciler.Live.Permit(ctx, rule)
		if err != nil {
			return at, func() {
				setCause(ctx, err)
				log.FromContext(ctx).V(1).Info("permission check failed", "namespace", it.namespace, "rule", rule.ID.String(), "why", err.Error())
				delay := Delay{Reason: "Failing", Message: err.Error() + "; check the API server"}
				if errors.Is(err, preflight.ErrPermission) {
					delay = Delay{Reason: "Denied", Message: short(err)}
				}
				p.delays.addObstacle(it, delay, p.reconciler.Clock.Now())
				p.retry(it, namespacePause)
			}
		}
		since = preflight.Oldest(since, at)
	}
	return since, nil
}

func (f *attempt) ownerPermission(ctx context.Context) (time.Time, func()) {
	return f.checkOwnerPermission(ctx, f.it, f.likely.Permit.Intent())
}

// prepare does everything for the request except sending it.
func (f *attempt) prepare(ctx context.Context) (time.Time, func()) {
	f.release() // the results of an earlier round
	f.prepared, f.blocked = f.reconciler.Remover.Prepare(ctx, f.likely.Permit, f.target)
	if f.blocked != nil {
		return time.Time{}, func() { f.settle(ctx, f.it, f.likely.Permit.Intent(), *f.blocked) }
	}
	return f.prepared.Since, nil
}

// release returns what prepare has acquired.
func (f *attempt) release() {
	if f.prepared.Release != nil {
		f.prepared.Release()
	}
	f.prepared = Prepared{}
}

func (f *attempt) live(ctx context.Context) (time.Time, func()) {
	since, err := f.reconciler.Live.Check(ctx, f.it.namespace)
	if err != nil {
		return time.Time{}, func() { f.retryAfterPreflight(ctx, f.it, err) }
	}
	f.reconciler.setPreflightError(nil)
	if now := f.reconciler.Clock.Now(); !preflight.Fresh(now.Add(prefetchFor), since) { // so that the next deletions in a backlog do not wait
		f.reconciler.prefetch(ctx, soonest{now, f.it.namespace})
	}
	return since, nil
}

// decide decides again, from memory. It reports true if the preconditions still cover the decision: the permissions of its
// rules were checked, and it deletes the same target. Otherwise the subject is retried, or waits until it is due.
func (f *attempt) decide(ctx context.Context) (j index.Decision, ok bool) {
	likely := f.likely
	var from uint64
	if likely.Permit.Valid() {
		var err error
		if from, err = f.reconciler.confirm(f.kind, likely.Permit.Subject()); err != nil {
			if f.kind.beyond.Load() {
				f.retrySoon(ctx, f.it, err)
			} else { // the watch, about which many objects ask
				setCause(ctx, err)
				f.retry(f.it, retryLater)
			}
			return j, false
		}
	}
	now := f.reconciler.Clock.Now()
	j, known := f.kind.index.Claim(f.it.uid, now)
	f.observe(f.it, &j)
	switch {
	case !known || len(j.Rules()) == 0: // no longer due
		f.kind.index.Reconsider(f.it.uid, now)
		f.backoffs.forget(f.it)
		f.marks.forget(f.it)
		return j, false
	case !areAmong(j.Rules(), likely.Rules()), j.Permit.Valid() && !j.Permit.Same(likely.Permit), !f.kind.index.IsFrom(from):
		f.retry(f.it, 0) // another rule decides now, about another version, or by another listing than the confirmed one
		return j, false
	}
	return j, !j.Permit.Valid() || f.ownerAgrees(ctx, f.it, j.Permit.Intent(), f.target)
}

// carryOut sends the request for a decision. The oldest answer that the decision depends on came at since.
func (f *attempt) carryOut(ctx context.Context, j index.Decision, since time.Time) *Outcome {
	w := j.Permit
	if !w.Valid() {
		return f.mark(ctx, f.it, j.Marking, since)
	}
	cleared, ok := f.clear(ctx, j)
	if !ok {
		return nil
	}
	if w.Rule().Ledger && !f.reconciler.Ledger.MarkSent(w.Intent(), f.target) {
		f.retry(f.it, ledgerPause)
		return nil
	}
	var outcome Outcome
	f.timed(ctx, f.it, func() { outcome = f.send(ctx, cleared, since) })
	if !outcome.Unsent {
		f.reconciler.Observer.Attempted(outcome.Result)
	}
	if w.Rule().Archive != nil {
		f.reconciler.Archive.Finish(w.Intent(), f.target, outcome)
	}
	inLedger := f.reconciler.Ledger.Finish(w.Intent(), f.target, outcome)
	f.settle(ctx, f.it, w.Intent(), outcome)
	f.report(ctx, j, cleared, outcome, inLedger)
	return &outcome
}

// report informs the observer and the audit of a deletion that happened, or may have happened. inLedger says whether a ledger counts it.
func (f *attempt) report(ctx context.Context, j index.Decision, c policy.Clearance, o Outcome, inLedger bool) {
	w := j.Permit
	removal := Removal{
		Kind: w.Rule().Kind, Subject: w.Subject(), Owner: w.Owner(), Rule: w.Rule(), Reason: w.Reason(),
		Outcome: w.Intent().Outcome, Size: w.Intent().Size, Due: w.Due(), At: f.reconciler.Clock.Now(),
		Policy: j.Policy, Target: f.target, Receipt: c.Receipt(), Snapshot: c.Snapshot(), Unsure: o.Result != Removed, InLedger: inLedger, TraceID: traceID(ctx),
	}
	if f.reconciler.Audit != nil && (o.Result == Removed || o.Unsure) {
		f.reconciler.Audit(removal)
	}
	if o.Result == Removed {
		f.reconciler.Observer.Removed(removal)
	}
}

// send sends the request. A request that has begun is not cancelled: its result must be known.
func (f *attempt) send(ctx context.Context, c policy.Clearance, since time.Time) Outcome {
	ctx, span := startSpan(context.WithoutCancel(ctx), "DELETE")
	defer span.End()
	return f.prepared.Send(ctx, c, since)
}
