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
	// slowAfter is how long a check or a request may take until it counts as slow: others get the place of its attempt.
	slowAfter = 250 * time.Millisecond
	// throttledFor is how long a namespace is throttled after its last slow or failed attempt. It is longer than what failed
	// waits for its next attempt.
	throttledFor = time.Minute
	// throttledRetry is how long a namespace rests at most after an attempt that failed, but for want of permission.
	throttledRetry = time.Second
	// ledgerTurn is how long a lane of a throttled namespace waits for the subject that is written down, before the next.
	ledgerTurn = time.Second
)

// throttle keeps namespaces of one kind whose attempts are slow or fail from delaying others. An attempt of which a step takes longer than
// slowAfter, be it the checks or the request, gives its place away, and its namespace is throttled unless others of its attempts are answered meanwhile. So is one
// in which an attempt fails. What is due in a throttled namespace waits here, and not for a place of others: workers of its own
// attempt it, as many at a time as the namespace's window says. A failure makes the window one, each good answer one wider.
// An attempt that has been under way for longer than stuckAfter leaves its place in the window to another.
// A namespace whose answers are quick and good again is throttled no more. Subjects without a namespace share one, "".
//
// What a namespace costs others is bounded by that: slowAfter for each attempt that begins before the first is slow.
type throttle struct {
	clock clock.Clock
	max   int // workers

	mu         sync.Mutex
	namespaces map[string]*load // those throttled, or with attempts under way
	places     map[item]*place
	waiting    map[lane][]item // due subjects of throttled namespaces
	turns      []lane          // of what waits, the next first
	workers    int
	stopped    bool
	changed    chan struct{} // closed and replaced when a worker may look again
}

// load is what the attempts in a namespace come to.
type load struct {
	underWay int
	slow     int       // of those under way: they have given their place away
	goodAt   time.Time // when a quick and good answer came last

	throttled bool
	failures  int       // bad answers in a row
	window    int       // how many may be under way while it is throttled
	good      int       // quick and good answers in a row
	waiting   int       // subjects
	until     time.Time // when it is throttled no more, if nothing waits or is under way
	notBefore time.Time // it rests, as attempts fail

	stands     map[lane]bool      // the next subject of the lane stands in a ledger
	writtenFor map[lane]time.Time // until when one that is being written down is waited for
}

// place is what one attempt has to itself.
type place struct {
	began   time.Time
	beside  bool          // it takes no place of others: its namespace is throttled
	slow    bool          // one of its steps takes longer than slowAfter
	given   bool          // it has given its place away
	took    time.Duration // its longest step
	replace func()        // starts a worker that takes over
}

