// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// sumUpEvery is how often the log sums up repeated lines.
const sumUpEvery = time.Minute

// logDedup shortens the log: an error that prevents the deletion of one object often prevents thousands. The log has a line
// about the first object, and one line a minute that counts the others. The zero value is ready.
type logDedup struct {
	mu    sync.Mutex
	known map[logLine]*repeats
}

// logLine is the part that repeated lines share.
type logLine struct{ message, result string }

// repeats counts the repeated lines, which are logged at a higher verbosity, since the first one.
type repeats struct {
	since time.Time
	count int
}

// level returns the verbosity of a line about one object: 0 for the first of its kind in an interval, 1 for the others.
func (s *logDedup) level(message, result string, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[logLine]*repeats{}
	}
	is := logLine{message, result}
	if r := s.known[is]; r != nil {
		r.count++
		return 1
	}
	s.known[is] = &repeats{since: now}
	return 0
}

// sumUp logs how many lines were repeated in the intervals that have ended. The next line of the kind is at info again.
func (s *logDedup) sumUp(ctx context.Context, kind string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for is, r := range s.known {
		in := now.Sub(r.since)
		if in < sumUpEvery {
			continue
		}
		delete(s.known, is)
		if r.count > 0 {
			log.FromContext(ctx).Info(is.message+", and more", "kind", kind, "result", is.result, "more", r.count, "in", in.Round(time.Second).String())
		}
	}
}
