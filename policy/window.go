// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Window opens at the times of a cron schedule, for a duration.
type Window struct {
	Schedule string
	TimeZone string // empty for UTC
	Duration time.Duration
	starts   *Schedule
}

// String is the window for users.
func (w *Window) String() string {
	zone := w.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	return fmt.Sprintf("%q for %s in %s", w.Schedule, FormatTTL(w.Duration), zone)
}

// earliest is the start of the first opening that is not over at t. The window is open at t if that is not after t.
func (w *Window) earliest(t time.Time) time.Time { return w.starts.Next(t.Add(-w.Duration)) }

// closed is the end of the last opening that begins before t. Zero if there is none.
func (w *Window) closed(t time.Time) time.Time {
	if start := w.starts.Last(t); !start.IsZero() {
		return start.Add(w.Duration)
	}
	return time.Time{}
}

// Windows are the windows of a policy or an override. Deletions are allowed while at least one of them is open. They do not
// change, and are safe for concurrent use.
type Windows struct {
	By   string // the policy that has them, as NAMESPACE/NAME for a RetentionPolicy
	List []*Window

	mu    sync.Mutex
	known []period // ordered by time
}

// String is the windows for users.
func (w *Windows) String() string {
	texts := make([]string, len(w.List))
	for i, one := range w.List {
		texts[i] = one.String()
	}
	return strings.Join(texts, ", ")
}

// sameWindows reports whether both have the same windows by the same policies.
func sameWindows(a, b []*Windows) bool {
	return slices.EqualFunc(a, b, func(x, y *Windows) bool { return x == y || x.By == y.By && x.String() == y.String() })
}

// periodsKnown limits how many periods are remembered.
const periodsKnown = 1024

// period gives the period that contains a time. It remembers periods, because many subjects are due in the same ones.
func (w *Windows) period(t time.Time) period {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, found := w.index(t)
	if !found {
		if len(w.known) == periodsKnown {
			w.known, i = nil, 0
		}
		w.known = slices.Insert(w.known, i, w.find(t))
	}
	return w.known[i]
}

// index gives the place of a time among the known periods. The caller holds the lock.
func (w *Windows) index(t time.Time) (i int, found bool) {
	return slices.BinarySearchFunc(w.known, t, func(p period, t time.Time) int {
		switch {
		case t.Before(p.from):
			return 1
		case t.Before(p.closes()):
			return 0
		default:
			return -1
		}
	})
}

// opens gives when the windows open that are open at a time, or otherwise when the next one opens.
func (w *Windows) opens(t time.Time) time.Time { return w.period(t).opens }

func (w *Windows) first(t time.Time) (opens time.Time) {
	for _, one := range w.List {
		opens = Soonest(opens, one.earliest(t))
	}
	return opens
}

// find computes the period that contains a time. If a window opens while another is open, that does not begin a period: the
// result is then an empty time in which nothing was closed, and contains the time from which on no other window is open.
func (w *Windows) find(t time.Time) period {
	p := period{opens: w.first(t)}
	for _, one := range w.List {
		if one.earliest(t).Equal(p.opens) {
			p.open = max(p.open, one.Duration)
		}
		p.closed = Latest(p.closed, one.closed(p.opens))
	}
	p.from, p.closed = Soonest(p.closed, t), Soonest(p.closed, p.opens)
	return p
}

// lastOpen gives the last time up to t until which the windows were open; zero if there is none.
func (w *Windows) lastOpen(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	before := t.Add(-1)
	if p := w.period(before); p.opens.After(before) {
		return p.closed
	}
	return t
}

// commonPeriod gives the period that contains t, or else the next one, of the times at which all of the windows are open. Its open time
// ends when the first of the windows that are open at its beginning closes. Its first due time is the first time at which all but the last
// are open: they have moved what became due before. It is empty if a hundred openings have no such time.
func commonPeriod(all []*Windows, t time.Time) (p period) {
	if len(all) == 1 {
		return all[0].period(t)
	}
	var ok bool
	if p.opens, ok = commonOpening(all, t); !ok {
		return p
	}
	var closes time.Time
	for _, w := range all {
		closes = Soonest(closes, w.period(p.opens).closes())
	}
	p.open = closes.Sub(p.opens)
	p.closed, _ = settle(p.opens, func(t time.Time) time.Time {
		for _, w := range all {
			t = w.lastOpen(t)
		}
		return t
	})
	p.first, _ = commonOpening(all[:len(all)-1], p.closed)
	return p
}

// commonOpening gives when the period of commonPeriod opens. ok is false if a hundred openings have no such time.
func commonOpening(all []*Windows, t time.Time) (opens time.Time, ok bool) {
	if len(all) == 1 {
		return all[0].period(t).opens, true
	}
	open, ok := settle(t, func(t time.Time) time.Time {
		for _, w := range all {
			t = Latest(t, w.period(t).opens) // which is remembered
		}
		return t
	})
	if !ok {
		return opens, false
	}
	for _, w := range all {
		opens = Latest(opens, w.opens(open))
	}
	return opens, true
}

// Open reports whether the windows allow a deletion at t.
func (w *Windows) Open(t time.Time) bool { return isOpen(w.opens, t) }

// Closing gives the first time from t on at which no window is open. If windows overlap for long, it is a time before that.
func (w *Windows) Closing(t time.Time) time.Time {
	const overlaps = 1000
	for range overlaps {
		end := t
		for _, one := range w.List {
			if start := one.earliest(t); !start.After(t) {
				end = start.Add(one.Duration)
			}
		}
		if end.Equal(t) {
			break
		}
		t = end
	}
	return t
}

// Freeze is a time in which nothing is deleted.
type Freeze struct {
	By       string // the policy that has it, as NAMESPACE/NAME for a RetentionPolicy
	From, To time.Time
	Reason   string
	All      bool // applies to the rules of all policies
}

// period gives the time of the freeze, and then an open time without an end.
func (f Freeze) period(time.Time) period {
	return period{closed: f.From, opens: f.To, open: math.MaxInt64}
}

// isIn reports whether one of the freezes is at least as long, for at least as many policies.
func (f Freeze) isIn(freezes []Freeze) bool {
	return slices.ContainsFunc(freezes, func(o Freeze) bool { return !o.From.After(f.From) && !o.To.Before(f.To) && (o.All || !f.All) })
}

func (f Freeze) compare(o Freeze) int {
	return cmp.Or(f.From.Compare(o.From), f.To.Compare(o.To), strings.Compare(f.By, o.By))
}

// opens gives the end of the freeze at a time within it, and otherwise the same time.
func (f Freeze) opens(t time.Time) time.Time {
	if t.Before(f.From) || t.After(f.To) {
		return t
	}
	return f.To
}

// String is the freeze for users.
func (f Freeze) String() string {
	text := fmt.Sprintf("from %s to %s by policy %s", f.From.Format(time.RFC3339), f.To.Format(time.RFC3339), f.By)
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}
