package retention

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/controllers/lease"
	"github.com/sunset-k8s/sunset/policy"
)

// MaxAge is how old the answer of each precondition may be when the request is sent that deletes or marks. An answer counts from
// when it came.
const MaxAge = time.Second

// Fresh reports whether an answer that came at since still counts now. The zero time never does.
func Fresh(now, since time.Time) bool {
	return !since.IsZero() && lease.Elapsed(now, since) <= MaxAge
}

// maxRounds is how often preconditions are checked for one attempt. Where the other side is so slow that what was checked first
// is too old whenever the last answer comes, the subject is tried again later.
const maxRounds = 3

// permitTimeout bounds asking for the permissions of rules.
const permitTimeout = time.Second

var errSlow = errors.New("the checks before a deletion take more than a second, as the API server answers slowly; retrying later")

// preflight has all checks between the choice of a subject and the request that deletes it, or its owner, or marks it.
// A deletion depends on
//
//  1. the preconditions, which take reads: see preconditions. Each says since when its answer is known;
//  2. the decision, which comes after them, from memory: see decide. It knows every setting, hold, gate and fact that is in force
//     then, and may well be another one than what was likely;
//  3. the age of the answers once the decision is known: when one is older than MaxAge, 1 and 2 are repeated;
//  4. the ledger, from memory too, where the policy keeps one;
//  5. the conditions of the request itself, which the other side compares: the UID and the resourceVersion of the target.
//
// Nothing slow happens between 4 and the request, and the sender checks the age once more.
type preflight struct {
	*pipeline
	it     item
	likely index.Judgement // what is to be done, as of when the attempt began
	target policy.Target   // what goes then; zero for a mark

	prepared Prepared
	blocked  *Outcome // why there is no target, or prepared is none
}

// precondition is one check that may take a while. It gives since when what it found is known, or else what is to be done about
// what it found in the way. Checks of one preflight may run at the same time.
type precondition func(context.Context) (since time.Time, obstacle func())

// preconditions are those of a deletion, or of a mark, in the order in which they are checked first.
func (f *preflight) preconditions() []precondition {
	if !f.likely.Warrant.Valid() {
		return []precondition{f.permission, f.fence}
	}
	return []precondition{
		f.permission,      // the ServiceAccount of a RetentionPolicy may delete the subject
		f.ownerPermission, // and the owner that goes instead
		f.prepare,         // the subject of an owner that goes has not changed; nothing uses an image, and it is its turn
		f.fence,           // this is the leader; policies, namespace and quotas are as they are known; clocks agree
	}
}

// run checks, decides and carries out. The Outcome is nil when nothing was attempted.
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
		f.kind.index.Return(f.it.uid, f.owner.Clock.Now())
	}
	f.putOff(ctx, f.it, errSlow)
	return nil
}

// check runs the preconditions whose answers do not count any more: one after the other, so that none is asked in vain, or
// together, so that none grows old while others are asked. It gives the first obstacle.
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

// mayAct asks whether rules have the permissions that they need. If not, the subject is tried again later.
func (p *pipeline) mayAct(ctx context.Context, it item, rules []*policy.Rule) (since time.Time, obstacle func()) {
	ctx, cancel := context.WithTimeout(ctx, permitTimeout)
	defer cancel()
	since = p.owner.Clock.Now()
	for _, rule := range rules {
		at, err := p.owner.Fence.Permit(ctx, rule)
		if err != nil {
			return at, func() {
				log.FromContext(ctx).V(1).Info("not permitted", "namespace", it.namespace, "rule", rule.ID.String(), "why", err.Error())
				p.retry(it, namespacePause)
			}
		}
		since = earliest(since, at)
	}
	return since, nil
}

func (f *preflight) ownerPermission(ctx context.Context) (time.Time, func()) {
	return f.mayTouchOwner(ctx, f.it, f.likely.Warrant.Intent())
}

// prepare has everything done for the request but sending it.
func (f *preflight) prepare(ctx context.Context) (time.Time, func()) {
	f.release() // what an earlier round has taken
	f.prepared, f.blocked = f.owner.Remover.Prepare(ctx, f.likely.Warrant, f.target)
	if f.blocked != nil {
		return time.Time{}, func() { f.settle(ctx, f.it, f.likely.Warrant.Intent(), *f.blocked) }
	}
	return f.prepared.Since, nil
}

// release gives back what prepare has taken.
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

// decide says what is to be done with the subject now, if that is what was likely: by rules whose permissions were checked, to the
// target. Otherwise it sees to the subject. Nothing is read but memory.
func (f *preflight) decide(ctx context.Context) (j index.Judgement, ok bool) {
	likely := f.likely
	if likely.Warrant.Valid() {
		if err := f.owner.confirm(f.kind, likely.Warrant.Subject()); err != nil {
			f.putOff(ctx, f.it, err)
			return j, false
		}
	}
	now := f.owner.Clock.Now()
	j, known := f.kind.index.Judge(f.it.uid, now)
	switch {
	case !known || len(j.Rules()) == 0: // back to the clock
		f.kind.index.Reconsider(f.it.uid, now)
		f.tries.forget(f.it)
		f.marks.forget(f.it)
		return j, false
	case !areAmong(j.Rules(), likely.Rules()), j.Warrant.Valid() && !j.Warrant.Same(likely.Warrant):
		f.retry(f.it, 0) // another rule decides by now, or another version is judged
		return j, false
	}
	return j, !j.Warrant.Valid() || f.agreed(ctx, f.it, j.Warrant.Intent(), f.target)
}

// carryOut sends what was decided, by answers none of which is older than since.
func (f *preflight) carryOut(ctx context.Context, j index.Judgement, since time.Time) *Outcome {
	w := j.Warrant
	if !w.Valid() {
		return f.mark(ctx, f.it, j.Marking, since)
	}
	counted := w.Rule().Ledger
	if counted && !f.owner.Ledger.Sending(w.Intent(), f.target) {
		f.retry(f.it, ledgerPause)
		return nil
	}
	// A deletion that has begun is seen through: what happened to it must be known.
	var outcome Outcome
	f.timed(ctx, f.it, func() { outcome = f.prepared.Send(context.WithoutCancel(ctx), w, since) })
	if !outcome.Unsent {
		f.owner.Witness.Attempted(outcome.Result)
	}
	if counted {
		f.owner.Ledger.Ended(w.Intent(), f.target, outcome)
	}
	f.settle(ctx, f.it, w.Intent(), outcome)
	if outcome.Result == Removed {
		f.owner.Witness.Removed(Removal{
			Kind: w.Rule().Kind, Subject: w.Subject(), Owner: w.Owner(), Rule: w.Rule(), Reason: w.Reason(),
			Outcome: w.Intent().Outcome, Due: w.Due(), At: f.owner.Clock.Now(),
		})
	}
	return &outcome
}

// earliest is the first of some times; zero if one of them is.
func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
