// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/controllers/status"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// ownPolicy returns RetentionPolicy own of team-a with these rules.
func ownPolicy(mode v1alpha1.Mode, rules ...*policy.Rule) *policy.Policy {
	p := &policy.Policy{
		Name: "team-a/own", Namespace: "team-a", UID: "uid-own", Generation: 2, Mode: mode, Namespaces: labels.Everything(), Rules: rules,
		ServiceAccount: "cleaner",
	}
	for i, r := range rules {
		r.ID.Policy, r.Namespace, r.PolicyUID, r.ServiceAccount, r.Mode, r.Index = p.Name, "team-a", p.UID, "cleaner", mode, i
	}
	return p
}

// overriding returns policy own with an override of policy p.
func overriding(mode v1alpha1.Mode, change func(o *policy.Override)) *policy.Policy {
	p := ownPolicy(mode)
	o := &policy.Override{From: p.Name, Path: "spec.overrides[0]", Policy: "p", InForce: mode == v1alpha1.Enforce}
	change(o)
	p.Overrides = []*policy.Override{o}
	return p
}

func yes(start time.Time) policy.Facts {
	return policy.Facts{Selected: true, Eligible: true, Start: start}
}

func TestClusterRulesShowEffectInNamespace(t *testing.T) {
	ttl := func(d time.Duration) func(o *policy.Override) { return func(o *policy.Override) { o.TTL = &d } }
	counted := v1alpha1.ClusterRuleStatus{Policy: "p", Rule: "a", Mode: v1alpha1.Enforce, TTL: "1h", Matched: 4, Eligible: 2, Held: 1, Errors: 1}
	with := func(change func(s *v1alpha1.ClusterRuleStatus)) v1alpha1.ClusterRuleStatus {
		s := counted
		change(&s)
		return s
	}
	due := func(s *v1alpha1.ClusterRuleStatus, in time.Duration) {
		next := timeOf(now.Add(in))
		s.NextDueTime = &next
		s.Due = v1alpha1.DueCounts{Hour: 1, Day: 1, Week: 1}
		if in <= 0 {
			s.Due.Now = 1
		}
		if in > time.Hour {
			s.Due.Hour = 0
		}
	}
	tests := map[string]struct {
		rule func(r *policy.Rule)
		own  *policy.Policy
		want v1alpha1.ClusterRuleStatus
	}{
		"no override": {nil, ownPolicy(v1alpha1.Enforce), with(func(s *v1alpha1.ClusterRuleStatus) { due(s, 30*time.Minute) })},
		"a longer TTL": {nil, overriding(v1alpha1.Enforce, ttl(4*time.Hour)), with(func(s *v1alpha1.ClusterRuleStatus) {
			s.TTL = "4h"
			due(s, 3*time.Hour+30*time.Minute)
		})},
		"a shorter TTL, which does not count": {nil, overriding(v1alpha1.Enforce, ttl(time.Minute)), with(func(s *v1alpha1.ClusterRuleStatus) {
			due(s, 30*time.Minute)
			s.Messages = []string{"spec.overrides[0]: ttl 1m is raised to 1h: the rule allows only a longer ttl"}
		})},
		// The numbers show the effect in mode Enforce.
		"a shorter TTL, in a dry run": {func(r *policy.Rule) { minute := time.Minute; r.Bounds.Min = &minute }, overriding(v1alpha1.DryRun, ttl(2*time.Minute)),
			with(func(s *v1alpha1.ClusterRuleStatus) {
				due(s, -28*time.Minute)
				s.Messages = []string{"spec.overrides[0]: ttl 2m is shorter than the rule's 1h: it applies only in mode Enforce"}
			})},
		"suspended": {nil, overriding(v1alpha1.Enforce, func(o *policy.Override) { o.Suspend = true }), with(func(s *v1alpha1.ClusterRuleStatus) { s.Mode = v1alpha1.Suspend })},
		"a TTL of each object": {func(r *policy.Rule) { r.HasTTLExpression = true }, ownPolicy(v1alpha1.Enforce), with(func(s *v1alpha1.ClusterRuleStatus) {
			s.TTL = ""
			due(s, -30*time.Minute)
		})},
		"no TTL":              {func(r *policy.Rule) { r.TTL = policy.NeverTTL }, ownPolicy(v1alpha1.Enforce), with(func(s *v1alpha1.ClusterRuleStatus) { s.TTL = "" })},
		"the newest are kept": {func(r *policy.Rule) { r.Keep = 2 }, ownPolicy(v1alpha1.Enforce), with(func(s *v1alpha1.ClusterRuleStatus) { s.KeepNewest = &v1alpha1.KeepNewestCount{Count: 2} })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := rule("a")
			if test.rule != nil {
				test.rule(a)
			}
			e := compiledOf(policyOf(v1alpha1.Enforce, a), test.own)
			held := row("held", now).Subject()
			held.Flags = policy.IsHeld
			elsewhere := row("elsewhere", now).Subject()
			elsewhere.Namespace = "team-b"
			other := policy.Facts{}
			view := viewOf(e, nil,
				row("due", now.Add(-30*time.Minute), yes(now.Add(-30*time.Minute)), other),
				row("failing", now, policy.Facts{Selected: true, Err: errors.New("no")}, other),
				row("not-eligible", now, policy.Facts{Selected: true}, other),
				row("not-selected", now, other, other),
				packed(held, yes(now), other),
				packed(elsewhere, yes(now), other),
			)
			expect.Equal(t, "ClusterRules", []v1alpha1.ClusterRuleStatus{test.want}, view.Status(named(e, "team-a/own")).ClusterRules)
			expect.Equal(t, "ClusterRules of a ClusterRetentionPolicy", nil, view.Status(named(e, "p")).ClusterRules)
		})
	}
}

