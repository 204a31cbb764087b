package images

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// batcher lets removals go in rounds, as much of what they cost a runtime it pays once for all that come together: containerd
// searches everything it has for what nobody needs any more, and while it does no Pod starts. A round is as wide as its removals
// do not take long: one at a time may always go. While Pods start that is much sooner, and then the runtime is left alone after
// each round for half as long as the removals took, less what its look took; otherwise for a breath.
type batcher struct {
	clock clock.Clock
	last  func() // is called after removals that nobody waits to follow

	mu      sync.Mutex
	waiting []waiter // in the order in which they came
	busy    bool     // a round is under way, or the rest after it
	width   int      // how many may go in the next round
}

// entry is an image that is to go.
type entry struct {
	id    string
	ranks bool // by a rule that compares it with others
}

type waiter struct {
	entry
	place chan *round // takes one without waiting
}

// round is what goes together.
type round struct {
	pace  *batcher
	ids   []string      // of the images
	ranks bool          // whether one of them goes by a rule that compares
	seen  *singleflight // the look that all share

	// The rest is guarded by the pace's mu.
	size, inside int
	looking      bool
	podsStart    bool // or did a moment ago
	admitted     time.Time
	began, ended time.Time     // the first removal, and the last so far; zero without any
	over         chan struct{} // closed when nobody is inside any more
}

const (
	// longestWait bounds the wait for a place: what was judged before may no longer hold.
	longestWait = 5 * time.Second
	// patience is how long a round is waited for, and afterRest the rest then: who hangs holds up nobody for longer.
	patience, afterRest = 4 * time.Second, time.Second / 2
	// longRound is what the removals of a round should not take longer than, and shortRound that while Pods start.
	longRound, shortRound = 2 * time.Second, time.Second / 4
	// breath divides what a round took: the runtime is always left alone for so much of it.
	breath = 20
	// aMoment is for how long after one has started more Pods are expected to.
	aMoment = 2 * time.Second
)

var errCrowded = errors.New("the runtime is slow: other images wait for removal")

func newBatcher(c clock.Clock, last func()) *batcher {
	return &batcher{clock: c, last: last, width: 1}
}

// enter waits for a place in a round, which the caller leaves. The error is ctx's, or says that it takes too long.
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
	return <-place, nil // just now
}

// admit begins a round, if none is under way and somebody waits. The caller holds mu.
func (p *batcher) admit() {
	n := min(len(p.waiting), p.width)
	if p.busy || n == 0 {
		return
	}
	r := &round{pace: p, seen: &singleflight{done: make(chan struct{})}, size: n, inside: n, admitted: p.clock.Now(), over: make(chan struct{})}
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

// follow waits for the end of a round and of the rest after it, and begins the next.
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

// learn draws the consequences of a round, and says how long the runtime is left alone before the next, which begins with a
// look that leaves it alone too. Meanwhile those gather who go together. The caller holds mu.
func (p *batcher) learn(r *round) (rest time.Duration) {
	var looked, took time.Duration // none took any if nothing was to be removed
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

// look gives the look that all of a round share. It begins when all have come.
func (r *round) look(take func() (*snapshot, error)) (*snapshot, error) {
	r.pace.mu.Lock()
	isFirst := !r.looking
	r.looking = true
	r.pace.mu.Unlock()
	if isFirst {
		r.seen.look, r.seen.err = take()
		r.notePods()
		close(r.seen.done)
	}
	<-r.seen.done
	return r.seen.look, r.seen.err
}

// notePods notes whether Pods start: by the youngest that the look has found.
func (r *round) notePods() {
	if r.seen.look == nil {
		return
	}
	r.pace.mu.Lock()
	defer r.pace.mu.Unlock()
	r.podsStart = r.pace.clock.Now().Sub(r.seen.look.youngest) < aMoment
}

// remove makes one removal of the round.
func (r *round) remove(call func() error) error {
	r.pace.mu.Lock()
	if r.began.IsZero() {
		r.began = r.pace.clock.Now()
	}
	r.pace.mu.Unlock()
	err := call()
	r.pace.mu.Lock()
	defer r.pace.mu.Unlock()
	r.ended = r.pace.clock.Now()
	return err
}

// leave gives the place back.
func (r *round) leave() {
	r.pace.mu.Lock()
	defer r.pace.mu.Unlock()
	if r.inside--; r.inside == 0 {
		close(r.over)
	}
}
