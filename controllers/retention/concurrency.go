// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"sync"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// concurrency limits how many requests are in flight for all kinds together. Each kind may always have one, so that a kind
// whose requests hang delays no other.
type concurrency struct {
	max int

	mu      sync.Mutex
	taken   map[*pipeline]int
	changed wake.Broadcast // waiting callers should check again
}

func newConcurrency(max int) *concurrency {
	return &concurrency{max: max, taken: map[*pipeline]int{}}
}

// acquire waits for a slot. The error is ctx's.
func (s *concurrency) acquire(ctx context.Context, p *pipeline) error {
	for {
		s.mu.Lock()
		if s.mayTake(p) {
			s.taken[p]++
			s.mu.Unlock()
			return nil
		}
		changed := s.changed.C()
		s.mu.Unlock()
		if err := pause(ctx, nil, changed, 0); err != nil {
			return err
		}
	}
}

func (s *concurrency) mayTake(p *pipeline) bool {
	if s.taken[p] == 0 {
		return true
	}
	all := 0
	for _, n := range s.taken {
		all += n
	}
	return all < s.max
}

// release gives a slot back.
func (s *concurrency) release(p *pipeline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[p]--; s.taken[p] == 0 {
		delete(s.taken, p)
	}
	s.changed.Send()
}