func TestClusterRulesShownAreLimited(t *testing.T) {
	var rules []*policy.Rule
	for i := range 130 {
		rules = append(rules, rule(fmt.Sprintf("r%03d", i)))
	}
	e := compiledOf(policyOf(v1alpha1.Enforce, rules...), ownPolicy(v1alpha1.Enforce))
	s := status.View{Compiled: e, Now: now}.Status(named(e, "team-a/own"))
	expect.Equal(t, "shown", 100, len(s.ClusterRules))
	expect.Equal(t, "first", "r000", s.ClusterRules[0].Rule)
	expect.Equal(t, "last", "r099", s.ClusterRules[99].Rule)
}

// TestStatusHidesWhatAccountMayNotRead: the status does not reveal what the ServiceAccount may not read.
func TestStatusHidesWhatAccountMayNotRead(t *testing.T) {
	missing := fmt.Errorf("%w: ServiceAccount cleaner may not list jobs.batch", preflight.ErrPermission)
	problem := []policy.Problem{{Path: "spec.rules[1].ttl", Message: "missing"}}
	tests := map[string]struct {
		known     map[string]error // of each rule; a rule that is missing here is not known yet
		invalid   bool             // rule b
		tells     map[string]bool  // the rules whose numbers are shown
		sums      bool
		permitted string
	}{
		"all permissions":                     {map[string]error{"a": nil, "b": nil}, false, map[string]bool{"a": true, "b": true}, true, "True Permitted"},
		"none":                                {map[string]error{"a": missing, "b": missing}, false, nil, false, "False Forbidden"},
		"one rule without permissions":        {map[string]error{"a": nil, "b": missing}, false, map[string]bool{"a": true}, false, "False Forbidden"},
		"not known yet":                       {nil, false, nil, false, "Unknown PermissionsUnknown"},
		"an invalid rule without permissions": {map[string]error{"a": nil, "b": missing}, true, map[string]bool{"a": true}, false, "True Permitted"},
		"an invalid rule with permissions":    {map[string]error{"a": nil, "b": nil}, true, map[string]bool{"a": true, "b": true}, true, "True Permitted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := ownPolicy(v1alpha1.DryRun, rule("a"), rule("b"))
			if test.invalid {
				p.Rules[1].Problems, p.Problems = problem, problem
			}
			answers := func(r *policy.Rule) (error, bool) {
				err, isKnown := test.known[r.ID.Rule]
				return err, isKnown
			}
			view := viewOf(compiledOf(p), nil,
				row("secret-due", now.Add(-2*time.Hour), yes(now.Add(-2*time.Hour)), yes(now.Add(-2*time.Hour))),
				row("secret-failing", now, policy.Facts{Selected: true, Err: errors.New("secret")}, policy.Facts{Selected: true, Err: errors.New("secret")}),
			)
			view.Permissions = answers
			s := view.Status(p)
			expect.Equal(t, "permitted", test.permitted, condition(s, v1alpha1.ConditionPermitted))
			expect.Equal(t, "sums", test.sums, s.Matched > 0)
			if !test.sums {
				expect.Equal(t, "sums", [4]int64{}, [4]int64{s.Matched, s.Eligible, s.Held, s.Errors})
				expect.Equal(t, "due", v1alpha1.DueCounts{}, s.Due)
				expect.Equal(t, "next", true, s.NextDueTime == nil)
			}
			expect.Equal(t, "previewed", test.permitted == "True Permitted", len(s.Previews) > 0)
			for _, r := range s.Rules {
				said := fmt.Sprint(r)
				if test.tells[r.Name] != (r.Matched > 0) || test.tells[r.Name] != strings.Contains(said, "secret") {
					t.Errorf("rule %s shows %s", r.Name, said)
				}
			}
		})
	}
}

