package main

import (
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// job is what the watches have shown of one Job. Times of events are when the event came.
type job struct {
	namespace, name string
	failed          bool
	finished        time.Time // zero while it runs; a whole second, as the API has it
	held            bool
	released        time.Time // when a hold was lifted, if one was
	pods            int       // its Pods that exist now
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

// ttl is what the rule about the Job's outcome says; none while it runs, or without such a rule.
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

// due is when the Job goes or would go if nothing keeps it.
func (j job) due(r rules) (time.Time, bool) {
	ttl, ok := j.ttl(r)
	return j.finished.Add(ttl), ok
}

// kept says what keeps the Job for good; empty when nothing does.
func (j job) kept(r rules) string {
	switch {
	case j.protected():
		return "protected namespace"
	case slices.Contains(r.excluded, j.namespace):
		return "excluded namespace"
	case j.finished.IsZero():
		return "it runs"
	case j.held:
		return "held"
	case r.mode == v1alpha1.Suspended:
		return "policy suspended"
	}
	if _, ok := j.ttl(r); !ok {
		return "no rule"
	}
	return ""
}

// What a Job had to wait for last.
const (
	sinceDue      = "due"
	sinceEnforced = "Enforce"
	sinceEdited   = "the edit"
	sinceReleased = "its hold was lifted"
)

// lateness is how long after it could go the Job went, and after what. Negative is early. Only for a Job that is gone.
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

// settled gives the snapshot in force when the Job went, or an earlier one if the edits since changed nothing for the Job.
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
