// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestDeletePermit(t *testing.T) {
	subject := policy.Subject{Namespace: "team-a", Name: "job", UID: "u", ResourceVersion: "7", Created: started}
	late := says("late", ttl(30*time.Minute))
	v, w := policy.Decide(subject, evaluations(says("soon", ttl(0)), late), now)
	if !w.Valid() || w.Subject() != subject || w.Rule() != late.Rule || !w.Due().Equal(v.Due) {
		t.Errorf("permit %+v does not match verdict %+v", w, v)
	}
}

func TestDeletePermitForAnOwner(t *testing.T) {
	subject := policy.Subject{Namespace: "team-a", Name: "workload", UID: "u", ResourceVersion: "7", Created: started}
	decide := func(options ...func(*policy.Evaluation)) policy.DeletePermit {
		_, w := policy.Decide(subject, evaluations(says("a", options...)), now)
		return w
	}
	w := decide(deletesOwner(job))
	if w.Owner() != job || w.Subject() != subject {
		t.Errorf("owner %v of %+v", w.Owner(), w.Subject())
	}
	twin, other := *job, *job
	other.UID = "uid-other"
	if !w.Same(decide(deletesOwner(&twin))) {
		t.Error("permits for the same owner differ")
	}
	for name, o := range map[string]policy.DeletePermit{
		"another owner": decide(deletesOwner(&other)), "the subject": decide(),
		"an unfinished owner": decide(deletesOwner(job), func(r *policy.Evaluation) { r.Rule.AllowUnfinished = true }),
		"another propagation": decide(deletesOwner(job), func(r *policy.Evaluation) { r.Rule.Propagation = "Orphan" }),
		"a managed owner":     decide(deletesOwner(job), func(r *policy.Evaluation) { r.Rule.AllowManaged = true }),
	} {
		if w.Same(o) || o.Same(w) {
			t.Errorf("a permit for %s is the same", name)
		}
	}
}

// TestDeletePermitComparesIfAnyEnforcedRuleDoes: changes of other subjects can change the facts of that rule.
func TestDeletePermitComparesIfAnyEnforcedRuleDoes(t *testing.T) {
	ranks := func(r *policy.Evaluation) { r.Rule.Keep = 3 }
	for name, test := range map[string]struct {
		evaluations []policy.Evaluation
		want        bool
	}{
		"no rule":                               {evaluations(says("a")), false},
		"the rule that decides":                 {evaluations(says("a", ranks)), true},
		"a rule that is due sooner":             {evaluations(says("a"), says("b", ranks, ttl(0))), true},
		"a rule that does not find it eligible": {evaluations(says("a"), says("b", ranks, notEligible)), true},
		"a rule that selects others":            {evaluations(says("a"), says("b", ranks, notSelected)), false},
		"a dry run":                             {evaluations(says("a"), says("b", ranks, dryRun)), false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, w := policy.Decide(policy.Subject{}, test.evaluations, now); !w.Valid() || w.Compares() != test.want {
				t.Errorf("a permit that is valid (%v) compares: %v", w.Valid(), w.Compares())
			}
		})
	}
}

// TestDeletePermitUpheld: the permit is upheld only if the same rules delete the subject with their current facts.
func TestDeletePermitUpheld(t *testing.T) {
	first, second := says("a"), says("b", ttl(0))
	_, w := policy.Decide(policy.Subject{}, evaluations(first, second), now)
	known := first.Facts
	for name, test := range map[string]struct {
		permit policy.DeletePermit
		says   policy.Facts // of rule b by now
		want   bool
	}{
		"unchanged facts":       {w, known, true},
		"not eligible any more": {w, policy.Facts{Selected: true}, true},
		"not due yet":           {w, policy.Facts{Selected: true, Eligible: true, Start: now.Add(1)}, false},
		"an expression fails":   {w, policy.Facts{Selected: true, Err: errors.New("no such key")}, false},
		"no permit":             {policy.DeletePermit{}, known, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.permit.Upheld(func(r *policy.Rule) (policy.Facts, bool) { return test.says, r == second.Rule }, now)
			expect.Equal(t, "upheld", test.want, got)
		})
	}
}

func TestZeroValuesNeverDelete(t *testing.T) {
	if w := (policy.DeletePermit{}); w.Valid() || w.Rule() != nil {
		t.Error("the zero permit permits something")
	}
	expect.Equal(t, "the zero verdict", policy.Keep, (policy.Verdict{}).Action)
	due := policy.Facts{Selected: true, Eligible: true, Start: started}
	for name, evaluation := range map[string]policy.Evaluation{
		"rule and facts":   {Rule: &policy.Rule{}},
		"rule, known":      {Rule: &policy.Rule{}, Known: true},
		"rule, with facts": {Rule: &policy.Rule{}, Known: true, Facts: due},
		"facts, known":     {Rule: &policy.Rule{Mode: v1alpha1.Enforce}, Known: true},
		"known":            {Rule: &policy.Rule{Mode: v1alpha1.Enforce}, Facts: due},
	} {
		t.Run(name, func(t *testing.T) {
			if v, w := policy.Decide(policy.Subject{}, evaluations(evaluation), now); v.Action != policy.Keep || v.Reason == "" || w.Valid() {
				t.Errorf("verdict %+v, permit %v", v, w.Valid())
			}
		})
	}
}
