// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// batcher groups removals into rounds, because a runtime pays a part of their cost only once for concurrent removals:
// containerd searches everything it stores for garbage, and during that search no Pod starts.
//
// The size of a round adapts so that its removals do not take long; it is at least one. While Pods start, that time is much
// shorter. After each round the runtime then rests for half as long as the removals took, less the time of the round's
// snapshot. Otherwise the rest is short.
type batcher struct {
	clock clock.Clock
	last  func() // called after a round with removals if no caller waits

	mu      sync.Mutex
	waiting []waiter // in order of arrival
	busy    bool     // a round, or the rest after it, is in progress
	width   int      // maximum size of the next round
}

// entry is an image to remove.
type entry struct {
	id    string
	ranks bool // its rule compares it with other images
}

type waiter struct {
	entry
	place chan *round // has a buffer of one
}

// round is a group of removals.
type round struct {
	batcher *batcher
	ids     []string      // of the images
	ranks   bool          // whether the rule of one of them compares images
	seen    *singleflight // the snapshot that all share

	// batcher.mu guards the fields below.
	size, inside int
	started      bool
	podsStart    bool // or started a moment ago
	admitted     time.Time
	began, ended time.Time     // the first removal, and the last so far; zero without removals
	over         chan struct{} // closed when the last caller leaves
}

const (
	// longestWait bounds the wait for a place, because evaluations become outdated.
	longestWait = 5 * time.Second
	// patience is how long the batcher waits for a round, and afterRest the rest after a longer one: a removal that hangs
	// delays the others no longer than that.
	patience, afterRest = 4 * time.Second, time.Second / 2
	// longRound is the maximum time that the removals of a round should take, and shortRound that time while Pods start.
	longRound, shortRound = 2 * time.Second, time.Second / 4
	// breath is the divisor of the time of a round that gives the minimum rest of the runtime.
	breath = 20
	// aMoment is how long after the start of a Pod further Pods are expected to start.
	aMoment = 2 * time.Second
)

var errCrowded = errors.New("the container runtime is slow: too many removals are waiting")

func newBatcher(c clock.Clock, last func()) *batcher {
	return &batcher{clock: c, last: last, width: 1}
}

// enter waits for a place in a round; the caller must leave it. The error is that of ctx, or errCrowded after longestWait.
func (p *batcher) enter(ctx context.Context, e entry) (*round, error) {
	place := make(chan *round, 1)
	p.mu.Lock()
	p.waiting = append(p.waiting, waiter{e, place})
	p.admit()
	p.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, longestWait, errCrowded)
	defer cancel()
	select {
	case r := <-place:
		return r, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.waiting, func(w waiter) bool { return w.place == place }); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return nil, context.Cause(ctx)
	}
	return <-place, nil // admitted just now
}

// admit begins a round if none is in progress and a caller waits. The caller holds mu.
func (p *batcher) admit() {
	n := min(len(p.waiting), p.width)
	if p.busy || n == 0 {
		return
	}
	r := &round{batcher: p, seen: &singleflight{done: make(chan struct{})}, size: n, inside: n, admitted: p.clock.Now(), over: make(chan struct{})}
	for _, w := range p.waiting[:n] {
		r.ids, r.ranks = append(r.ids, w.id), r.ranks || w.ranks
	}
	for _, w := range p.waiting[:n] {
		w.place <- r
	}
	p.waiting = slices.Delete(p.waiting, 0, n)
	p.busy = true
	go p.follow(r)
}

// follow waits for the end of a round and of the rest after it, and begins the next round.
func (p *batcher) follow(r *round) {
	select {
	case <-r.over:
	case <-p.clock.After(patience):
	}
	p.mu.Lock()
	rest := p.learn(r)
	p.mu.Unlock()
	if rest > 0 {
		<-p.clock.After(rest)
	}
	p.mu.Lock()
	p.busy = false
	p.admit()
	last := !p.busy && !r.began.IsZero()
	p.mu.Unlock()
	if last {
		p.last()
	}
}

// learn sets the size of the next round from the time that this one took. It returns how long the runtime rests before the next
// round, whose snapshot adds to that rest. During the rest further callers join the next round. The caller holds mu.
func (p *batcher) learn(r *round) (rest time.Duration) {
	var looked, took time.Duration // zero if nothing was removed
	if !r.began.IsZero() {
		looked, took = r.began.Sub(r.admitted), r.ended.Sub(r.began)
	}
	long, rest := longRound, took/breath
	if r.podsStart {
		long, rest = shortRound, max(took/2-looked, rest)
	}
	switch {
	case r.inside > 0:
		p.width = 1
		return afterRest
	case took > long:
		p.width = max(1, r.size/2)
	case r.size == p.width && took <= long/2:
		p.width *= 2
	}
	return rest
}

// snapshot returns the snapshot that all of a round share. It begins after all have entered.
func (r *round) snapshot(take func() (*snapshot, error)) (*snapshot, error) {
	r.batcher.mu.Lock()
	isFirst := !r.started
	r.started = true
	r.batcher.mu.Unlock()
	if isFirst {
		r.seen.snapshot, r.seen.err = take()
		r.notePods()
		close(r.seen.done)
	}
	<-r.seen.done
	return r.seen.snapshot, r.seen.err
}

// notePods records whether Pods start: whether the youngest container or sandbox in the snapshot is new.
func (r *round) notePods() {
	if r.seen.snapshot == nil {
		return
	}
	r.batcher.mu.Lock()
	defer r.batcher.mu.Unlock()
	r.podsStart = r.batcher.clock.Now().Sub(r.seen.snapshot.youngest) < aMoment
}

// remove executes one removal of the round.
func (r *round) remove(call func() error) error {
	r.batcher.mu.Lock()
	if r.began.IsZero() {
		r.began = r.batcher.clock.Now()
	}
	r.batcher.mu.Unlock()
	err := call()
	r.batcher.mu.Lock()
	defer r.batcher.mu.Unlock()
	r.ended = r.batcher.clock.Now()
	return err
}

// leave gives up the place in the round.
func (r *round) leave() {
	r.batcher.mu.Lock()
	defer r.batcher.mu.Unlock()
	if r.inside--; r.inside == 0 {
		close(r.over)
	}
}
