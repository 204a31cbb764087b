package retention

import (
	"context"
	"sync"
)

// slots bounds how many requests are under way for all kinds together. One of them is kept for each other kind that has
// none under way, so that a kind which hangs delays no other; with more kinds than slots each may have one.
type slots struct {
	max int

	mu      sync.Mutex
	taken   map[*pipeline]int // of every kind
	changed chan struct{}     // closed and replaced when a waiter may try again
}

func newSlots(max int) *slots {
	return &slots{max: max, taken: map[*pipeline]int{}, changed: make(chan struct{})}
}

// enter makes a kind known.
func (s *slots) enter(p *pipeline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[p] = 0
}

// leave forgets a kind, none of whose requests are under way any more.
func (s *slots) leave(p *pipeline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, p)
	s.wake()
}

// acquire waits for a slot. The error is ctx's.
func (s *slots) acquire(ctx context.Context, p *pipeline) error {
	for {
		s.mu.Lock()
		if s.mayTake(p) {
			s.taken[p]++
			s.mu.Unlock()
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (s *slots) mayTake(p *pipeline) bool {
	if s.taken[p] == 0 {
		return true
	}
	spoken := 0 // taken, or kept for another kind
	for other, n := range s.taken {
		if n == 0 && other != p {
			n = 1
		}
		spoken += n
	}
	return spoken < s.max
}

// release gives a slot back.
func (s *slots) release(p *pipeline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[p]--
	s.wake()
}

func (s *slots) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}
