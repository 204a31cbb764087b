// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"slices"
	"time"
)

// release removes and returns the subjects that wait in a namespace.
func (t *throttle) release(namespace string, l *load) map[queueKey][]item {
	back := map[queueKey][]item{}
	for _, key := range l.turns {
		back[key] = t.waiting[key]
		delete(t.waiting, key)
	}
	l.turns = nil
	t.turns = slices.DeleteFunc(t.turns, func(other string) bool { return other == namespace })
	l.waiting = 0
	clear(l.recorded)
	return back
}

// park lets a subject wait. If isRecorded is true (it is recorded in a ledger), it becomes the first of its lane. It does not wait if
// another recorded subject is the first, or after stop. Start is called if another worker is needed.
func (t *throttle) park(it item, key queueKey, isRecorded bool, start func()) (parked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	l := t.load(it.namespace)
	if isRecorded && l.recorded[key] {
		return false
	}
	l.waiting++
	if len(l.turns) == 0 {
		t.turns = append(t.turns, it.namespace)
	}
	if len(t.waiting[key]) == 0 {
		l.turns = append(l.turns, key)
	}
	if isRecorded {
		l.recorded[key] = true
		t.waiting[key] = slices.Insert(t.waiting[key], 0, it)
	} else {
		t.waiting[key] = append(t.waiting[key], it)
	}
	if t.workers < t.max {
		t.workers++
		start()
	}
	t.changed.Send()
	return true
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
		changed := t.changed.C()
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
	for i, namespace := range t.turns {
		l := t.load(namespace)
		if l.failures > 0 && underWay >= max(1, t.max/4) {
			continue
		}
		rest := l.notBefore.Sub(now)
		if l.throttled && l.underWay-stuck[namespace] >= l.window {
			rest = max(rest, next[namespace].Sub(now), throttledRetry)
		}
		k, recordedAfter := l.nextLane(now)
		if rest = max(rest, recordedAfter); rest > 0 {
			if wait == 0 || rest < wait {
				wait = rest
			}
			continue
		}
		key := l.turns[k]
		it = t.waiting[key][0]
		t.turns, l.turns = slices.Delete(t.turns, i, i+1), slices.Delete(l.turns, k, k+1)
		if t.waiting[key] = t.waiting[key][1:]; len(t.waiting[key]) == 0 {
			delete(t.waiting, key)
		} else {
			l.turns = append(l.turns, key)
		}
		if len(l.turns) > 0 {
			t.turns = append(t.turns, namespace)
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

// nextLane returns the position of the first lane that need not wait for a record in a ledger. If each has to wait, it returns
// how long.
func (l *load) nextLane(now time.Time) (lane int, wait time.Duration) {
	for i, key := range l.turns {
		rest := l.awaitsRecord[key].Sub(now)
		if l.recorded[key] || rest <= 0 {
			return i, 0
		}
		if wait == 0 || rest < wait {
			wait = rest
		}
	}
	return 0, wait
}

// stop lets the workers end.
func (t *throttle) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.changed.Send()
}
