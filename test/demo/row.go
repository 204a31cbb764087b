// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// row is one line of the live table.
type row struct {
	name, state, finished, ttl, due, fate string
	tone                                  tone // tone of fate
}

// rowOf describes one Job and its next event.
func rowOf(j job, h history, now time.Time) row {
	r := h.at(now)
	if !j.gone.IsZero() {
		r = h.at(j.gone)
	}
	w := row{name: j.namespace + "/" + j.name, state: j.state(), finished: "-", ttl: "-", due: "-"}
	if !j.finished.IsZero() {
		w.finished = clockTime(j.finished)
	}
	if due, ok := j.due(r); ok {
		ttl, _ := j.ttl(r)
		w.ttl, w.due = ttl.String(), clockTime(due)
	}
	w.fate, w.tone = fateOf(j, h, r, now)
	return w
}

func fateOf(j job, h history, r rules, now time.Time) (string, tone) {
	if !j.gone.IsZero() {
		late, since := j.lateness(h)
		return "deleted " + span(late) + " after " + since, quiet
	}
	if j.finished.IsZero() && j.selected(r) {
		return "kept while it runs", quiet
	}
	if why := j.kept(r); why != "" {
		return "kept: " + why, steady
	}
	due, _ := j.due(r)
	return forecast(due, r.mode, now)
}

func forecast(due time.Time, mode v1alpha1.Mode, now time.Time) (string, tone) {
	left := due.Sub(now)
	seconds := (left.Abs() + time.Second - 1).Truncate(time.Second) // rounded up: a deletion in 2.1s has not happened after 2s
	switch {
	case mode == v1alpha1.Enforce && left > 0:
		return "will be deleted in " + seconds.String(), urgent
	case mode == v1alpha1.Enforce:
		return "due", urgent
	case left > 0:
		return "would be deleted in " + seconds.String(), plainTone
	default:
		return "would be deleted", plainTone
	}
}

func clockTime(t time.Time) string { return t.UTC().Format(time.TimeOnly) }

// span formats a duration for people: milliseconds below a second, then tenths.
func span(d time.Duration) string {
	if d.Abs() < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
