package retention

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// MaxAge is how old the answer of each precondition may be when the request is sent that deletes or marks. An answer counts from
// when it came.
const MaxAge = time.Second

// Fresh reports whether an answer that came at since still counts now. The zero time never does.
func Fresh(now, since time.Time) bool {
	return !since.IsZero() && lease.Elapsed(now, since) <= MaxAge
}

// maxRounds is how often the preconditions are checked in one attempt. If the API server is so slow that the first answer is too old
// when the last one comes, the subject is retried later.
const maxRounds = 3

// permitTimeout bounds asking for the permissions of rules.
const permitTimeout = time.Second

var errSlow = errors.New("the checks before a deletion take more than a second, because the API server responds slowly; Sunset retries later")

// preflight has all checks between the choice of a subject and the request that deletes it, deletes its owner, or marks it. The
// checks of a deletion, in their order:
//
//  1. The preconditions, which read from the API server or the node: see preconditions. Each returns when its answer came.
//  2. The decision, from memory: see decide. It follows the settings, holds, approvals and facts of that moment, and may differ from
//     the one with which the attempt began.
//  3. The age of the answers. If one is older than MaxAge, 1 and 2 are repeated.
//  4. The ledger, from memory, if the policy has one.
//  5. The preconditions of the request itself, which the API server compares: UID and resourceVersion of the target.
//
// Nothing slow happens between 4 and the request, and the sender checks the age again.
type preflight struct {
	*pipeline
	it     item
	likely index.Decision // the decision when the attempt began
	target policy.Target  // what it deletes; zero for a mark

	prepared Prepared
	blocked  *Outcome // why there is no target, or nothing is prepared; nil otherwise
}

// precondition is one check that may take a while. It returns when its answer came or, if it fails, a func that has the subject retried.
// Checks of one preflight may run at the same time.
type precondition func(context.Context) (since time.Time, obstacle func())

// preconditions are those of a deletion, or of a mark, in the order in which they are checked first.
func (f *preflight) preconditions() []precondition {
	if !f.likely.Permit.Valid() {
		return []precondition{f.permission, f.fence}
	}
	return []precondition{
		f.permission,      // the ServiceAccount of a RetentionPolicy may delete the subject
		f.ownerPermission, // and the owner, if that is deleted instead
		f.prepare,         // if an owner is deleted, the subject has not changed; if an image is, nothing uses it
		f.fence,           // this process leads; policies, namespace and quotas are known as they are; clocks agree
	}
}

// run checks, decides, and sends the request. The Outcome is nil if it sent nothing.
func (f *preflight) run(ctx context.Context) *Outcome {
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
		if oldest := earliest(since...); Fresh(f.owner.Clock.Now(), oldest) {
			return f.carryOut(ctx, j, oldest)
		}
		f.kind.index.Release(f.it.uid, f.owner.Clock.Now())
	}
	f.putOff(ctx, f.it, errSlow)
	return nil
}

// check runs the preconditions whose answers are too old: one after the other, so that one that fails spares the others, or all at the
// same time, so that no answer gets too old while another is awaited. It returns the first obstacle.
func (f *preflight) check(ctx context.Context, checks []precondition, since []time.Time, together bool) func() {
	obstacles := make([]func(), len(checks))
	var group sync.WaitGroup
	for i, check := range checks {
		if Fresh(f.owner.Clock.Now(), since[i]) {
			continue
		}
		if together {
			group.Go(func() { since[i], obstacles[i] = check(ctx) })
		} else if since[i], obstacles[i] = check(ctx); obstacles[i] != nil {
			return obstacles[i]
		}
	}
	group.Wait()
	for _, obstacle := range obstacles {
		if obstacle != nil {
			return obstacle
		}
	}
	return nil
}

func (f *preflight) permission(ctx context.Context) (time.Time, func()) {
	return f.mayAct(ctx, f.it, f.likely.Rules())
}

