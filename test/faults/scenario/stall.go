// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
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
	stallEvery = 20 * time.Millisecond  // between two checks
	stallAfter = 50 * time.Millisecond  // how late a check must be
	stallPause = 200 * time.Millisecond // in which a proxy surely notices a request
	stallMost  = 5 * time.Second        // the most that is allowed for
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

// before returns how late a request may have been noticed that was noticed at a time: the duration of the stalls without a pause until
// then. In a pause, the proxies would have noticed it.
func (s *stalls) before(at time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := at
	for _, stall := range slices.Backward(s.spans) {
		if from.Sub(stall.To) >= stallPause {
			break
		}
		if stall.From.Before(from) {
			from = stall.From
		}
	}
	return min(at.Sub(from), stallMost)
}
