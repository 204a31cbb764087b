// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"time"
)

// stuckAfter is how long an attempt counts against the window of its namespace.
const stuckAfter = 15 * time.Second

// stuck returns how many attempts in each namespace have taken longer than stuckAfter, and when the next one will have.
func (t *throttle) stuck(now time.Time) (n map[string]int, next map[string]time.Time) {
	n, next = map[string]int{}, map[string]time.Time{}
	for it, pl := range t.places {
		at := pl.began.Add(stuckAfter)
		if !at.After(now) {
			n[it.namespace]++
		} else if known, ok := next[it.namespace]; !ok || at.Before(known) {
			next[it.namespace] = at
		}
	}
	return n, next
}

// took records how long a step of an attempt took.
func (t *throttle) took(it item, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if pl := t.places[it]; pl != nil {
		pl.took = max(pl.took, took)
	}
}

// throttled returns the namespaces that are throttled, in order.
func (t *throttle) throttled() (names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	for namespace, l := range t.namespaces {
		if l.throttled && !l.isOver(now) {
			names = append(names, namespace)
		}
	}
	slices.Sort(names)
	return names
}
