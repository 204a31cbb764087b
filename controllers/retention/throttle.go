// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

const (
	// slowAfter is how long a check or a request may take before it counts as slow. Then its attempt gives up its worker
	// slot.
	slowAfter = 250 * time.Millisecond
	// throttledFor is how long a namespace is throttled after its last slow or failed attempt. It is longer than most
	// backoffs of a failed attempt.
	throttledFor = time.Minute
	// throttledRetry is the longest pause of a namespace after a failed attempt. If the permission is missing, the pause is
	// deniedRetry.
	throttledRetry = time.Second
	// ledgerTurn is how long a lane of a throttled namespace waits for a subject that is being recorded in a ledger.
	ledgerTurn = time.Second
)

// throttle prevents namespaces of one kind in which attempts are slow or fail from delaying others.
//
// A namespace is throttled if an attempt in it fails. It is also throttled by a slow step of an attempt: a step, such as
// the checks or the request, that takes longer than slowAfter, while no other attempt in the namespace succeeds. If more
// than a quarter of the workers have slow attempts in the namespace, successes do not count. A slow attempt gives up its
// worker slot. Due subjects of throttled namespaces wait here, without a slot, for workers that serve throttled namespaces
// only.
//
// The window of a namespace is how many of its subjects these workers attempt at a time. A failure sets it to one, and each
// success adds one. An attempt that takes longer than stuckAfter does not count against the window. After enough quick
// successes in a row the namespace is no longer throttled. Cluster-scoped subjects share one namespace, "".
//
// So a namespace delays others by at most slowAfter, for each attempt that begins before the first one is slow.
type throttle struct {
	clock clock.Clock
	max   int // workers for throttled namespaces

	mu         sync.Mutex
	namespaces map[string]*load // the throttled ones, and those with attempts in flight
	places     map[item]*place
	waiting    map[queueKey][]item // due subjects of throttled namespaces
	turns      []string            // namespaces with waiting subjects, the next one first
	workers    int
	stopped    bool
	changed    wake.Broadcast // waiting workers should check again
}

// load is the state of one namespace.
type load struct {
	underWay int
	slow     int       // slow attempts in flight
	goodAt   time.Time // when the last quick success came

	throttled bool
	failures  int       // in a row
	window    int       // how many attempts may be in flight while it is throttled
	good      int       // quick successes in a row
	waiting   int       // subjects
	until     time.Time // when throttling ends if no subject waits and no attempt is in flight
	notBefore time.Time // end of the pause after a failure

	turns        []queueKey             // lanes with waiting subjects, the next one first
	recorded     map[queueKey]bool      // the next subject of the lane is recorded in a ledger
	awaitsRecord map[queueKey]time.Time // the lane waits until then for a subject that is being recorded
}

// place is the state of one attempt.
type place struct {
	began       time.Time
	withoutSlot bool          // it has no worker slot, because its namespace is throttled
	slow        bool          // one of its steps takes longer than slowAfter
	gaveUpSlot  bool          // it has given up its worker slot
	took        time.Duration // its longest step
	replace     func()        // starts a worker that replaces this one
}

func newThrottle(c clock.Clock, max int) *throttle {
	return &throttle{
		clock: c, max: max, namespaces: map[string]*load{}, places: map[item]*place{}, waiting: map[queueKey][]item{},
	}
}

// enter begins an attempt, unless the namespace is throttled.
func (t *throttle) enter(it item, replace func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.load(it.namespace)
	if l.throttled {
		return false
	}
	l.underWay++
	t.places[it] = &place{began: t.clock.Now(), replace: replace}
	return true
}

// load returns the state of a namespace, and creates it if there is none.
func (t *throttle) load(namespace string) *load {
	if l := t.namespaces[namespace]; l != nil && !l.isOver(t.clock.Now()) {
		return l
	}
	l := &load{recorded: map[queueKey]bool{}, awaitsRecord: map[queueKey]time.Time{}}
	t.namespaces[namespace] = l
	return l
}

// isOver reports whether a namespace can be forgotten.
func (l *load) isOver(now time.Time) bool {
	return l.underWay == 0 && l.waiting == 0 && (!l.throttled || now.After(l.until))
}

// begin throttles a namespace, or prolongs the throttling. News reports that it was not throttled before.
func (t *throttle) begin(l *load) (news bool) {
	now := t.clock.Now()
	if news = !l.throttled; news {
		maps.DeleteFunc(t.namespaces, func(_ string, o *load) bool { return o != l && o.isOver(now) })
		l.throttled, l.window = true, max(1, l.underWay)
	}
	l.good, l.until = 0, now.Add(throttledFor)
	return news
}

// isSlow records that a step takes longer than slowAfter. If give is true, and the attempt has a worker slot, it gives up
// the slot, and another worker starts. News reports that the namespace is throttled from now on.
func (t *throttle) isSlow(it item, give bool) (gaveUp, news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pl := t.places[it]
	if pl == nil || pl.withoutSlot || pl.slow {
		return false, false
	}
	l := t.namespaces[it.namespace]
	pl.slow = true
	l.slow++
	if l.slow > t.max/4 || t.clock.Now().Sub(l.goodAt) > slowAfter {
		news = t.begin(l)
	}
	if pl.gaveUpSlot = give; give {
		pl.replace() // under the lock: the attempt cannot end before
	}
	return give, news
}

// leave ends an attempt; nil means that no request was attempted. If the namespace is no longer throttled, back has the
// subjects that waited in it. Fresh reports that the namespace was not throttled when the attempt ended.
func (t *throttle) leave(it item, attempt *Outcome) (pl *place, back map[queueKey][]item, fresh, news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pl = t.places[it]
	delete(t.places, it)
	l := t.namespaces[it.namespace]
	fresh = !l.throttled
	l.underWay--
	if pl.slow {
		l.slow--
	}
	news = t.learn(l, attempt, pl.took)
	if l.throttled && l.good >= t.max {
		l.throttled = false
		back = t.release(it.namespace, l)
	}
	if l.isOver(t.clock.Now()) {
		delete(t.namespaces, it.namespace)
	}
	t.changed.Send()
	return pl, back, fresh, news
}

// learn adapts the state of a namespace to the result of an attempt.
func (t *throttle) learn(l *load, attempt *Outcome, took time.Duration) (news bool) {
	switch {
	case attempt == nil || attempt.Unsent:
	case attempt.asksForLess(): // no reason to throttle the namespace
		l.window, l.notBefore = 1, t.clock.Now().Add(throttledRetry)
	case attempt.isBad(took):
		news = t.begin(l)
		l.failures, l.window = l.failures+1, 1
		rest := min(throttledRetry, retryFirst<<min(l.failures-1, 10))
		if attempt.Result == Denied {
			rest = deniedRetry
		}
		l.notBefore = t.clock.Now().Add(rest)
	case took >= slowAfter:
		l.failures, l.good, l.window = 0, 0, min(t.max, l.window+1)
		l.until = t.clock.Now().Add(throttledFor)
	default:
		l.failures, l.good, l.window = 0, l.good+1, min(t.max, l.window+1)
		l.goodAt = t.clock.Now()
	}
	return news
}

// isBad reports whether the namespace may attempt only one subject at a time after this outcome.
func (o *Outcome) isBad(took time.Duration) bool {
	switch o.Result {
	case Failed, Busy, Denied, Unadmitted:
		return true
	case Refused:
		return took >= slowAfter
	default:
		return false
	}
}
