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
func rowOf(j job, f frame) row {
	r := f.rules.at(f.now)
	if !j.gone.IsZero() {
		r = f.rules.at(j.gone)
	}
	w := row{name: j.namespace + "/" + j.name, state: j.state(), finished: "-", ttl: "-", due: "-"}
	if !j.finished.IsZero() {
		w.finished = clockTime(j.finished)
	}
	if due, ok := j.due(r); ok {
		ttl, _ := j.ttl(r)
		w.ttl, w.due = ttl.String(), clockTime(due)
	}
	w.fate, w.tone = fateOf(j, f, r)
	return w
}

func fateOf(j job, f frame, r rules) (string, tone) {
	if !j.gone.IsZero() {
		late, since := j.lateness(f.rules)
		return "deleted " + span(late) + " after " + since, quiet
	}
	if j.finished.IsZero() && j.selected(r) {
		return "kept while it runs", quiet
	}
	if why := j.kept(r); why != "" {
		return "kept: " + why, steady
	}
	due, _ := j.due(r)
	return forecast(due.Sub(f.now), r.mode == v1alpha1.Enforce && f.policy.status.PendingApproval == nil)
}

// forecast says what happens to a Job that is due in this time, or was due, if the policy deletes or only counts.
func forecast(left time.Duration, deletes bool) (string, tone) {
	seconds := (left.Abs() + time.Second - 1).Truncate(time.Second) // rounded up: a deletion in 2.1s has not happened after 2s
	switch {
	case deletes && left > 0:
		return "will be deleted in " + seconds.String(), urgent
	case deletes:
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
