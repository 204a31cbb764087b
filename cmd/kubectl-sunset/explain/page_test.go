// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var at = fixture.Now

// about adds a rule for Pods and a rule for Jobs to a policy.
func about(p policy.Policy) *policy.Policy {
	if p.Namespaces == nil {
		p.Namespaces = labels.Everything()
	}
	for _, kind := range []string{"Pod", "Job"} {
		id := policy.RuleID{Policy: p.Name, Rule: kind}
		p.Rules = append(p.Rules, &policy.Rule{ID: id, Kind: schema.GroupVersionKind{Version: "v1", Kind: kind}})
	}
	return &p
}

func TestOthersOf(t *testing.T) {
	dev, err := labels.Parse("env=dev")
	expect.NoError(t, err)
	all := []*policy.Policy{
		about(policy.Policy{Name: "everywhere"}),
		about(policy.Policy{Name: "excluding", Excluded: sets.New("team-a")}),
		about(policy.Policy{Name: "selecting", Namespaces: dev}),
		about(policy.Policy{Name: "team-b/own", Namespace: "team-b"}),
		{Name: "unreadable"},
	}
	tests := map[string]struct {
		namespace string
		labels    labels.Set
		want      map[string]explain.Why
	}{
		"rules that apply are not included": {"team-b", labels.Set{"env": "dev"}, map[string]explain.Why{}},
		"each has its reason": {"team-a", nil, map[string]explain.Why{
			"excluding": explain.NamespaceExcluded, "selecting": explain.NamespaceNotSelected, "team-b/own": explain.OtherNamespace,
		}},
		"cluster-scoped objects": {"", nil, map[string]explain.Why{"team-b/own": explain.OtherNamespace}},
		"protection has precedence": {"kube-system", nil, map[string]explain.Why{
			"everywhere": explain.NamespaceProtected, "excluding": explain.NamespaceProtected,
			"selecting": explain.NamespaceProtected, "team-b/own": explain.NamespaceProtected,
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]explain.Why{}
			pod := &preview.Case{Kind: fixture.Pods.GroupKind(), Namespace: policy.Namespace{Labels: tc.labels}, Subject: policy.Subject{Namespace: tc.namespace}}
			for _, o := range explain.OthersOf(nil, pod, preview.Input{Policies: all, Protection: policy.DefaultProtection()}) {
				if o.Rule != "Pod" || o.Message == "" {
					t.Errorf("got %+v", o)
				}
				got[o.Policy] = o.Why
			}
			expect.Equal(t, "reasons", tc.want, got)
		})
	}
}