func TestMissingPermissionsAreReported(t *testing.T) {
	missing := fmt.Errorf("%w: ServiceAccount cleaner may not delete jobs.batch in namespace team-a", preflight.ErrPermission)
	failed := errors.New("check the permissions of ServiceAccount team-a/cleaner: timeout")
	tests := map[string]struct {
		own         *policy.Policy
		known       func(*policy.Rule) (error, bool)
		want, ready string
		message     string
	}{
		"one is missing": {ownPolicy(v1alpha1.Enforce, rule("b")), func(*policy.Rule) (error, bool) { return missing, true },
			"False Forbidden", "False Forbidden", missing.Error()},
		"not known yet": {ownPolicy(v1alpha1.Enforce, rule("b")), func(*policy.Rule) (error, bool) { return nil, false },
			"Unknown PermissionsUnknown", "Unknown PermissionsUnknown", "the permissions of ServiceAccount cleaner are not known yet"},
		"the API server does not answer": {ownPolicy(v1alpha1.Enforce, rule("b")), func(*policy.Rule) (error, bool) { return failed, true },
			"Unknown PermissionsUnknown", "Unknown PermissionsUnknown", failed.Error()},
		"in a dry run": {ownPolicy(v1alpha1.DryRun, rule("b")), func(*policy.Rule) (error, bool) { return missing, true },
			"False Forbidden", "False Forbidden", missing.Error()},
		"all are granted": {ownPolicy(v1alpha1.Enforce, rule("b")), func(*policy.Rule) (error, bool) { return nil, true },
			"True Permitted", "True Ready", "the ServiceAccount has every permission that the rules need"},
		"only overrides": {overriding(v1alpha1.Enforce, func(o *policy.Override) { o.Suspend = true }), func(*policy.Rule) (error, bool) { return missing, true },
			"", "True Ready", ""},
		"a ClusterRetentionPolicy": {policyOf(v1alpha1.Enforce, rule("b")), func(*policy.Rule) (error, bool) { return missing, true }, "", "True Ready", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := compiledOf(test.own)
			before := status.View{Compiled: e, Now: now}.Status(ownPolicy(v1alpha1.Enforce, rule("b"))) // had rules before
			view := viewOf(e, nil)
			view.Permissions, view.Before = test.known, before
			s := view.Status(test.own)
			expect.Equal(t, "permitted", test.want, condition(s, v1alpha1.ConditionPermitted))
			expect.Equal(t, "ready", test.ready, condition(s, v1alpha1.ConditionReady))
			expect.Equal(t, "message", test.message, message(s, v1alpha1.ConditionPermitted))
		})
	}
}

func TestStatusesOfBothKindsAreWritten(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		own := ownPolicy(v1alpha1.Enforce, rule("b"))
		w.create(own, deletedBefore(7))
		e := w.create(policyOf(v1alpha1.Enforce, rule("a")), noStatus, own)
		w.set(func() {
			w.kinds = []retention.KindState{kindOf(e, w.began, row("x", w.began, yes(w.began), yes(w.began.Add(time.Hour))))}
		})
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "generation of p", 3, w.status().ObservedGeneration)
		s := w.statusOf("team-a/own")
		expect.Equal(t, "generation of own", 2, s.ObservedGeneration)
		expect.Equal(t, "matched", 1, s.Matched)
		expect.Equal(t, "deleted", 7, s.Deleted)
		expect.Equal(t, "matched by the rule of the ClusterRetentionPolicy", 1, s.ClusterRules[0].Matched)
		expect.Equal(t, "writes", 2, len(w.written()))
		bubble.Pass(20 * time.Minute)
		expect.Equal(t, "writes while nothing changes", 2, len(w.written()))
	})
}

func TestMissingPermissionIsWrittenWhenKnown(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		own := ownPolicy(v1alpha1.Enforce, rule("b"))
		var missing error
		w.Permissions = func(*policy.Rule) (error, bool) { return missing, true }
		e := w.create(own, noStatus)
		w.set(func() { w.kinds = []retention.KindState{kindOf(e, w.began)} })
		bubble.Pass(10 * time.Second)
		expect.Equal(t, "permitted", "True Permitted", condition(w.statusOf(own.Name), v1alpha1.ConditionPermitted))
		w.set(func() { missing = preflight.ErrPermission })
		w.Changed()
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "permitted", "False Forbidden", condition(w.statusOf(own.Name), v1alpha1.ConditionPermitted))
	})
}

func TestEventsOnARetentionPolicy(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		p := ownPolicy(v1alpha1.Enforce, rule("b", func(r *policy.Rule) { r.Events = v1alpha1.EventsPerObject }))
		w.create(p, noStatus)
		w.removed(1, p.Rules[0])
		bubble.Pass(20 * time.Second)
		due := w.began.UTC().Format(time.RFC3339)
		expect.Equal(t, "events", []string{
			"1s Job/team-a/job-0 Normal Expired: deleted by rule team-a/own/b, due " + due + " by team-a/own",
			"15s RetentionPolicy/team-a/own Normal Deleted: rule b deleted 1 Job in 15s",
		}, w.events())
		expect.Equal(t, "deleted", 1, w.statusOf("team-a/own").Deleted)
	})
}
