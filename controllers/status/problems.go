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
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// tellAfter is how long a condition has to show a problem until an Event and the log tell of it: many pass by themselves.
const tellAfter = 5 * time.Second

// noteLimit is how long the API server has the note of an Event be.
const noteLimit = 1024

// problem is a condition of a policy that calls for somebody.
type problem struct {
	reason string
	since  time.Time
	told   bool // as it is, by an Event
	begun  bool // told with another reason
}

// patience is how long a policy may be not ready for reasons that pass by themselves until an Event and the log tell of it.
var patience = map[string]time.Duration{"Listing": 10 * time.Minute, "Counting": 10 * time.Minute}

// ended is what the Event says when a condition shows a problem no more, by type or by reason. Those that are not here are named for a
// reason of policy.Lasting.
var ended = map[string]ending{
	v1alpha1.ConditionReady:     {"Ready", "the policy is ready again"},
	v1alpha1.ConditionEnforcing: {"Resumed", "the policy is no longer suspended"},
	"Throttled":                 {"NotThrottled", "DELETE requests are no longer slow and no longer fail in any namespace of the policy"},
	v1alpha1.ConditionDelayed:   {"NotDelayed", "Sunset can again delete every object that is due"},
	v1alpha1.ConditionBlocked:   {"Unblocked", "rules of other policies no longer keep objects that this policy would delete now"},
}

type ending struct{ reason, note string }

// isProblem reports whether a condition calls for somebody.
func isProblem(c *metav1.Condition) bool {
	return v1alpha1.StopsDeletions(c) && c.Reason != string(v1alpha1.DryRun) // somebody has chosen --dry-run
}

// toldAfter is how long a condition has to show a problem until that is told.
func toldAfter(reason string) time.Duration { return max(tellAfter, patience[reason]) }

// problemsBefore are those of a status that the controller before has written. It has told of those that are old enough.
func problemsBefore(conditions []metav1.Condition, now time.Time) map[string]problem {
	known := map[string]problem{}
	for i := range conditions {
		if c := &conditions[i]; isProblem(c) {
			since := c.LastTransitionTime.Time
			known[c.Type] = problem{reason: c.Reason, since: since, told: now.Sub(since) >= toldAfter(c.Reason)}
		}
	}
	return known
}

// tellProblems tells once of each problem that the status of a policy shows, and once when it is over.
func (r *Reporter) tellProblems(ctx context.Context, p *policy.Policy, rec *record) {
	now, shown := r.Clock.Now(), map[string]bool{}
	for i := range rec.status.Conditions {
		c := &rec.status.Conditions[i]
		if !isProblem(c) {
			continue
		}
		shown[c.Type] = true
		known := rec.problems[c.Type]
		if known.reason != c.Reason {
			known = problem{reason: c.Reason, since: now, begun: known.told || known.begun}
		}
		if left := toldAfter(c.Reason) - now.Sub(known.since); !known.told && left > 0 {
			r.changes = soonest(r.changes, now.Add(left))
		} else if !known.told {
			known.told = true
			reason := c.Reason
			if c.Status == metav1.ConditionTrue && c.Type != v1alpha1.ConditionEnforcing {
				reason = c.Type
			}
			r.tellOf(ctx, p, corev1.EventTypeWarning, reason, c.Message)
		}
		rec.problems[c.Type] = known
	}
	for _, name := range slices.Sorted(maps.Keys(rec.problems)) {
		if !shown[name] {
			if known := rec.problems[name]; known.told || known.begun {
				end := cmp.Or(ended[known.reason], ended[name], ending{name + "Resolved", "rules of the policy no longer keep objects for the reason " + name})
				r.tellOf(ctx, p, corev1.EventTypeNormal, end.reason, end.note)
			}
			delete(rec.problems, name)
		}
	}
}

func (r *Reporter) tellOf(ctx context.Context, p *policy.Policy, sort, reason, note string) {
	said := "policy has a problem"
	if sort == corev1.EventTypeNormal {
		said = "problem of policy has ended"
	}
	log.FromContext(ctx).Info(said, "policy", p.Name, "reason", reason, "message", note)
	e := event(referenceTo(p), reason, policy.Shorten(note, noteLimit))
	e.Type = sort
	r.Events.Tell(e)
}
