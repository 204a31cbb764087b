package integration_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// planes are the control planes of all tests: so many tests run at a time.
var planes pool

// pool has control planes. A test has one to itself, as its policies, and what it does to servers, are of a whole cluster.
type pool struct {
	all  [2]*cluster.Cluster
	free chan *cluster.Cluster

	gather sync.Mutex // held by who takes all of them

	mu    sync.Mutex
	taken map[string]*cluster.Cluster // by the name of the test that has it
}

func (p *pool) open() {
	p.free, p.taken = make(chan *cluster.Cluster, len(p.all)), map[string]*cluster.Cluster{}
	for _, plane := range p.all {
		p.free <- plane
	}
}

// of gives the control plane of a test, which its subtests share. A test that asks first runs beside others from there on.
func (p *pool) of(t *testing.T) *cluster.Cluster {
	t.Helper()
	if plane := p.takenBy(t.Name()); plane != nil {
		return plane
	}
	t.Parallel()
	plane := <-p.free
	p.take(t.Name(), plane)
	t.Cleanup(func() {
		p.take(t.Name(), nil)
		p.free <- plane
	})
	return plane
}

// alone runs a test beside no other: what is exported to Prometheus is of the whole process.
func (p *pool) alone(t *testing.T) {
	t.Helper()
	t.Parallel()
	p.gather.Lock() // two that wait for all would wait for each other
	for range p.all {
		p.take(t.Name(), <-p.free)
	}
	p.gather.Unlock()
	t.Cleanup(func() {
		p.take(t.Name(), nil)
		for _, plane := range p.all {
			p.free <- plane
		}
	})
}

// takenBy is what a test, or one that it is part of, has; nil for nothing.
func (p *pool) takenBy(name string) *cluster.Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; name != ""; name = name[:max(0, strings.LastIndex(name, "/"))] {
		if plane := p.taken[name]; plane != nil {
			return plane
		}
	}
	return nil
}

func (p *pool) take(name string, plane *cluster.Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[name] = plane
}