func TestSettings(t *testing.T) {
	three := v1alpha1.Rule{KeepNewest: &v1alpha1.KeepNewest{Count: 3}}
	bounds := policy.Bounds{Min: new(time.Hour), Max: new(48 * time.Hour)}
	override := &policy.Override{From: "team-a/defaults", Path: "spec.overrides[0]", Policy: "p", InForce: true}
	with := func(change func(*policy.Override)) []*policy.Override {
		o := *override
		change(&o)
		return []*policy.Override{&o}
	}
	tests := map[string]struct {
		rule  policy.Rule
		facts policy.Facts
		want  []explain.Setting
	}{
		"the rule's own": {policy.Rule{TTL: time.Hour}, policy.Facts{}, []explain.Setting{
			{Name: "ttl", Value: "1h", From: "the rule"},
		}},
		"an override beyond the bounds": {
			policy.Rule{TTL: 24 * time.Hour, Bounds: bounds, Overrides: with(func(o *policy.Override) { o.TTL = new(100 * time.Hour) })}, policy.Facts{},
			[]explain.Setting{
				{Name: "ttl", Value: "2d", From: "RetentionPolicy team-a/defaults spec.overrides[0]", Note: "written as 4d4h, rule says 1d, allowed 1h..2d"},
			},
		},
		"an expression": {policy.Rule{HasTTLExpression: true}, policy.Facts{Eligible: true, TTL: time.Hour}, []explain.Setting{
			{Name: "ttl", Value: "1h", From: "the rule's ttlExpression"},
		}},
		"an expression that was not evaluated": {policy.Rule{HasTTLExpression: true}, policy.Facts{}, nil},
		"a capacity by quota": {
			policy.Rule{TTL: policy.NeverTTL, Capacity: policy.Capacity{Bounded: true, Max: 80, Percent: 80, ByQuota: true}, Spec: v1alpha1.Rule{Capacity: &v1alpha1.Capacity{}}},
			policy.Facts{},
			[]explain.Setting{
				{Name: "ttl", Value: "none", From: "the rule"},
				{Name: "capacity", Value: "80", From: "the rule", Note: "80 % of the namespace's quota"},
			},
		},
		"a capacity without a quota": {policy.Rule{TTL: time.Hour, Spec: v1alpha1.Rule{Capacity: &v1alpha1.Capacity{}}}, policy.Facts{}, []explain.Setting{
			{Name: "ttl", Value: "1h", From: "the rule"},
			{Name: "capacity", Value: "none", From: "the rule", Note: "the namespace has no quota for it"},
		}},
		"fewer are kept": {
			policy.Rule{
				TTL: time.Hour, Keep: 2, Spec: three, Bounds: policy.Bounds{Keep: new(2)},
				Overrides: with(func(o *policy.Override) { o.Keep = new(1) }),
			},
			policy.Facts{},
			[]explain.Setting{
				{Name: "ttl", Value: "1h", From: "the rule"},
				{Name: "keepNewest", Value: "2", From: "RetentionPolicy team-a/defaults spec.overrides[0]", Note: "written as 1, rule says 3, allowed 2 and more"},
			},
		},
		"more are kept, because of one of two overrides": {
			policy.Rule{
				TTL: time.Hour, Keep: 5,
				Overrides: append(with(func(o *policy.Override) { o.Keep = new(4) }), with(func(o *policy.Override) { o.From, o.Keep = "team-a/more", new(5) })...),
			},
			policy.Facts{},
			[]explain.Setting{
				{Name: "ttl", Value: "1h", From: "the rule"},
				{Name: "keepNewest", Value: "5", From: "RetentionPolicy team-a/more spec.overrides[0]", Note: "rule says none, allowed more"},
			},
		},
		"an override without effect": {
			policy.Rule{TTL: time.Hour, Keep: 3, Spec: three, Overrides: with(func(o *policy.Override) { o.Keep = new(1) })}, policy.Facts{},
			[]explain.Setting{
				{Name: "ttl", Value: "1h", From: "the rule"},
				{Name: "keepNewest", Value: "3", From: "the rule"},
			},
		},
		"permissions of a ServiceAccount": {
			policy.Rule{TTL: time.Hour, Namespace: "team-a", ServiceAccount: "cleaner"}, policy.Facts{},
			[]explain.Setting{
				{Name: "ttl", Value: "1h", From: "the rule"},
				{Name: "permissions", Value: "of ServiceAccount team-a/cleaner", From: "the policy", Note: "not checked here"},
			},
		},
		"an invalid override": {
			policy.Rule{TTL: time.Hour, Suspended: true, Overrides: with(func(o *policy.Override) { o.Invalid = true })}, policy.Facts{},
			[]explain.Setting{
				{Name: "ttl", Value: "1h", From: "the rule"},
				{Name: "suspend", Value: "true", From: "RetentionPolicy team-a/defaults spec.overrides[0]", Note: "it is invalid, so objects are kept"},
			},
		},
		"a mark": {policy.Rule{TTL: time.Hour}, policy.Facts{Eligible: true, Marked: true, Start: at}, []explain.Setting{
			{Name: "start", Value: "2026-03-01T12:00:00Z", From: "annotation sunset-k8s.io/eligible-since"},
			{Name: "ttl", Value: "1h", From: "the rule"},
		}},
		"no mark at all": {policy.Rule{TTL: time.Hour}, policy.Facts{Eligible: true, Marked: true}, []explain.Setting{
			{Name: "start", Value: "none", From: "annotation sunset-k8s.io/eligible-since"},
			{Name: "ttl", Value: "1h", From: "the rule"},
		}},
		"no mark yet": {policy.Rule{TTL: time.Hour}, policy.Facts{Eligible: true, Marked: true, Estimated: true, Start: at}, []explain.Setting{
			{Name: "start", Value: "2026-03-01T12:00:00Z", From: "the evaluation time", Note: "the object has no mark yet"},
			{Name: "ttl", Value: "1h", From: "the rule"},
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.facts.Selected = true
			page := explain.New(explain.Input{At: at, Evaluations: []policy.Evaluation{{Rule: &tc.rule, Facts: tc.facts, Known: true}}})
			expect.Equal(t, "settings", tc.want, page.Rules[0].Settings, cmpopts.EquateEmpty())
		})
	}
}

