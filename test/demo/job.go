// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// job is the state of one Job according to the watches. Times are the arrival times of events.
type job struct {
	namespace, name string
	failed          bool
	finished        time.Time // zero while it runs; a whole second, as in the API
	held            bool
	released        time.Time // when the hold was removed, if any
	pods            int       // number of its Pods
	ran             bool      // it has had a Pod
	gone            time.Time // zero while it exists
}

func (j job) state() string {
	switch {
	case j.finished.IsZero():
		return "Running"
	case j.failed:
		return "Failed"
	default:
		return "Complete"
	}
}

// ttl returns the TTL of the rule for the Job's outcome; none while the Job runs, or without such a rule.
func (j job) ttl(r rules) (time.Duration, bool) {
	if j.finished.IsZero() || !j.selected(r) {
		return 0, false
	}
	rule := succeededRule
	if j.failed {
		rule = failedRule
	}
	ttl, ok := r.ttl[rule]
	return ttl, ok
}

func (j job) selected(r rules) bool {
	return !slices.Contains(r.excluded, j.namespace) && !j.protected()
}

func (j job) protected() bool {
	return policy.DefaultProtection(systemNamespace).Namespace(j.namespace)
}

// due returns when the Job is due if nothing keeps it.
func (j job) due(r rules) (time.Time, bool) {
	ttl, ok := j.ttl(r)
	return j.finished.Add(ttl), ok
}

// kept returns what keeps the Job indefinitely; empty if nothing does.
func (j job) kept(r rules) string {
	switch {
	case j.protected():
		return "protected namespace"
	case slices.Contains(r.excluded, j.namespace):
		return "excluded namespace"
	case j.finished.IsZero():
		return "still running"
	case j.held:
		return "held"
	case r.mode == v1alpha1.Suspend:
		return "policy suspended"
	}
	if _, ok := j.ttl(r); !ok {
		return "no rule"
	}
	return ""
}

// The last event that a Job had to wait for.
const (
	sinceDue      = "due"
	sinceEnforced = "Enforce"
	sinceEdited   = "the edit"
	sinceReleased = "its hold was removed"
)

// lateness returns the time from when the Job could be deleted until its deletion, and the event that made it possible.
// Negative is early. It is valid only for a deleted Job.
func (j job) lateness(h history) (time.Duration, string) {
	r := j.settled(h)
	from, what := time.Time{}, sinceDue
	if due, ok := j.due(r); ok {
		from = due
	}
	if r.since.After(from) {
		from, what = r.since, sinceEdited
		if h.before(r).mode != r.mode && r.mode == v1alpha1.Enforce {
			what = sinceEnforced
		}
	}
	if j.released.After(from) {
		from, what = j.released, sinceReleased
	}
	return j.gone.Sub(from), what
}

// settled returns the snapshot in force when the Job was deleted, or an earlier one if later edits changed nothing for the
// Job.
func (j job) settled(h history) rules {
	r := h.at(j.gone)
	for {
		before := h.before(r)
		ttl, ok := j.ttl(r)
		ttlBefore, okBefore := j.ttl(before)
		if before.mode != r.mode || ok != okBefore || ttl != ttlBefore || before.since.Equal(r.since) {
			return r
		}
		r = before
	}
}
