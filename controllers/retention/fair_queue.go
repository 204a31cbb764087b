// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"maps"
	"sync"
)

// queueKey identifies a lane: the subjects of a policy, of a namespace, or the retries of a namespace. Lanes share the
// workers evenly.
type queueKey struct {
	policy    string
	namespace string
	retries   bool
}

// fairQueue turns fairness into priorities, by start-time fair queueing: the n-th subject of a lane is served in the same
// turn as the n-th subjects of the other lanes. A lane that was empty joins the current turn. So the first subject of a
// lane waits for at most as many subjects as there are lanes, even if many wait in each.
type fairQueue struct {
	mu   sync.Mutex
	turn int              // the turn being served
	last map[queueKey]int // the turn of the latest subject of each lane, unless that turn is over
}

func newFairQueue() *fairQueue { return &fairQueue{last: map[queueKey]int{}} }

// join returns the queue priority of one more subject. The subject takes a turn of the lane where it comes first.
func (l *fairQueue) join(some ...queueKey) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn := l.next(some[0])
	for _, lane := range some[1:] {
		turn = min(turn, l.next(lane))
	}
	for _, lane := range some {
		if l.next(lane) == turn {
			l.last[lane] = turn
		}
	}
	return -turn
}

// next returns the next free turn of a lane. The caller holds the lock.
func (l *fairQueue) next(lane queueKey) int { return max(l.last[lane]+1, l.turn) }

// served is called with the priority of each subject that leaves the queue, and with the length that the queue had then:
// other subjects may have joined since.
func (l *fairQueue) served(priority, waiting int) {
	turn := -priority
	if waiting == 0 {
		turn++
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if turn > l.turn {
		l.turn = turn
		maps.DeleteFunc(l.last, func(_ queueKey, last int) bool { return last < turn })
	}
}
