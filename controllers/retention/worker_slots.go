// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
)

// mostGivenUp limits how many attempts may have given up their worker slot at a time, as a multiple of MaxInFlight.
const mostGivenUp = 4

// enter waits for a worker slot to attempt a subject from the queue. It reports false if the namespace is throttled and the
// subject waits with others, or if ctx has ended.
func (p *pipeline) enter(ctx context.Context, it item) bool {
	if ctx.Err() != nil || p.limit.acquire(ctx) != nil {
		p.queue.Done(it)
		return false
	}
	if p.reconciler.slots.acquire(ctx, p) != nil {
		p.limit.release()
		p.queue.Done(it)
		return false
	}
	if p.throttle.enter(it, func() { p.workers.Go(func() { p.work(ctx) }) }) {
		return true
	}
	p.releaseSlots()
	j, _ := p.kind.index.Peek(it.uid, p.reconciler.Clock.Now())
	var isRecorded bool
	if j.Expected.Rule != nil {
		c := p.candidateOf(it, p.queueTimes.take(it).reserve(p.reconciler.Clock.Now()))
		if p.reconciler.Ledger.Awaits(j.Expected, c) { // each change of a policy queues all due subjects again
			p.queue.Done(it)
			return false
		}
		_, isRecorded = p.reconciler.Ledger.Lookup(j.Expected)
	}
	park := func(isRecorded bool) (parked bool) {
		return p.throttle.park(it, p.queueKeyOf(it, j.Rules()), isRecorded, func() { p.workers.Go(func() { p.workThrottled(ctx) }) })
	}
	if !isRecorded || !park(true) {
		p.withdraw(it) // before another worker can attempt it: that attempt may have it recorded again
		park(false)
	}
	return false
}

// queueKeyOf returns the lane of a subject in a throttled namespace: the one of its policy, or the one of the retries.
func (p *pipeline) queueKeyOf(it item, rules []*policy.Rule) queueKey {
	if len(rules) == 0 || p.backoffs.has(it) {
		return queueKey{namespace: it.namespace, retries: true}
	}
	return queueKey{namespace: it.namespace, policy: rules[0].ID.Policy}
}

func (p *pipeline) releaseSlots() {
	p.limit.release()
	p.reconciler.slots.release(p)
}

// workThrottled reconciles the subjects that wait in throttled namespaces.
func (p *pipeline) workThrottled(ctx context.Context) {
	for {
		it, failing, ok := p.throttle.next(ctx)
		if !ok {
			return
		}
		var attempt *Outcome
		if p.reconciler.throttledSlots.acquire(ctx, p) == nil {
			if (!failing || p.reconciler.failingRate.Wait(ctx) == nil) && p.limit.rest(ctx) == nil {
				attempt = p.reconcile(ctx, it)
			}
			p.reconciler.throttledSlots.release(p)
		}
		p.leave(ctx, it, attempt)
	}
}

// timed runs one step of an attempt: the work before the checks, one round of checks, or the request. If the step takes
// longer than slowAfter, the attempt gives up its worker slot.
func (p *pipeline) timed(ctx context.Context, it item, step func()) {
	began := p.reconciler.Clock.Now()
	slow := p.reconciler.Clock.AfterFunc(slowAfter, func() { p.giveUpSlot(ctx, it) })
	step()
	slow.Stop()
	p.throttle.took(it, p.reconciler.Clock.Since(began))
}

// giveUpSlot makes an attempt with a slow step give up its worker slot, unless too many attempts have done so.
func (p *pipeline) giveUpSlot(ctx context.Context, it item) {
	may := p.reconciler.slotsGivenUp.Add(1) <= int64(mostGivenUp*p.reconciler.MaxInFlight)
	gaveUp, news := p.throttle.isSlow(it, may)
	if news {
		p.logThrottled(ctx, it.namespace, "checks or requests are slow")
	}
	if !gaveUp {
		p.reconciler.slotsGivenUp.Add(-1)
		return
	}
	p.releaseSlots()
}

// leave ends an attempt, and reports whether another worker has replaced this one.
func (p *pipeline) leave(ctx context.Context, it item, attempt *Outcome) (replaced bool) {
	pl, back, fresh, news := p.throttle.leave(it, attempt)
	if news {
		p.logThrottled(ctx, it.namespace, "requests fail")
	}
	switch {
	case pl.gaveUpSlot:
		p.reconciler.slotsGivenUp.Add(-1)
	case !pl.withoutSlot:
		p.releaseSlots()
	}
	if attempt != nil && (fresh || attempt.asksForLess()) {
		p.limit.learn(attempt)
	}
	for key, items := range back {
		for _, it := range items {
			p.add(it, 0, key)
			p.queue.Done(it)
		}
	}
	p.queue.Done(it)
	return pl.gaveUpSlot
}

const throttledMessage = "deletions in a namespace are throttled"

// logThrottled logs that a namespace is throttled.
func (p *pipeline) logThrottled(ctx context.Context, namespace, why string) {
	log.FromContext(ctx).V(p.logs.level(throttledMessage, "", p.reconciler.Clock.Now())).
		Info(throttledMessage, "kind", p.kind.index.Kind().Kind, "namespace", namespace, "why", why)
}
