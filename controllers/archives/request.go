// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// request is a target that waits to be recorded, or is being recorded.
type request struct {
	key        groupKey
	target     policy.Target
	intent     policy.Intent
	candidate  retention.Candidate // nil if only this process expects the deletion
	others     []waiting           // other subjects with the same owner, if that is the target
	later      []waiting           // the same, but their rules have other settings: they ask again when this request ends
	recorded   *policy.Rule        // that the record names
	recipients []string            // of the segment that has the record
	began      time.Time           // from then on the dependents, Events and logs in the record were read

	queued   bool             // its group has it
	underway bool             // it is being read, or is part of a segment that is not written yet
	stale    retention.Result // Changed or Gone: the API server has another version, or none; Failed: neither is known
	after    time.Time
	failures int
	err      error // why the last attempt failed; nil if none did
}

// waiting is a subject that waits for the record of its target.
type waiting struct {
	intent    policy.Intent
	candidate retention.Candidate
}

// join has a subject wait for a request, beside others.
func (r *request) join(i policy.Intent, c retention.Candidate) {
	if r.leave(i.Subject.UID); r.candidate != nil {
		r.others = append(r.others, waiting{r.intent, r.candidate})
	}
	r.intent, r.candidate = i, c
}

// leave has a subject no longer wait.
func (r *request) leave(subject types.UID) {
	about := func(o waiting) bool { return o.intent.Subject.UID == subject }
	r.others, r.later = slices.DeleteFunc(r.others, about), slices.DeleteFunc(r.later, about)
	if r.candidate == nil || r.intent.Subject.UID != subject {
		return
	}
	r.candidate = nil
	if last := len(r.others) - 1; last >= 0 {
		r.intent, r.candidate, r.others = r.others[last].intent, r.others[last].candidate, r.others[:last]
	}
}

// candidates returns all that wait for a request.
func (r *request) candidates() (all []retention.Candidate) {
	if r.candidate != nil {
		all = append(all, r.candidate)
	}
	for _, o := range slices.Concat(r.others, r.later) {
		all = append(all, o.candidate)
	}
	return all
}

// readyLater has all that wait for a request evaluated again, because it ends. The caller holds mu.
func (r *request) readyLater() {
	if all := r.candidates(); len(all) > 0 {
		go callReady(all)
	}
}

// same reports whether a request is for exactly this version of a target with these settings.
func (r *request) same(t policy.Target, a *policy.Archive) bool {
	return r.target.Is(t) && r.key.settings.Equal(a)
}

// isStale reports whether the API server has another version, or none.
func (r *request) isStale() bool { return r.stale != retention.Failed }