// TestBlocksAreToldOnce: two rules of one dry-run policy have one block.
func TestBlocksAreToldOnce(t *testing.T) {
	dryRun := func(name string) policy.Evaluation {
		r := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: name}, Mode: v1alpha1.DryRun, TTL: time.Hour}
		return policy.Evaluation{Rule: r, Facts: policy.Facts{Selected: true, Eligible: true, Start: at}, Known: true}
	}
	page := explain.New(explain.Input{At: at, Evaluations: []policy.Evaluation{dryRun("a"), dryRun("b")}})
	want := []explain.Block{{Reason: policy.IsDryRun, Message: "policy p is a dry run", Remedy: "set mode: Enforce in policy p"}}
	expect.Equal(t, "blocks", want, page.Blocks)
}

func TestRankOf(t *testing.T) {
	member := func(group, uid string, age time.Duration) policy.Candidate {
		return policy.Candidate{Namespace: "team-a", Group: group, UID: types.UID(uid), Start: at.Add(-age)}
	}
	elsewhere := member("web", "x", 0)
	elsewhere.Namespace = "team-b"
	odd := policy.Candidate{Namespace: "team-a", UID: "odd", Unknown: true}
	self := member("web", "m", time.Hour)
	all := []policy.Candidate{self, elsewhere, odd, member("web", "a", time.Hour), member("web", "z", time.Hour), member("web", "b", 0), member("db", "c", 0)}
	room := func(keep int, limit policy.Limit) policy.Ranking {
		return policy.Ranking{Allowance: func(string) policy.Allowance { return policy.Allowance{Keep: keep, Limit: limit} }}
	}
	fair := room(0, policy.AtMost(1))
	fair.Fair = policy.AtMost(4)
	for name, tc := range map[string]struct {
		self    policy.Candidate
		ranking policy.Ranking
		want    explain.Rank
	}{
		"of one group in one namespace, ties by UID":  {self, room(2, policy.Limit{}), explain.Rank{Group: "web", Place: 3, Of: 4, Keep: 2, Unknown: 1}},
		"a capacity of the namespace, for all groups": {self, room(0, policy.AtMost(9)), explain.Rank{Group: "web", Place: 3, Of: 4, Unknown: 1, Capacity: &explain.Capacity{Count: 5, Max: 9}}},
		"a capacity that all namespaces share":        {self, fair, explain.Rank{Group: "web", Place: 3, Of: 4, Unknown: 1, Capacity: &explain.Capacity{Count: 6, Max: 4, AllNamespaces: true}}},
		"the object itself cannot be evaluated":       {odd, room(2, policy.Limit{}), explain.Rank{Keep: 2, Unknown: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "rank", tc.want, explain.RankOf(tc.self, all, tc.ranking))
		})
	}
}

// TestRuleWithoutPermissions: a block exists only if the status reports a missing permission.
func TestRuleWithoutPermissions(t *testing.T) {
	r := &policy.Rule{ID: policy.RuleID{Policy: "team-a/own", Rule: "r"}, Namespace: "team-a", ServiceAccount: "cleaner", Mode: v1alpha1.Enforce, TTL: time.Hour}
	evaluations := []policy.Evaluation{{Rule: r, Facts: policy.Facts{Selected: true, Eligible: true, Start: at}, Known: true}}
	for status, want := range map[metav1.ConditionStatus][]explain.Block{
		metav1.ConditionTrue:  nil,
		metav1.ConditionFalse: {{Reason: policy.IsForbidden, Message: "may not delete", Remedy: "grant ServiceAccount team-a/cleaner the missing permission"}},
	} {
		condition := metav1.Condition{Type: v1alpha1.ConditionPermitted, Status: status, Message: "may not delete"}
		page := explain.New(explain.Input{At: at, Evaluations: evaluations, Status: map[string]v1alpha1.RetentionPolicyStatus{
			"team-a/own": {Conditions: []metav1.Condition{condition}},
		}})
		expect.Equal(t, string(status), want, page.Blocks, cmpopts.EquateEmpty())
	}
}

