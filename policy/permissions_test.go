// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// TestRuleWithoutPermissionsRevealsNothing: it keeps all objects with the same reason, independent of its facts.
func TestRuleWithoutPermissionsRevealsNothing(t *testing.T) {
	long := now.Add(-24 * time.Hour)
	for name, r := range map[string]policy.Evaluation{
		"due":          {Known: true, Facts: policy.Facts{Selected: true, Eligible: true, Start: long}},
		"not eligible": {Known: true, Facts: policy.Facts{Selected: true}},
		"not selected": {Known: true},
		"failed":       {Known: true, Facts: policy.Facts{Selected: true, Err: errors.New("no such key")}},
		"unknown":      {},
	} {
		r.Rule = enforced("team-a/own", "r")
		r.Rule.Namespace, r.Rule.Unpermitted = "team-a", true
		other := policy.Evaluation{Rule: enforced("p", "r"), Known: true, Facts: policy.Facts{Selected: true, Eligible: true, Start: long}}
		v, w := policy.Decide(policy.Subject{}, []policy.Evaluation{r, other}, now)
		if v.Action != policy.Keep || v.Reason != policy.IsForbidden || w.Valid() {
			t.Errorf("%s: %+v", name, v)
		}
		r.Rule.Mode = v1alpha1.DryRun
		if v, _ := policy.Decide(policy.Subject{}, []policy.Evaluation{r, other}, now); v.Action != policy.Delete {
			t.Errorf("%s, a dry run: %+v", name, v)
		}
	}
}

func TestRuleWithoutPermissionsMarksNothing(t *testing.T) {
	r := policy.Evaluation{Rule: enforced("team-a/own", "r"), Known: true, Facts: policy.Facts{Selected: true, Eligible: true, Marked: true, Estimated: true, Start: now}}
	r.Rule.Mark = "m"
	if !policy.NeedsEligibleSincePatch(policy.Subject{}, []policy.Evaluation{r}, now) {
		t.Error("with permissions it does not mark")
	}
	r.Rule.Unpermitted = true
	if policy.NeedsEligibleSincePatch(policy.Subject{}, []policy.Evaluation{r}, now) {
		t.Error("without permissions it marks")
	}
}

// TestMarkFromBeforeItsRuleDoesNotCount: a mark from before MarksSince is invalid, and is written again.
func TestMarkFromBeforeItsRuleDoesNotCount(t *testing.T) {
	for name, test := range map[string]struct {
		since time.Time
		want  policy.Reason
		mark  string // the annotation to write
	}{
		"always":            {time.Time{}, policy.Expired, ""},
		"before the mark":   {now.Add(-3 * time.Hour), policy.Expired, ""},
		"at the mark":       {now.Add(-2 * time.Hour), policy.Expired, ""},
		"a moment after it": {now.Add(-2*time.Hour + 1), policy.Unmarked, `{"m":"2026-03-01T12:00:00Z"}`},
	} {
		r := policy.Evaluation{Rule: enforced("p", "r"), Known: true, Facts: policy.Facts{Selected: true, Eligible: true, Marked: true, Start: now.Add(-2 * time.Hour)}}
		r.Rule.Mark, r.Rule.MarksSince = "m", test.since
		v, _ := policy.Decide(policy.Subject{}, []policy.Evaluation{r}, now)
		m := policy.EligibleSincePatchOf(policy.Subject{}, []policy.Evaluation{r}, now)
		if v.Reason != test.want || m.Annotation() != test.mark {
			t.Errorf("MarksSince %s: %s, annotation %q", name, v.Reason, m.Annotation())
		}
	}
}
