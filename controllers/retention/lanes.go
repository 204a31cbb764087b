package retention

import "sync"

// lane is what shares the workers evenly with other lanes.
type lane struct {
	policy    string
	namespace string
}

// lanes turns fairness into priorities, by start-time fair queueing: the n-th subject of a lane is served after the n-th
// subjects of the others, however many wait before it in its own lane.
type lanes struct {
	mu   sync.Mutex
	turn int          // the turn being served
	last map[lane]int // the turn of the latest subject of each lane that has one ahead
}

func newLanes() *lanes { return &lanes{last: map[lane]int{}} }

// join gives the queue priority for one more subject of a lane.
func (l *lanes) join(lane lane) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn := max(l.last[lane], l.turn) + 1
	l.last[lane] = turn
	return -turn
}

// served is told the priority of each subject that leaves the queue.
func (l *lanes) served(priority int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if -priority <= l.turn {
		return
	}
	l.turn = -priority
	for lane, last := range l.last {
		if last <= l.turn {
			delete(l.last, lane)
		}
	}
}
