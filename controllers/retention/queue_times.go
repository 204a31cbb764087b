// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"sync"
	"time"
)

// queueTimes remembers since when the subjects in the queue of a pipeline wait, for their traces. nil remembers nothing.
type queueTimes struct {
	mu    sync.Mutex
	items map[item]waited
}

// queueTimesKept limits the memory for a long queue. The traces of the other subjects begin with the attempt.
const queueTimesKept = 100_000

// waited is what a subject has waited for until its attempt. A time is zero if the subject has not waited for that.
type waited struct {
	due      time.Time // since when it waits for its deletion, or for a retry
	reserved time.Time // since when it waited for its entry in the ledger
	recorded time.Time // until when; zero if it has waited for nothing after that
	archived time.Time // since when it waited for its record in the archive
	queued   time.Time // since when it waits in the queue
}

// newQueueTimes returns nil without tracing.
func newQueueTimes(tracing bool) *queueTimes {
	if !tracing {
		return nil
	}
	return &queueTimes{items: map[item]waited{}}
}

// join remembers a subject that joins the queue, where it waits from a time on. before is what it has waited for until now. If the
// subject is in the queue, the earlier time counts.
func (q *queueTimes) join(it item, at time.Time, before waited) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	known, queued := q.items[it]
	switch {
	case queued && at.After(known.queued), !queued && len(q.items) >= queueTimesKept:
		return
	case queued && before.due.IsZero():
		before = known
	}
	before.queued = at
	if before.due.IsZero() || at.Before(before.due) {
		before.due = at
	}
	q.items[it] = before
}

// take is called when an attempt begins.
func (q *queueTimes) take(it item) waited {
	if q == nil {
		return waited{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	known := q.items[it]
	delete(q.items, it)
	return known
}

// reserve returns what a subject has waited for that begins to wait for its entry in the ledger.
func (w waited) reserve(now time.Time) waited {
	if w.due.IsZero() {
		w.due = now
	}
	return waited{due: w.due, reserved: now}
}

// archive returns what a subject has waited for that begins to wait for its record in the archive.
func (w waited) archive(now time.Time) waited {
	if w.due.IsZero() {
		w.due = now
	}
	if w.archived.IsZero() {
		w.recorded, w.archived = w.queued, now
	}
	return w
}
