// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// summarizeEvery is how often the log summarizes each policy that has changed.
const summarizeEvery = time.Minute

// summary is the log entry about a policy.
type summary struct {
	deleted                    int64 // in total
	due, held, blocked, failed int64 // current numbers of objects
	notReady                   string
	reasons                    string // why due or eligible objects stay, besides notReady
}

// summaryOf returns the summary of a status.
func summaryOf(s *v1alpha1.RetentionPolicyStatus) summary {
	sum := summary{deleted: s.Deleted, due: s.Due.Now, held: s.Held, blocked: s.Blocked, failed: s.Errors}
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c != nil && c.Status != metav1.ConditionTrue {
		sum.notReady = c.Reason
	}
	var reasons []string
	for i := range s.Conditions {
		switch c := &s.Conditions[i]; {
		case c.Type == v1alpha1.ConditionReady: // it is in notReady
		case c.Type == v1alpha1.ConditionBlocked && len(s.BlockedBy) > 0:
			by := s.BlockedBy[0]
			reasons = append(reasons, fmt.Sprintf("%s (rule %s of %s keeps %d)", by.Reason, by.Rule, by.Policy, by.Objects))
		case c.Type == v1alpha1.ConditionEnforcing && c.Status == metav1.ConditionTrue && c.Reason != c.Type, v1alpha1.StopsDeletions(c):
			reasons = append(reasons, c.Reason)
		}
	}
	slices.Sort(reasons)
	sum.reasons = strings.Join(reasons, ", ")
	return sum
}

// summarize logs what each policy has deleted since the last summary, and how many due or eligible objects it keeps, if that
// has changed.
func (r *Reporter) summarize(ctx context.Context) {
	now := r.Clock.Now()
	in := now.Sub(r.summarized)
	r.summarized = now
	byName := func(a, b *record) int { return strings.Compare(a.name, b.name) }
	for _, rec := range slices.SortedFunc(maps.Values(r.written), byName) {
		before, sum := rec.summary, summaryOf(&rec.status)
		if rec.summary = sum; sum == before {
			continue
		}
		values := []any{"policy", rec.name, "deleted", sum.deleted - before.deleted, "in", in.Round(time.Second).String(),
			"due", sum.due, "held", sum.held, "blocked", sum.blocked, "errors", sum.failed}
		if sum.notReady != "" {
			values = append(values, "notReady", sum.notReady)
		}
		if sum.reasons != "" {
			values = append(values, "reasons", sum.reasons)
		}
		log.FromContext(ctx).Info("policy summary", values...)
	}
}
