// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/bits"
	"time"
)

// period is a time in which deletions are not allowed, and the time after it in which they are.
type period struct {
	closed, opens time.Time
	from          time.Time     // the earliest time that it contains: closed, or later than opens if another window was open until then
	first         time.Time     // the earliest due time in it, if that is after closed; zero for closed
	open          time.Duration // how long they are allowed at least
}

func (p period) gap() time.Duration { return p.opens.Sub(p.closed) }

func (p period) closes() time.Time { return p.opens.Add(p.open) }

// spread is how long after opens the subjects are deleted that became due since closed: as long as the gap, but no longer than a day or
// half of the open time.
func (p period) spread() time.Duration {
	return min(p.gap(), p.open/2, Day).Truncate(time.Second)
}

// move gives the time at which a subject is deleted that becomes due at t. Subjects that become due between closed, or first, and the
// end of the spread are deleted during the spread, in the same order and in proportion. For all other times, move gives t.
func (p period) move(t time.Time) time.Time {
	spread := p.spread()
	begin, end := Latest(p.closed, p.first), p.opens.Add(spread)
	if spread <= 0 || t.Before(p.closed) || !t.Before(end) {
		return t
	}
	high, low := bits.Mul64(uint64(max(0, t.Sub(begin))), uint64(spread))
	after, _ := bits.Div64(high, low, uint64(end.Sub(begin)))
	return RoundUp(addTime(p.opens, time.Duration(after)), time.Second)
}

// SendTime is the maximum time between a decision and its request. A deletion is allowed only if it is still allowed that long
// after the decision, so that no request is sent when a window has closed or a freeze has begun.
const SendTime = time.Second

// opening gives the first time from t on at which the deletion is allowed. opens gives, for a time at which it is not allowed,
// when it is allowed again.
func opening(opens func(time.Time) time.Time, t time.Time) time.Time {
	for _, at := range [...]time.Time{t, t.Add(SendTime)} {
		if next := opens(at); next.After(at) {
			return next
		}
	}
	return t
}

// isOpen reports whether the deletion is allowed at t.
func isOpen(opens func(time.Time) time.Time, t time.Time) bool { return opening(opens, t).Equal(t) }
