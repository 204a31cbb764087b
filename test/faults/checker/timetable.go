// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// timetable is a list of windows of which one must be open.
type timetable struct {
	windows []v1alpha1.Window
	near    map[int64][]openTime // by the number of a day
}

// openTime is a period in which one of the windows is always open. It begins and ends when none is open.
type openTime struct {
	Span
	first time.Duration // of the longest window that opens at its beginning
}

// timetableOf returns the timetable of windows, the same one for the same windows.
func (j *checker) timetableOf(windows []v1alpha1.Window) *timetable {
	key := fmt.Sprint(windows)
	if j.timetables[key] == nil {
		j.timetables[key] = &timetable{windows: windows, near: map[int64][]openTime{}}
	}
	return j.timetables[key]
}

// read reads a window. A window that cannot be read makes the rule invalid, so it never opens here.
func read(w v1alpha1.Window) (schedule cron.Schedule, lasts time.Duration, ok bool) {
	zone := w.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	schedule, err := cron.ParseStandard("TZ=" + zone + " " + w.Schedule)
	duration, wrong := optionalDuration(w.Duration)
	if err != nil || wrong != nil || duration == nil {
		return nil, 0, false
	}
	return schedule, *duration, true
}

// isOpen reports whether a window is open.
func (t *timetable) isOpen(at time.Time) bool {
	return slices.ContainsFunc(t.windows, func(w v1alpha1.Window) bool {
		schedule, lasts, ok := read(w)
		return ok && !schedule.Next(at.Add(-lasts)).After(at)
	})
}

// around returns the open time that contains a time, or else the next one, and when the one before it has ended. It knows only
// windows of which one opens each week.
func (t *timetable) around(at time.Time) (closed time.Time, opens openTime, err error) {
	return around([]*timetable{t}, at)
}

// around returns the time in which all timetables are open that contains a time, or else the next one, and when the one before it has
// ended. The open time is zero if there is none in these weeks.
func around(timetables []*timetable, at time.Time) (closed time.Time, opens openTime, err error) {
	all := timetables[0].openTimes(at)
	for _, t := range timetables[1:] {
		all = both(all, t.openTimes(at))
	}
	next := slices.IndexFunc(all, func(o openTime) bool { return o.To.After(at) })
	switch {
	case len(all) == 0 && len(timetables) > 1:
		return closed, opens, nil
	case next > 0:
		closed, opens = all[next-1].To, all[next]
	case next == 0 && at.Sub(all[0].From) >= longestSpread:
		closed, opens = all[0].From, all[0]
	default:
		return closed, opens, fmt.Errorf("%w windows that do not open each week: %v", errUnsupported, timetables[0].windows)
	}
	if len(timetables) > 1 {
		opens.first = opens.To.Sub(opens.From)
		for _, t := range timetables {
			opens.first = min(opens.first, t.remaining(opens.From))
		}
	}
	return closed, opens, nil
}

// both returns the times that are in two lists of open times.
func both(a, b []openTime) (all []openTime) {
	for _, x := range a {
		for _, y := range b {
			if span := (Span{latest(x.From, y.From), earlier(x.To, y.To)}); span.From.Before(span.To) {
				all = append(all, openTime{Span: span})
			}
		}
	}
	return all
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// remaining returns how long the window that opened first stays open after a time, if windows are open at that time.
func (t *timetable) remaining(at time.Time) (left time.Duration) {
	var first time.Time
	for _, w := range t.windows {
		schedule, lasts, ok := read(w)
		if !ok {
			continue
		}
		if start := schedule.Next(at.Add(-lasts)); !start.After(at) && (first.IsZero() || !start.After(first)) {
			if !start.Equal(first) {
				left = 0
			}
			first, left = start, max(left, start.Add(lasts).Sub(at))
		}
	}
	return left
}

// openTimes returns all open times in the eight days before and after the day of a time.
func (t *timetable) openTimes(at time.Time) []openTime {
	const day = 24 * time.Hour
	today := at.Truncate(day)
	if known, ok := t.near[today.Unix()]; ok {
		return known
	}
	var each []openTime
	for _, w := range t.windows {
		schedule, lasts, ok := read(w)
		if !ok {
			continue
		}
		for start := schedule.Next(today.Add(-8*day - lasts)); !start.IsZero() && start.Before(today.Add(9*day)); start = schedule.Next(start) {
			each = append(each, openTime{Span{start, start.Add(lasts)}, lasts})
		}
	}
	slices.SortFunc(each, func(a, b openTime) int { return a.From.Compare(b.From) })
	t.near[today.Unix()] = joined(each)
	return t.near[today.Unix()]
}

// joined joins open times that overlap or touch.
func joined(each []openTime) (all []openTime) {
	for _, next := range each {
		if len(all) == 0 || next.From.After(all[len(all)-1].To) {
			all = append(all, next)
			continue
		}
		last := &all[len(all)-1]
		if next.From.Equal(last.From) {
			last.first = max(last.first, next.first)
		}
		last.To = latest(last.To, next.To)
	}
	return all
}
