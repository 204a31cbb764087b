// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestDistrustedMarksInStatus checks the status while a leader runs, and after it has stopped.
func TestDistrustedMarksInStatus(t *testing.T) {
	now := time.Now()
	marks := func(r *policy.Rule) { r.Mark = "mark" }
	suspended := func(r *policy.Rule) { r.Suspended = true }
	invalid := func(r *policy.Rule) { r.Problems = []policy.Problem{{Path: "spec.rules[0].target.apiVersion"}} }
	since := func(r *policy.Rule) { r.MarksSince = now }
	sinceIn := func(r *policy.Rule) { r.MarksSinceIn = map[string]time.Time{"team-a": now} }
	with := func(f policy.Facts) *index.FactRow {
		f.Selected, f.Marked = true, true
		return packed(policy.Subject{Namespace: "team-a", Name: "x", UID: "x", ResourceVersion: "1"}, f)
	}
	marked := with(policy.Facts{Eligible: true, Start: now.Add(-time.Minute)})
	unmarked, used := with(policy.Facts{Eligible: true}), with(policy.Facts{Start: now.Add(-time.Minute)})
	in, all := []string{"team-a"}, []string{v1alpha1.AllNamespaces}
	tests := map[string]struct {
		rule           []func(*policy.Rule) // in addition to marks
		rows           []*index.FactRow
		unlisted       bool
		before         []string
		forbidden      bool
		unmarkable     bool
		running, ended []string
	}{
		"marked":                                         {rows: []*index.FactRow{marked}},
		"marked, and marks cannot be written":            {rule: []func(*policy.Rule){suspended}, rows: []*index.FactRow{marked}, running: in},
		"not marked, and marks cannot be written":        {rule: []func(*policy.Rule){suspended}, rows: []*index.FactRow{unmarked}},
		"in use, and marked":                             {rows: []*index.FactRow{used}, running: in, ended: in},
		"in use, and marks cannot be written":            {rule: []func(*policy.Rule){suspended}, rows: []*index.FactRow{used}, running: in, ended: in},
		"marked before marks count":                      {rule: []func(*policy.Rule){since}, rows: []*index.FactRow{marked}, running: in, ended: in},
		"marked before marks count there":                {rule: []func(*policy.Rule){sinceIn}, rows: []*index.FactRow{marked}, running: in, ended: in},
		"distrusted before, without a reason now":        {rows: []*index.FactRow{marked}, before: in},
		"distrusted before, and not listed yet":          {unlisted: true, before: in, running: in, ended: in},
		"not listed, and older marks do not count":       {rule: []func(*policy.Rule){since}, unlisted: true, running: all, ended: all},
		"not listed, and older marks do not count there": {rule: []func(*policy.Rule){sinceIn}, unlisted: true, running: in, ended: in},
		"a permission is missing":                        {rule: []func(*policy.Rule){func(r *policy.Rule) { r.Namespace = "team-a" }}, rows: []*index.FactRow{unmarked}, forbidden: true, running: in, ended: in},
		"the kind is read at another version":            {rule: []func(*policy.Rule){invalid}, rows: []*index.FactRow{marked}, running: all, ended: all},
		"the kind cannot be marked":                      {rows: []*index.FactRow{marked}, unmarkable: true, running: all},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule("a", append(test.rule, marks)...)
			p := policyOf(v1alpha1.Enforce, r)
			inBubble(t, func(w *harness) {
				if test.forbidden {
					w.Permissions = func(*policy.Rule) (error, bool) { return errors.New("may not delete"), true }
				}
			}, func(t *testing.T, w *harness) {
				var e policyset.CompiledSnapshot
				w.store(p, v1alpha1.RetentionPolicyStatus{Rules: []v1alpha1.RuleStatus{{Name: "a", DistrustedMarks: test.before}}})
				e = compiledOf(p)
				k := kindOf(e, now, test.rows...)
				if test.unlisted {
					k.Index = index.New(fixture.Jobs.GroupKind(), func() {})
				}
				if test.unmarkable {
					k.Unmarkable = &retention.SourceError{Reason: "Forbidden", Message: "may not patch"}
				}
				w.set(func() { w.kinds = []retention.KindState{k} })
				w.Use(e)
				bubble.Pass(10 * time.Second)
				expect.Equal(t, "while it runs", test.running, w.status().Rules[0].DistrustedMarks)
				w.stop()
				expect.Equal(t, "at the end", test.ended, w.status().Rules[0].DistrustedMarks)
			})
		})
	}
}