func newThrottle(c clock.Clock, max int) *throttle {
	return &throttle{
		clock: c, max: max, namespaces: map[string]*load{}, places: map[item]*place{}, waiting: map[lane][]item{}, changed: make(chan struct{}),
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

// load gives what is known of a namespace.
func (t *throttle) load(namespace string) *load {
	if l := t.namespaces[namespace]; l != nil && !l.isOver(t.clock.Now()) {
		return l
	}
	l := &load{stands: map[lane]bool{}, writtenFor: map[lane]time.Time{}}
	t.namespaces[namespace] = l
	return l
}

// isOver reports whether a namespace can be forgotten.
func (l *load) isOver(now time.Time) bool {
	return l.underWay == 0 && l.waiting == 0 && (!l.throttled || now.After(l.until))
}

// begin throttles a namespace from now on, and reports whether it was not.
func (t *throttle) begin(l *load) (news bool) {
	now := t.clock.Now()
	if news = !l.throttled; news {
		maps.DeleteFunc(t.namespaces, func(_ string, o *load) bool { return o != l && o.isOver(now) })
		l.throttled, l.window = true, max(1, l.underWay)
	}
	l.good, l.until = 0, now.Add(throttledFor)
	return news
}

// isSlow notes that a step takes longer than slowAfter. If give is true, and the attempt has a place that others want, it
// gives that away. News says that the namespace is throttled from now on.
func (t *throttle) isSlow(it item, give bool) (given, news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pl := t.places[it]
	if pl == nil || pl.beside || pl.slow {
		return false, false
	}
	l := t.namespaces[it.namespace]
	pl.slow = true
	l.slow++
	if l.slow > t.max/4 || t.clock.Now().Sub(l.goodAt) > slowAfter {
		news = t.begin(l)
	}
	if pl.given = give; give {
		pl.replace() // here, as the one that it replaces cannot leave before
	}
	return give, news
}

// leave ends an attempt; nil says that nothing was attempted. What waits in its namespace comes back if that is throttled no
// more. Fresh says that the namespace was not throttled when the answer came.
func (t *throttle) leave(it item, attempt *Outcome) (pl *place, back map[lane][]item, fresh, news bool) {
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

// learn draws from an answer what it says of the namespace.
func (t *throttle) learn(l *load, attempt *Outcome, took time.Duration) (news bool) {
	switch {
	case attempt == nil || attempt.Unsent:
	case attempt.asksForLess(): // this does not begin throttling
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

// isBad reports whether the namespace is not to be asked more than once at a time.
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

// release takes out what waits in a namespace.
func (t *throttle) release(namespace string, l *load) map[lane][]item {
	back := map[lane][]item{}
	for _, ln := range t.turns {
		if ln.namespace == namespace {
			back[ln] = t.waiting[ln]
			delete(t.waiting, ln)
		}
	}
	t.turns = slices.DeleteFunc(t.turns, func(ln lane) bool { return ln.namespace == namespace })
	l.waiting = 0
	clear(l.stands)
	return back
}

// park has a subject wait. One that stands in a ledger is the next of its lane, if it is the only one: kept is false when
// another is. Start is called when a worker is needed.
func (t *throttle) park(it item, ln lane, stands bool, start func()) (kept bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	l := t.load(it.namespace)
	l.waiting++
	if len(t.waiting[ln]) == 0 {
		t.turns = append(t.turns, ln)
	}
	if kept = stands && !l.stands[ln]; kept {
		l.stands[ln] = true
		t.waiting[ln] = slices.Insert(t.waiting[ln], 0, it)
	} else {
		t.waiting[ln] = append(t.waiting[ln], it)
	}
	if t.workers < t.max {
		t.workers++
		start()
	}
	t.signal()
	return kept
}

// isWritten notes that a subject is being written down: in a throttled namespace its lane waits for it before another is.
func (t *throttle) isWritten(namespace string, ln lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.namespaces[namespace]; l != nil && l.throttled {
		l.writtenFor[ln] = t.clock.Now().Add(ledgerTurn)
	}
}

// next waits for a subject that may be attempted now, and begins the attempt. Failing says that the namespace's latest failed.
// It is not ok when nothing waits, or nothing is to be attempted any more.
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

// take begins an attempt in the first namespace that may have one, or gives how long to wait; zero until something changes.
func (t *throttle) take() (it item, failing bool, wait time.Duration, ok bool) {
	now, underWay := t.clock.Now(), 0
	for _, l := range t.namespaces {
		if l.failures > 0 {
			underWay += l.underWay
		}
	}
	stuck, next := t.stuck(now)
	for i, ln := range t.turns {
		l := t.load(ln.namespace)
		rest := l.notBefore.Sub(now)
		if !l.stands[ln] {
			rest = max(rest, l.writtenFor[ln].Sub(now))
		}
		switch {
		case l.failures > 0 && underWay >= max(1, t.max/4):
			continue
		case l.throttled && l.underWay-stuck[ln.namespace] >= l.window:
			rest = max(rest, next[ln.namespace].Sub(now), throttledRetry)
		}
		if rest > 0 {
			if wait == 0 || rest < wait {
				wait = rest
			}
			continue
		}
		it = t.waiting[ln][0]
		t.turns = slices.Delete(t.turns, i, i+1)
		if t.waiting[ln] = t.waiting[ln][1:]; len(t.waiting[ln]) == 0 {
			delete(t.waiting, ln)
		} else {
			t.turns = append(t.turns, ln)
		}
		l.waiting--
		l.underWay++
		if l.stands[ln] { // nothing else has been written down meanwhile
			delete(l.stands, ln)
			delete(l.writtenFor, ln)
		}
		t.places[it] = &place{began: now, beside: true}
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
