// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// startsAtOnce is the maximum number of clusters of a pool that start at a time. A start needs much processor time. If all clusters
// started together, the first would not be ready long before the last.
const startsAtOnce = 3

var errNotStarted = errors.New("a cluster did not start; the end of the output says why")

// Pool starts clusters while tests wait for one, and stops those that no test needs. All methods are safe for concurrent use.
type Pool struct {
	most  int
	start func(context.Context) (*Cluster, error)
	stop  func(*Cluster) error // later calls for a cluster return the error of the first

	life   context.Context // of starts
	end    context.CancelFunc
	starts sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	all      []*Cluster // that have started, with those that were stopped
	free     []*Cluster // no test has them
	waiting  []chan<- *Cluster
	first    int // number of tests in waiting that come before others
	starting int
	running  int
	failed   error // of starts
}

// NewPool returns a pool of at most this many clusters with the same options. prepare changes each cluster after its start; nil changes
// nothing. The clusters must not share Options.LogDir.
func NewPool(most int, opts Options, prepare func(*Cluster) error) *Pool {
	return newPool(most, func(ctx context.Context) (*Cluster, error) {
		c, err := Start(ctx, opts)
		if err != nil || prepare == nil {
			return c, err
		}
		if err := prepare(c); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		return c, nil
	}, (*Cluster).Stop)
}

func newPool(most int, start func(context.Context) (*Cluster, error), stop func(*Cluster) error) *Pool {
	p := &Pool{most: most, start: start, stop: stop}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Take waits for a cluster that no other test has, until Return. Tests that come first get one before other tests that wait. After a
// cluster did not start, Take returns an error.
func (p *Pool) Take(first bool) (*Cluster, error) {
	turn := make(chan *Cluster, 1)
	p.settle(func() {
		at := len(p.waiting)
		if first {
			at = p.first
			p.first++
		}
		p.waiting = slices.Insert(p.waiting, at, chan<- *Cluster(turn))
	})
	if c, ok := <-turn; ok {
		return c, nil
	}
	return nil, errNotStarted
}

// Return gives a cluster back. If no test waits for it, and another one runs, Return stops it, because a cluster needs processor time
// even if no test uses it.
func (p *Pool) Return(c *Cluster) { p.settle(func() { p.free = append(p.free, c) }) }

// End stops all clusters. Its error names clusters that did not start, and components that ended unexpectedly.
func (p *Pool) End() error {
	p.settle(p.end)
	p.starts.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := []error{p.failed}
	for _, c := range p.all {
		ended = append(ended, p.stop(c))
	}
	return errors.Join(ended...)
}

// add starts a cluster.
func (p *Pool) add() {
	c, err := p.start(p.life)
	p.settle(func() {
		p.starting--
		switch {
		case err == nil:
			p.running++
			p.all, p.free = append(p.all, c), append(p.free, c)
		case p.life.Err() == nil: // otherwise End has canceled the start
			p.failed = errors.Join(p.failed, err)
		}
	})
}

// settle makes a change, and then what it makes possible or needless.
func (p *Pool) settle(change func()) {
	p.mu.Lock()
	change()
	p.serve()
	needless := p.needless()
	p.mu.Unlock()
	for _, c := range needless {
		_ = p.stop(c) // End returns the error
	}
}

// serve gives free clusters to tests that wait, and starts clusters for the others. The caller holds the lock.
func (p *Pool) serve() {
	if p.failed != nil || p.life.Err() != nil {
		for _, turn := range p.waiting {
			close(turn)
		}
		p.waiting, p.first = nil, 0
		return
	}
	for len(p.waiting) > 0 && len(p.free) > 0 {
		p.waiting[0] <- p.free[0] // it has room for one
		p.waiting, p.free, p.first = p.waiting[1:], p.free[1:], max(0, p.first-1)
	}
	for p.starting < min(startsAtOnce, len(p.waiting), p.most-p.running) {
		p.starting++
		p.starts.Go(p.add)
	}
}

// needless removes the free clusters from the pool, and leaves one cluster for a test that comes later. The caller holds the lock.
func (p *Pool) needless() (all []*Cluster) {
	for len(p.free) > 0 && p.running > 1 {
		all, p.free = append(all, p.free[0]), p.free[1:]
		p.running--
	}
	return all
}