// TestPageNamesSuspendingOverrides: the page names each override that suspends, and proposes only possible changes.
func TestPageNamesSuspendingOverrides(t *testing.T) {
	whole := &policy.Override{From: "shop/freeze", Path: "spec.overrides[0]", Policy: "p", Suspend: true}
	garbled := &policy.Override{From: "shop/garbled", Path: "spec.overrides[1]", Policy: "p", Invalid: true}
	const removed, corrected = "remove suspend: true from RetentionPolicy shop/freeze spec.overrides[0]",
		"fix RetentionPolicy shop/garbled spec.overrides[1] (run: kubectl sunset validate)"
	for name, tc := range map[string]struct {
		overrides []*policy.Override
		bounds    policy.Bounds
		want      string
	}{
		"one override of two rules": {[]*policy.Override{whole}, policy.Bounds{}, removed},
		"one invalid override":      {[]*policy.Override{garbled}, policy.Bounds{}, corrected},
		"both":                      {[]*policy.Override{whole, garbled}, policy.Bounds{}, removed + ", and " + corrected},
		"an override that the rules do not allow is ignored": {[]*policy.Override{whole, garbled}, policy.Bounds{NoSuspend: true}, corrected},
	} {
		t.Run(name, func(t *testing.T) {
			var evaluations []policy.Evaluation
			for _, rule := range []string{"a", "b"} {
				r := &policy.Rule{
					ID: policy.RuleID{Policy: "p", Rule: rule}, Mode: v1alpha1.Enforce, TTL: time.Hour, Suspended: true, Overrides: tc.overrides, Bounds: tc.bounds,
				}
				evaluations = append(evaluations, policy.Evaluation{Rule: r, Facts: policy.Facts{Selected: true, Eligible: true, Start: at}, Known: true})
			}
			page := explain.New(explain.Input{At: at, Evaluations: evaluations})
			if len(page.Changes) != 1 || page.Changes[0].What != tc.want {
				t.Errorf("got %+v, want %q", page.Changes, tc.want)
			}
		})
	}
}

// TestAnnotationThatCannotBeRead: the annotation causes an error of every rule that finds the object eligible, and the rules
// are correct.
func TestAnnotationThatCannotBeRead(t *testing.T) {
	failure := errors.New("not a duration")
	in := explain.Input{At: at, Explanations: map[policy.RuleID][]engine.Explanation{}}
	for _, rule := range []string{"a", "b"} {
		r := &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: rule}, Mode: v1alpha1.Enforce, TTL: time.Hour}
		in.Evaluations = append(in.Evaluations, policy.Evaluation{Rule: r, Facts: policy.Facts{Selected: true, Err: failure}, Known: true})
		in.Explanations[r.ID] = []engine.Explanation{{Field: "eligible", Value: "true"}, {Field: "annotation sunset-k8s.io/ttl", Err: failure}}
	}
	in.Verdict, _ = policy.Decide(in.Subject, in.Evaluations, at)
	var got []string
	for _, c := range explain.New(in).Changes {
		got = append(got, c.What)
	}
	expect.Equal(t, "changes", []string{"fix or remove annotation sunset-k8s.io/ttl of the object"}, got)
}

// TestPageSaysWhatIsUnknownAboutReferences: the page names why a rule that reads a variable keeps the object, for each variable.
func TestPageSaysWhatIsUnknownAboutReferences(t *testing.T) {
	everything := policy.AsksReferences | policy.AsksTargets | policy.AsksSelected
	for name, test := range map[string]struct {
		known                         engine.References
		references, targets, selected string
	}{
		"nothing":               {engine.References{}, "", "", ""},
		"everything":            {engine.References{Incomplete: errors.New("no"), Unread: errors.New("later")}, "no", "no", "no"},
		"what it refers to":     {engine.References{Unread: errors.New("later")}, "", "later", "later"},
		"what nothing declares": {engine.References{Undeclared: policy.AsksReferences}, "no policy declares references for this kind; write spec.references", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.known.Missing = func() []engine.Referrer { return nil }
			page := explain.New(explain.Input{At: at, References: &test.known, Asked: everything})
			expect.Equal(t, "references", test.references, page.References.Unknown)
			expect.Equal(t, "targets", test.targets, page.Targets.Unknown)
			expect.Equal(t, "selected", test.selected, page.Selected.Unknown)
		})
	}
}
