package retention

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
)

// givenMost limits how many attempts may have given up their worker slot at a time, as a multiple of MaxInFlight.
const givenMost = 4

// enter waits for a worker slot to attempt a subject from the queue. It reports false if the namespace is throttled and the
// subject waits with others, or if ctx has ended.
func (p *pipeline) enter(ctx context.Context, it item) bool {
	if ctx.Err() != nil || p.limit.acquire(ctx) != nil {
		p.queue.Done(it)
		return false
	}
	if p.owner.slots.acquire(ctx, p) != nil {
		p.limit.release()
		p.queue.Done(it)
		return false
	}
	if p.throttle.enter(it, func() { p.workers.Go(func() { p.work(ctx) }) }) {
		return true
	}
	p.giveBack()
	j, _ := p.kind.index.Peek(it.uid, p.owner.Clock.Now())
	var stands bool
	if j.Expected.Rule != nil {
		_, stands = p.owner.Ledger.Lookup(j.Expected)
	}
	kept := p.throttle.park(it, p.laneOf(it, j.Rules()), stands, func() { p.workers.Go(func() { p.workBeside(ctx) }) })
	if !kept {
		p.withdraw(it)
	}
	return false
}

// laneOf returns the lane of a subject in a throttled namespace: the one of its policy, or the one of the retries.
func (p *pipeline) laneOf(it item, rules []*policy.Rule) queueKey {
	if len(rules) == 0 || p.tries.has(it) {
		return queueKey{namespace: it.namespace, again: true}
	}
	return queueKey{namespace: it.namespace, policy: rules[0].ID.Policy}
}

func (p *pipeline) giveBack() {
	p.limit.release()
	p.owner.slots.release(p)
}

// workBeside reconciles the subjects that wait in throttled namespaces.
func (p *pipeline) workBeside(ctx context.Context) {
	for {
		it, failing, ok := p.throttle.next(ctx)
		if !ok {
			return
		}
		var attempt *Outcome
		if p.owner.beside.acquire(ctx, p) == nil {
			if (!failing || p.owner.failing.Wait(ctx) == nil) && p.limit.rest(ctx) == nil {
				attempt = p.reconcile(ctx, it)
			}
			p.owner.beside.release(p)
		}
		p.leave(ctx, it, attempt)
	}
}

// timed runs one step of an attempt: the work before the checks, one round of checks, or the request. If the step takes
// longer than slowAfter, the attempt gives up its worker slot.
func (p *pipeline) timed(ctx context.Context, it item, step func()) {
	ended, began := make(chan struct{}), p.owner.Clock.Now()
	go func() {
		timer := p.owner.Clock.NewTimer(slowAfter)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C():
			p.giveAway(ctx, it)
		}
	}()
	step()
	close(ended)
	p.throttle.took(it, p.owner.Clock.Since(began))
}

// giveAway makes an attempt with a slow step give up its worker slot, unless too many attempts have done so.
func (p *pipeline) giveAway(ctx context.Context, it item) {
	may := p.owner.given.Add(1) <= int64(givenMost*p.owner.MaxInFlight)
	given, news := p.throttle.isSlow(it, may)
	if news {
		p.say(ctx, it.namespace, "checks or requests are slow")
	}
	if !given {
		p.owner.given.Add(-1)
		return
	}
	p.giveBack()
}

// leave ends an attempt, and reports whether another worker has replaced this one.
func (p *pipeline) leave(ctx context.Context, it item, attempt *Outcome) (replaced bool) {
	pl, back, fresh, news := p.throttle.leave(it, attempt)
	if news {
		p.say(ctx, it.namespace, "requests fail")
	}
	switch {
	case pl.given:
		p.owner.given.Add(-1)
	case !pl.beside:
		p.giveBack()
	}
	if attempt != nil && (fresh || attempt.asksForLess()) {
		p.limit.learn(attempt)
	}
	for ln, items := range back {
		for _, it := range items {
			p.add(it, 0, ln)
			p.queue.Done(it)
		}
	}
	p.queue.Done(it)
	return pl.given
}

const throttledMessage = "deletions in a namespace are throttled"

// say logs that a namespace is throttled.
func (p *pipeline) say(ctx context.Context, namespace, why string) {
	log.FromContext(ctx).V(p.said.level(throttledMessage, "", p.owner.Clock.Now())).
		Info(throttledMessage, "kind", p.kind.index.Kind().Kind, "namespace", namespace, "why", why)
}