// mayAct asks whether rules have the permissions that they need. If not, the obstacle has the subject retried later.
func (p *pipeline) mayAct(ctx context.Context, it item, rules []*policy.Rule) (since time.Time, obstacle func()) {
	ctx, cancel := context.WithTimeout(ctx, permitTimeout)
	defer cancel()
	since = p.owner.Clock.Now()
	for _, rule := range rules {
		at, err := p.owner.Fence.Permit(ctx, rule)
		if err != nil {
			return at, func() {
				log.FromContext(ctx).V(1).Info("not permitted", "namespace", it.namespace, "rule", rule.ID.String(), "why", err.Error())
				p.delays.meets(it, Delay{Reason: "Failing", Message: err.Error() + "; check the API server"}, p.owner.Clock.Now())
				p.retry(it, namespacePause)
			}
		}
		since = earliest(since, at)
	}
	return since, nil
}

func (f *preflight) ownerPermission(ctx context.Context) (time.Time, func()) {
	return f.mayTouchOwner(ctx, f.it, f.likely.Permit.Intent())
}

// prepare does everything for the request but send it.
func (f *preflight) prepare(ctx context.Context) (time.Time, func()) {
	f.release() // what an earlier round has taken
	f.prepared, f.blocked = f.owner.Remover.Prepare(ctx, f.likely.Permit, f.target)
	if f.blocked != nil {
		return time.Time{}, func() { f.settle(ctx, f.it, f.likely.Permit.Intent(), *f.blocked) }
	}
	return f.prepared.Since, nil
}

// release returns what prepare has acquired.
func (f *preflight) release() {
	if f.prepared.Release != nil {
		f.prepared.Release()
	}
	f.prepared = Prepared{}
}

func (f *preflight) fence(ctx context.Context) (time.Time, func()) {
	since, err := f.owner.Fence.Check(ctx, f.it.namespace)
	if err != nil {
		return time.Time{}, func() { f.holdBack(ctx, f.it, err) }
	}
	f.owner.setDoubt(nil)
	return since, nil
}

// decide decides again, from memory. It reports true if the preconditions still cover the decision: its rules are among those whose
// permissions were checked, and it deletes the same target. Otherwise it has the subject retried, or left until it is due.
func (f *preflight) decide(ctx context.Context) (j index.Decision, ok bool) {
	likely := f.likely
	if likely.Permit.Valid() {
		if err := f.owner.confirm(f.kind, likely.Permit.Subject()); err != nil {
			f.putOff(ctx, f.it, err)
			return j, false
		}
	}
	now := f.owner.Clock.Now()
	j, known := f.kind.index.Claim(f.it.uid, now)
	switch {
	case !known || len(j.Rules()) == 0: // not due any more
		f.kind.index.Reconsider(f.it.uid, now)
		f.tries.forget(f.it)
		f.marks.forget(f.it)
		return j, false
	case !areAmong(j.Rules(), likely.Rules()), j.Permit.Valid() && !j.Permit.Same(likely.Permit):
		f.retry(f.it, 0) // another rule decides now, or about another version
		return j, false
	}
	return j, !j.Permit.Valid() || f.ownerAgrees(ctx, f.it, j.Permit.Intent(), f.target)
}

// carryOut sends the request for a decision. Since is when the oldest answer came that it depends on.
func (f *preflight) carryOut(ctx context.Context, j index.Decision, since time.Time) *Outcome {
	w := j.Permit
	if !w.Valid() {
		return f.mark(ctx, f.it, j.Marking, since)
	}
	counted := w.Rule().Ledger
	if counted && !f.owner.Ledger.MarkSent(w.Intent(), f.target) {
		f.retry(f.it, ledgerPause)
		return nil
	}
	// A request that has begun is not cancelled: its result must be known.
	var outcome Outcome
	f.timed(ctx, f.it, func() { outcome = f.prepared.Send(context.WithoutCancel(ctx), w, since) })
	if !outcome.Unsent {
		f.owner.Observer.Attempted(outcome.Result)
	}
	if counted {
		f.owner.Ledger.Finish(w.Intent(), f.target, outcome)
	}
	f.settle(ctx, f.it, w.Intent(), outcome)
	if outcome.Result == Removed {
		f.owner.Observer.Removed(Removal{
			Kind: w.Rule().Kind, Subject: w.Subject(), Owner: w.Owner(), Rule: w.Rule(), Reason: w.Reason(),
			Outcome: w.Intent().Outcome, Due: w.Due(), At: f.owner.Clock.Now(),
		})
	}
	return &outcome
}

// earliest is the first of some times; zero if one of them is.
func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
