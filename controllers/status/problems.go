// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/report"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// reportMinimum is how long a condition must show a problem before an Event and the log report it. Many problems end sooner.
const reportMinimum = 5 * time.Second

// noteLimit is the maximum length of the note of an Event that the API server accepts.
const noteLimit = 1024

// problem is a condition of a policy that requires attention.
type problem struct {
	reason      string
	since       time.Time
	reported    bool // an Event has reported it with this reason
	wasReported bool // an Event has reported it with another reason
}

// patience is how long a policy may be not ready for a temporary reason before an Event and the log report it.
var patience = map[string]time.Duration{"Listing": 10 * time.Minute, "Counting": 10 * time.Minute}

// ended contains the Event for the end of a problem, by type of condition or by reason. Conditions that are not listed are
// named after a reason of policy.Lasting.
var ended = map[string]ending{
	v1alpha1.ConditionReady:     {"Ready", "the policy is ready again"},
	v1alpha1.ConditionEnforcing: {"Resumed", "the policy is no longer suspended"},
	string(policy.IsLimited):    {"LimitNotReached", "limits allow deletions again"},
	policy.IsFrozen:             {"FreezeEnded", "the freeze has ended"},
	"Throttled":                 {"NotThrottled", "DELETE requests are no longer slow and no longer fail in any namespace of the policy"},
	v1alpha1.ConditionDelayed:   {"NotDelayed", "Sunset can again delete every object that is due"},
	v1alpha1.ConditionBlocked:   {"Unblocked", "rules of other policies no longer keep objects that this policy would delete now"},
}

type ending struct{ reason, note string }

// isProblem reports whether a condition requires attention.
func isProblem(c *metav1.Condition) bool {
	return v1alpha1.StopsDeletions(c) && c.Reason != string(v1alpha1.DryRun) // --dry-run is intended
}

// reportAfter returns how long a condition must show a problem before that is reported.
func reportAfter(reason string) time.Duration { return max(reportMinimum, patience[reason]) }

// problemsBefore returns the problems in a status that the previous leader has written. That leader has reported those that are
// old enough.
func problemsBefore(conditions []metav1.Condition, now time.Time) map[string]problem {
	known := map[string]problem{}
	for i := range conditions {
		if c := &conditions[i]; isProblem(c) {
			since := c.LastTransitionTime.Time
			known[c.Type] = problem{reason: c.Reason, since: since, reported: now.Sub(since) >= reportAfter(c.Reason)}
		}
	}
	return known
}

// reportProblems reports each problem in the status of a policy once, and its end once.
func (r *Reporter) reportProblems(ctx context.Context, p *policy.Policy, rec *record) {
	now, shown := r.Clock.Now(), map[string]bool{}
	for i := range rec.status.Conditions {
		c := &rec.status.Conditions[i]
		if !isProblem(c) {
			continue
		}
		shown[c.Type] = true
		known := rec.problems[c.Type]
		if known.reason != c.Reason {
			known = problem{reason: c.Reason, since: now, wasReported: known.reported || known.wasReported}
		}
		if left := reportAfter(c.Reason) - now.Sub(known.since); !known.reported && left > 0 {
			r.changes = policy.Soonest(r.changes, now.Add(left))
		} else if !known.reported {
			reason := c.Reason
			if c.Status == metav1.ConditionTrue && c.Type != v1alpha1.ConditionEnforcing {
				reason = c.Type
			}
			known.reported = r.reportProblem(ctx, p, corev1.EventTypeWarning, reason, c.Message)
		}
		rec.problems[c.Type] = known
	}
	for _, name := range slices.Sorted(maps.Keys(rec.problems)) {
		if !shown[name] {
			known, end := rec.problems[name], ending{}
			if known.reported || known.wasReported {
				end = cmp.Or(ended[known.reason], ended[name], ending{name + "Resolved", "rules of the policy no longer keep objects for the reason " + name})
			}
			if end == (ending{}) || r.reportProblem(ctx, p, corev1.EventTypeNormal, end.reason, end.note) {
				delete(rec.problems, name)
			}
		}
	}
}

// reportProblem writes an Event and a line of the log. If the queue of Events is full, it returns false, and has itself called again.
func (r *Reporter) reportProblem(ctx context.Context, p *policy.Policy, sort, reason, note string) bool {
	e := event(report.ReferenceTo(p), reason, policy.Shorten(note, noteLimit))
	e.Type = sort
	if !r.Events.Queue(e) {
		r.changes = policy.Soonest(r.changes, r.Clock.Now().Add(reportMinimum))
		return false
	}
	said := "policy has a problem"
	if sort == corev1.EventTypeNormal {
		said = "problem of policy has ended"
	}
	log.FromContext(ctx).Info(said, "policy", p.Name, "reason", reason, "message", note)
	return true
}
