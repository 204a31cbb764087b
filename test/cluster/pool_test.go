// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

// standIns count clusters that a pool starts and stops. A start takes a second.
type standIns struct {
	mu                  sync.Mutex
	starting, running   int
	mostStart, mostRun  int
	started             int
	stopped             map[*Cluster]bool
	failsFrom           int   // number of the first start that fails; zero for none
	crashed, notStarted error // of stops and of starts that fail
}

func (s *standIns) pool(most int) *Pool {
	s.stopped = map[*Cluster]bool{}
	return newPool(most, s.start, s.stop)
}

func (s *standIns) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *standIns) start(ctx context.Context) (*Cluster, error) {
	n := 0
	s.change(func() {
		s.started++
		n = s.started
		s.starting++
		s.mostStart = max(s.mostStart, s.starting)
	})
	defer s.change(func() { s.starting-- })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Second):
	}
	if s.failsFrom > 0 && n >= s.failsFrom {
		return nil, s.notStarted
	}
	s.change(func() {
		s.running++
		s.mostRun = max(s.mostRun, s.running)
	})
	return &Cluster{}, nil
}

func (s *standIns) stop(c *Cluster) error {
	s.change(func() {
		if !s.stopped[c] {
			s.stopped[c] = true
			s.running--
		}
	})
	return s.crashed
}

// uses takes a cluster of a pool for some time.
func uses(p *Pool, first bool, during time.Duration) error {
	c, err := p.Take(first)
	if err == nil {
		time.Sleep(during)
		p.Return(c)
	}
	return err
}

func TestPoolStartsWhatTestsWaitForAndStopsTheRest(t *testing.T) {
	for name, test := range map[string]struct{ tests, starts, mostStart, mostRun int }{
		"no test":       {0, 0, 0, 0},
		"one test":      {1, 1, 1, 1},
		"two tests":     {2, 2, 2, 2},
		"many tests":    {20, 5, startsAtOnce, 5},
		"as many tests": {5, 5, startsAtOnce, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &standIns{}
				p := s.pool(5)
				var all sync.WaitGroup
				for range test.tests {
					all.Go(func() {
						if err := uses(p, false, time.Minute); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				synctest.Wait()
				expect.Equal(t, "starts", test.starts, s.started)
				expect.Equal(t, "most that start at a time", test.mostStart, s.mostStart)
				expect.Equal(t, "most that run at a time", test.mostRun, s.mostRun)
				expect.Equal(t, "clusters for later tests", min(test.tests, 1), s.running)
				expect.NoError(t, uses(p, false, 0))
				expect.Equal(t, "starts with a later test", max(test.starts, 1), s.started)
				expect.NoError(t, p.End())
				expect.Equal(t, "clusters at the end", 0, s.running)
			})
		})
	}
}

func TestPoolHasOneTestPerCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := (&standIns{}).pool(3)
		defer func() { expect.NoError(t, p.End()) }()
		var mu sync.Mutex
		users := map[*Cluster]int{}
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				c, err := p.Take(i%7 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				use := func(by int) {
					mu.Lock()
					defer mu.Unlock()
					if users[c] += by; users[c] > 1 {
						t.Error("two tests have the same cluster")
					}
				}
				use(1)
				time.Sleep(time.Duration(i%5) * time.Second)
				use(-1)
				p.Return(c)
			})
		}
		all.Wait()
	})
}

func TestPoolServesFirstTestsBeforeOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := (&standIns{}).pool(1)
		defer func() { expect.NoError(t, p.End()) }()
		var order []int // one test runs at a time
		var all sync.WaitGroup
		for i, first := range []bool{false, false, true, false, true} {
			all.Go(func() {
				c, err := p.Take(first)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				p.Return(c)
			})
			synctest.Wait()
		}
		all.Wait()
		if want := []int{2, 4, 0, 1, 3}; !slices.Equal(want, order) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

func TestPoolFailsTestsAfterAStartFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &standIns{failsFrom: 2, notStarted: errors.New("no port")}
		p := s.pool(2)
		var all sync.WaitGroup
		var served, refused int
		for range 10 {
			all.Go(func() {
				err := uses(p, false, time.Minute)
				s.change(func() {
					if err == nil {
						served++
					} else {
						refused++
					}
				})
			})
		}
		all.Wait()
		if err := uses(p, false, 0); !errors.Is(err, errNotStarted) {
			t.Errorf("a later test: %v", err)
		}
		if served > 1 || served+refused != 10 {
			t.Errorf("%d tests had a cluster and %d an error", served, refused)
		}
		if err := p.End(); !errors.Is(err, s.notStarted) {
			t.Errorf("end: %v, want %v", err, s.notStarted)
		}
		expect.Equal(t, "clusters at the end", 0, s.running)
	})
}

func TestPoolEnds(t *testing.T) {
	for name, started := range map[string]time.Duration{"while clusters start": time.Millisecond, "while tests have clusters": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &standIns{}
				p := s.pool(4)
				var all sync.WaitGroup
				for range 4 {
					all.Go(func() { _ = uses(p, false, time.Hour) })
				}
				time.Sleep(started)
				expect.NoError(t, p.End())
				expect.Equal(t, "clusters at the end", 0, s.running+s.starting)
				all.Wait()
			})
		})
	}
}

func TestPoolReportsCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &standIns{crashed: errors.New("etcd ended unexpectedly")}
		p := s.pool(2)
		expect.NoError(t, uses(p, false, 0))
		if err := p.End(); !errors.Is(err, s.crashed) {
			t.Errorf("end: %v, want %v", err, s.crashed)
		}
	})
}
