package retention

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
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
	turns      []queueKey          // lanes with waiting subjects, the next one first
	workers    int
	stopped    bool
	changed    chan struct{} // closed and replaced when a waiting worker should check again
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
		clock: c, max: max, namespaces: map[string]*load{}, places: map[item]*place{}, waiting: map[queueKey][]item{}, changed: make(chan struct{}),
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
	t.signal()
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

// release removes and returns the subjects that wait in a namespace.
func (t *throttle) release(namespace string, l *load) map[queueKey][]item {
	back := map[queueKey][]item{}
	for _, key := range t.turns {
		if key.namespace == namespace {
			back[key] = t.waiting[key]
			delete(t.waiting, key)
		}
	}
	t.turns = slices.DeleteFunc(t.turns, func(key queueKey) bool { return key.namespace == namespace })
	l.waiting = 0
	clear(l.recorded)
	return back
}

// park lets a subject wait. If stands is true (it is recorded in a ledger), it becomes the first of its lane. Kept is false
// if another subject already is, or if this one is not recorded. Start is called if another worker is needed.
func (t *throttle) park(it item, key queueKey, isRecorded bool, start func()) (kept bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	l := t.load(it.namespace)
	l.waiting++
	if len(t.waiting[key]) == 0 {
		t.turns = append(t.turns, key)
	}
	if kept = isRecorded && !l.recorded[key]; kept {
		l.recorded[key] = true
		t.waiting[key] = slices.Insert(t.waiting[key], 0, it)
	} else {
		t.waiting[key] = append(t.waiting[key], it)
	}
	if t.workers < t.max {
		t.workers++
		start()
	}
	t.signal()
	return kept
}

// awaitRecord records that a subject is being recorded in a ledger: in a throttled namespace its lane waits for it.
func (t *throttle) awaitRecord(namespace string, key queueKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.namespaces[namespace]; l != nil && l.throttled {
		l.awaitsRecord[key] = t.clock.Now().Add(ledgerTurn)
	}
}

// next waits until a subject may be attempted, and begins the attempt. Failing reports that the last attempt in its
// namespace failed. It reports false if no subject waits, or after stop.
func (t *throttle) next(ctx context.Context) (it item, failing, ok bool) {
	for {
		t.mu.Lock()
		if len(t.turns) == 0 || t.stopped || ctx.Err() != nil {
			t.workers--
			t.mu.Unlock()
			return it, false, false
		}
		it, failing, wait, ok := t.take()
		changed := t.changed
		t.mu.Unlock()
		if ok {
			return it, failing, true
		}
		_ = pause(ctx, t.clock, changed, wait)
	}
}

// take begins an attempt in the first namespace that may have one. Otherwise it returns how long to wait; zero means until
// a change.
func (t *throttle) take() (it item, failing bool, wait time.Duration, ok bool) {
	now, underWay := t.clock.Now(), 0
	for _, l := range t.namespaces {
		if l.failures > 0 {
			underWay += l.underWay
		}
	}
	stuck, next := t.stuck(now)
	for i, key := range t.turns {
		l := t.load(key.namespace)
		rest := l.notBefore.Sub(now)
		if !l.recorded[key] {
			rest = max(rest, l.awaitsRecord[key].Sub(now))
		}
		switch {
		case l.failures > 0 && underWay >= max(1, t.max/4):
			continue
		case l.throttled && l.underWay-stuck[key.namespace] >= l.window:
			rest = max(rest, next[key.namespace].Sub(now), throttledRetry)
		}
		if rest > 0 {
			if wait == 0 || rest < wait {
				wait = rest
			}
			continue
		}
		it = t.waiting[key][0]
		t.turns = slices.Delete(t.turns, i, i+1)
		if t.waiting[key] = t.waiting[key][1:]; len(t.waiting[key]) == 0 {
			delete(t.waiting, key)
		} else {
			t.turns = append(t.turns, key)
		}
		l.waiting--
		l.underWay++
		if l.recorded[key] { // no other subject was recorded since
			delete(l.recorded, key)
			delete(l.awaitsRecord, key)
		}
		t.places[it] = &place{began: now, withoutSlot: true}
		return it, l.failures > 0, 0, true
	}
	return it, false, wait, false
}

// stop lets the workers end.
func (t *throttle) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.signal()
}

func (t *throttle) signal() {
	close(t.changed)
	t.changed = make(chan struct{})
}
