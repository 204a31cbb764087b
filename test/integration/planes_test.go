// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// planes are the control planes of all tests. Their number bounds the tests that run in parallel.
var planes pool

// pool contains control planes. Each test has one for itself, because policies, and faults of servers, affect the whole
// cluster.
type pool struct {
	all  [9]*cluster.Cluster // most tests wait for time to pass, and leave the processors to others
	free chan *cluster.Cluster

	mu    sync.Mutex
	taken map[string]*cluster.Cluster // by the name of the test that uses it
}

func (p *pool) open() {
	p.free, p.taken = make(chan *cluster.Cluster, len(p.all)), map[string]*cluster.Cluster{}
	for _, plane := range p.all {
		p.free <- plane
	}
}

// of returns the control plane of a test, which its subtests share. The first call makes the test parallel.
func (p *pool) of(t *testing.T) *cluster.Cluster {
	t.Helper()
	if plane := p.takenBy(t.Name()); plane != nil {
		return plane
	}
	t.Parallel()
	plane := <-p.free
	p.take(t.Name(), plane)
	began := time.Now()
	t.Cleanup(func() {
		t.Logf("used control plane %d for %s", slices.Index(p.all[:], plane), time.Since(began).Round(100*time.Millisecond))
		p.take(t.Name(), nil)
		p.free <- plane
	})
	return plane
}

// alone gives a test the first control plane while no other test runs, because the exported metrics belong to the whole process. The
// testing package runs such tests before those that call t.Parallel.
func (p *pool) alone(t *testing.T) {
	t.Helper()
	p.take(t.Name(), p.all[0])
	t.Cleanup(func() { p.take(t.Name(), nil) })
}

// takenBy returns the control plane of a test or of its parent test; nil if there is none.
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
