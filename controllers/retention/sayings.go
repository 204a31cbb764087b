package retention

import (
	"sync"
	"time"
)

// saidAgain is how long a saying about one subject stands for those about others.
const saidAgain = time.Minute

// sayings keeps the log readable: what is in the way of one subject is, as a rule, in the way of thousands. The zero value is
// ready.
type sayings struct {
	mu   sync.Mutex
	last map[string]time.Time // by what was said to everybody
}

// level is at which level to log what is said of one subject: for everybody the first time in a while, then for those who want
// to know of each.
func (s *sayings) level(what string, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, said := s.last[what]; said && now.Sub(last) < saidAgain {
		return 1
	}
	if s.last == nil {
		s.last = map[string]time.Time{}
	}
	s.last[what] = now
	return 0
}
