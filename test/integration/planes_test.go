// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// planes are the control planes of all tests. Their number bounds the tests that run in parallel: most tests wait for time to pass, and
// leave the processors to others.
var planes = pool{
	Pool: cluster.NewPool(9, cluster.Options{
		Nodes: 2, Progress: os.Stderr, Controllers: append(cluster.VolumeControllers(), "deployment-controller", "replicaset-controller"),
	}, func(plane *cluster.Cluster) error { return cluster.InstallSunset(plane.Config()) }),
	taken: map[string]*cluster.Cluster{},
}

// longest are the tests that take a minute or more. They get a control plane before other tests: otherwise one of them may run alone at
// the end.
var longest = []string{
	"TestCommandsOfPages", "TestKueue", "TestMultiKueue", "TestReferencesOfASunsetOfItsOwn", "TestUnreferencedObjectsAreDeleted",
}

// pool contains control planes. Each test has one for itself, because policies, and faults of servers, affect the whole
// cluster.
type pool struct {
	*cluster.Pool

	mu    sync.Mutex
	taken map[string]*cluster.Cluster // by the name of the test that uses it
}

// of returns the control plane of a test, which its subtests share. The first call makes the test parallel.
func (p *pool) of(t *testing.T) *cluster.Cluster {
	t.Helper()
	if plane := p.takenBy(t.Name()); plane != nil {
		return plane
	}
	t.Parallel()
	plane := p.another(t)
	p.assign(t.Name(), plane)
	t.Cleanup(func() { p.assign(t.Name(), nil) })
	return plane
}

// another gives a test one more control plane until it ends. At most one test may use two: others could wait for each other.
func (p *pool) another(t *testing.T) *cluster.Cluster {
	t.Helper()
	plane, err := p.Take(slices.Contains(longest, t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	t.Cleanup(func() {
		t.Logf("used control plane %s for %s", plane.Config().Host, time.Since(began).Round(100*time.Millisecond))
		p.Return(plane)
	})
	return plane
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

func (p *pool) assign(name string, plane *cluster.Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[name] = plane
}
