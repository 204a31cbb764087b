// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func TestLateness(t *testing.T) {
	const ms = time.Millisecond
	edited := func(change func(*rules)) history {
		h := enforcedAtTen()
		next := h[1]
		next.since, next.generation = after(15*time.Second), 3
		next.ttl = map[string]time.Duration{succeededRule: 8 * time.Second, failedRule: 20 * time.Second}
		change(&next)
		return h.add(next)
	}
	for name, c := range map[string]struct {
		job   job
		rules history
		late  time.Duration
		since string
	}{
		"due after the switch to Enforce": {
			job{finished: after(5 * time.Second), gone: after(13*time.Second + 7*ms)}, enforcedAtTen(), 7 * ms, sinceDue},
		"due before the switch to Enforce": {
			job{finished: noon, gone: after(10*time.Second + 9*ms)}, enforcedAtTen(), 9 * ms, sinceEnforced},
		"early": {
			job{finished: after(5 * time.Second), gone: after(13*time.Second - ms)}, enforcedAtTen(), -ms, sinceDue},
		"a failed Job has its own time to live": {
			job{finished: noon, failed: true, gone: after(20*time.Second + ms)}, enforcedAtTen(), ms, sinceDue},
		"due because of an edit": {
			job{finished: after(10 * time.Second), gone: after(15*time.Second + 2*ms)},
			edited(func(r *rules) { r.ttl[succeededRule] = 0 }), 2 * ms, sinceEdited},
		"an edit of the other rule does not count": {
			job{finished: after(6 * time.Second), gone: after(15*time.Second + 2*ms)},
			edited(func(r *rules) { r.ttl[failedRule] = 0 }), time.Second + 2*ms, sinceDue},
		"its hold was removed": {
			job{finished: noon, released: after(17 * time.Second), gone: after(17*time.Second + 5*ms)}, enforcedAtTen(), 5 * ms, sinceReleased},
	} {
		late, since := c.job.lateness(c.rules)
		if late != c.late || since != c.since {
			t.Errorf("%s: %s after %s, want %s after %s", name, late, since, c.late, c.since)
		}
	}
}

func TestHistoryIgnoresWhatIsOlderOrSaysTheSame(t *testing.T) {
	h := enforcedAtTen()
	late := h[0]
	late.since = after(11 * time.Second)
	if h = h.add(late); h.at(after(12*time.Second)).mode != v1alpha1.Enforce {
		t.Error("a late event with an older generation changed the mode back")
	}
	same := h[1]
	same.since, same.generation = after(13*time.Second), 3
	if h = h.add(same); len(h) != 2 {
		t.Errorf("%d snapshots, want 2", len(h))
	}
}
