// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"sync"
	"time"
)

// stalls are the periods in which this process did not get a processor. The proxies are part of it: they notice a request of a replica
// only afterwards.
type stalls struct {
	begin sync.Once
	mu    sync.Mutex
	spans []span
}

var stalled stalls

const (
	stallEvery = 20 * time.Millisecond // between two checks
	stallAfter = 50 * time.Millisecond // how late a check must be
	stallReach = 5 * time.Second       // how long before a request stalls count
)

// watch begins to record stalls, until the process ends.
func (s *stalls) watch() {
	s.begin.Do(func() {
		go func() {
			for {
				began := time.Now()
				time.Sleep(stallEvery)
				s.note(began.Add(stallEvery), time.Now())
			}
		}()
	})
}

// note records a check that was expected at one time and came at another.
func (s *stalls) note(expected, came time.Time) {
	if came.Sub(expected) < stallAfter {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, span{From: expected, To: came})
}

// before returns how late a request may have been noticed that was noticed at a time: the sum of the stalls shortly before.
func (s *stalls) before(at time.Time) (late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.spans) - 1; i >= 0 && at.Sub(s.spans[i].To) < stallReach; i-- {
		late += max(0, min(at.Sub(s.spans[i].From), stallReach)-max(0, at.Sub(s.spans[i].To)))
	}
	return late
}
