// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// ownRule is the JSON of a rule without problems.
const ownRule = `{"name": "own", "target": {"apiVersion": "batch/v1", "kind": "Job"}, "eligible": "true", ` +
	`"startTime": "object.metadata.creationTimestamp", "ttl": "1h"}`

// namespaced reads a RetentionPolicy team-a/mine with this spec.
func namespaced(t *testing.T, spec string) *policy.Policy {
	t.Helper()
	return parse(t, `{"apiVersion": "sunset-k8s.io/v1alpha1", "kind": "RetentionPolicy",
		"metadata": {"name": "mine", "namespace": "team-a"}, "spec": `+spec+`}`).Load(policy.DefaultProtection())
}

func TestLoadOfARetentionPolicy(t *testing.T) {
	d := parse(t, `{"kind": "RetentionPolicy", "metadata": {"name": "mine", "namespace": "team-a", "uid": "u"},
		"spec": {"mode": "Enforce", "serviceAccountName": "cleaner", "approval": {"maxObjects": 7}, "rules": [`+ownRule+`],
			"overrides": [{"policy": "batch", "rule": "jobs", "ttl": "4h"}, {"policy": "batch", "suspend": true, "keepNewest": {"count": 3}},
				{"policy": "batch", "ttl": "0s", "keepNewest": {"count": 0}}]}}`)
	p := d.Load(policy.DefaultProtection())
	if len(p.Problems) > 0 {
		t.Fatalf("problems %v, want none", p.Problems)
	}
	if p.Name != "team-a/mine" || p.Namespace != "team-a" || p.ServiceAccount != "cleaner" ||
		p.Approval != (policy.Approval{MaxPercent: 25, MaxObjects: 7}) {
		t.Errorf("policy is %+v", p)
	}
	r := p.Rules[0]
	if r.ID != (policy.RuleID{Policy: "team-a/mine", Rule: "own"}) || r.Namespace != "team-a" || r.ServiceAccount != "cleaner" || r.PolicyUID != "u" {
		t.Errorf("rule is %+v", r)
	}
	want := []*policy.Override{
		{From: "team-a/mine", Path: "spec.overrides[0]", Policy: "batch", Rule: "jobs", TTL: new(4 * hour), InForce: true},
		{From: "team-a/mine", Path: "spec.overrides[1]", Policy: "batch", Suspend: true, Keep: new(3), InForce: true},
		{From: "team-a/mine", Path: "spec.overrides[2]", Policy: "batch", TTL: new(time.Duration(0)), Keep: new(0), InForce: true},
	}
	expect.Equal(t, "overrides", want, p.Overrides)
}

func TestWhateverAServiceAccountMayBeNamed(t *testing.T) {
	for _, name := range []string{"cleaner", "0", "a-b.c--d.9", strings.Repeat("a", 253)} {
		p := namespaced(t, fmt.Sprintf(`{"serviceAccountName": %q, "rules": [%s]}`, name, ownRule))
		if len(p.Problems) > 0 || p.ServiceAccount != name {
			t.Errorf("%q: problems %v, account %q", name, p.Problems, p.ServiceAccount)
		}
	}
}

// TestRetentionPolicyProblemsOfEachRule checks the reported problems, and which rules they concern: each of two overridden rules,
// p/jobs and p/pods, and the policy's own rule.
func TestRetentionPolicyProblemsOfEachRule(t *testing.T) {
	const good = `{"policy": "p", "rule": "jobs", "ttl": "4h"}`
	const both = good + `, {"policy": "p", "rule": "pods", "ttl": "4h"}`
	const account = `"serviceAccountName": "cleaner"`
	spec := func(first, rule string) string {
		return `{` + account + `, "overrides": [` + first + `, {"policy": "p", "rule": "pods", "ttl": "4h"}], "rules": [` + rule + `]}`
	}
	override := func(text string) string { return spec(text, ownRule) }
	rule := func(from, to string) string { return spec(good, strings.Replace(ownRule, from, to, 1)) }
	with := func(field string) string {
		return `{` + account + `, ` + field + `, "overrides": [` + both + `], "rules": [` + ownRule + `]}`
	}
	type concerned struct{ jobs, pods, own bool }
	none, all := concerned{}, concerned{true, true, true}
	tests := map[string]struct {
		spec  string
		paths []string
		want  concerned
	}{
		"no problem": {override(good), nil, none},
		"an unknown field of an override": {
			override(`{"policy": "p", "rule": "jobs", "ttl": "4h", "until": "x"}`), []string{"spec.overrides[0].until"}, concerned{jobs: true}},
		"a repeated field of an override": {
			override(`{"policy": "p", "rule": "jobs", "ttl": "4h", "ttl": "5h"}`), []string{"spec.overrides[0].ttl"}, concerned{jobs: true}},
		"a ttl of another type": {
			override(`{"policy": "p", "rule": "jobs", "ttl": 4}`), []string{"spec.overrides[0].ttl", "spec.overrides[0]"}, concerned{jobs: true}},
		"a suspend of another type": {
			override(`{"policy": "p", "rule": "jobs", "suspend": "true"}`), []string{"spec.overrides[0].suspend"}, concerned{jobs: true}},
		"a ttl that is not a duration": {
			override(`{"policy": "p", "rule": "jobs", "ttl": "soon"}`), []string{"spec.overrides[0].ttl"}, concerned{jobs: true}},
		"a negative ttl": {
			override(`{"policy": "p", "rule": "jobs", "ttl": "-1h"}`), []string{"spec.overrides[0].ttl"}, concerned{jobs: true}},
		"a negative keepNewest": {
			override(`{"policy": "p", "rule": "jobs", "keepNewest": {"count": -1}}`), []string{"spec.overrides[0].keepNewest.count"}, concerned{jobs: true}},
		"an override that changes nothing": {
			override(`{"policy": "p", "rule": "jobs"}`), []string{"spec.overrides[0]"}, concerned{jobs: true}},
		"a rule name that cannot be read may mean any rule": {
			override(`{"policy": "p", "rule": 1, "ttl": "4h"}`), []string{"spec.overrides[0].rule"}, concerned{jobs: true, pods: true}},
		"a missing policy name may mean any policy": {
			override(`{"ttl": "4h"}`), []string{"spec.overrides[0].policy"}, concerned{jobs: true, pods: true}},
		"a misspelt policy field": {
			override(`{"polcy": "p", "ttl": "4h"}`), []string{"spec.overrides[0].polcy"}, concerned{jobs: true, pods: true}},
		"a misspelt policy field, and a rule": {
			override(`{"polcy": "p", "rule": "jobs", "ttl": "4h"}`), []string{"spec.overrides[0].polcy"}, concerned{jobs: true}},
		"an override that is a string": {
			override(`"p/jobs"`), []string{"spec.overrides[0]"}, concerned{jobs: true, pods: true}},

		"an unknown field of the rule":      {rule(`"ttl"`, `"until": 1, "ttl"`), []string{"spec.rules[0].until"}, concerned{own: true}},
		"a ttl of the rule of another type": {rule(`"1h"`, `1`), []string{"spec.rules[0].ttl"}, concerned{own: true}},
		"a rule that is a string":           {spec(good, `"own"`), []string{"spec.rules[0]"}, concerned{own: true}},
		"a protected kind":                  {rule(`"batch/v1", "kind": "Job"`, `"v1", "kind": "PersistentVolumeClaim"`), []string{"spec.rules[0].target.kind"}, concerned{own: true}},
		"a protected group":                 {rule(`"batch/v1", "kind": "Job"`, `"rbac.authorization.k8s.io/v1", "kind": "Role"`), []string{"spec.rules[0].target.kind"}, concerned{own: true}},
		"a kind of Sunset":                  {rule(`"batch/v1", "kind": "Job"`, `"sunset-k8s.io/v1alpha1", "kind": "RetentionPolicy"`), []string{"spec.rules[0].target.kind"}, concerned{own: true}},

		"rules without a ServiceAccount": {
			`{"overrides": [` + both + `], "rules": [` + ownRule + `]}`, []string{"spec.serviceAccountName"}, concerned{own: true}},
		"a ServiceAccount of another type": {
			`{"serviceAccountName": 1, "overrides": [` + both + `], "rules": [` + ownRule + `]}`, []string{"spec.serviceAccountName"}, concerned{own: true}},
		"an invalid name of a ServiceAccount": {
			`{"serviceAccountName": "Cleaner", "overrides": [` + both + `], "rules": [` + ownRule + `]}`, []string{"spec.serviceAccountName"}, concerned{own: true}},
		"a name with a line separator": {
			`{"serviceAccountName": "a\u2028---", "overrides": [` + both + `], "rules": [` + ownRule + `]}`, []string{"spec.serviceAccountName"}, concerned{own: true}},
		"an unknown mode":              {with(`"mode": "enforce"`), []string{"spec.mode"}, concerned{own: true}},
		"a mode of another type":       {with(`"mode": true`), []string{"spec.mode"}, concerned{own: true}},
		"variables of another type":    {with(`"variables": "x"`), []string{"spec.variables"}, concerned{own: true}},
		"an unknown field of approval": {with(`"approval": {"percent": 1}`), []string{"spec.approval.percent"}, concerned{own: true}},
		"an approval out of range":     {with(`"approval": {"maxPercent": 101}`), []string{"spec.approval.maxPercent"}, concerned{own: true}},

		"an unknown field of spec":                        {with(`"suspendAll": true`), []string{"spec.suspendAll"}, all},
		"an unknown field that begins with overrides":     {with(`"overridesToo": []`), []string{"spec.overridesToo"}, all},
		"an unknown field that begins with rules":         {with(`"rulesOfOthers": []`), []string{"spec.rulesOfOthers"}, all},
		"an unknown field that begins with mode":          {with(`"modeOfOthers": []`), []string{"spec.modeOfOthers"}, all},
		"a field of the other kind of policy":             {with(`"namespaceSelector": {}`), []string{"spec.namespaceSelector"}, all},
		"overrides of another type":                       {`{` + account + `, "overrides": {"policy": "p"}, "rules": [` + ownRule + `]}`, []string{"spec.overrides"}, all},
		"rules of another type may hide the other fields": {`{"rules": "x", "overrides": [` + both + `]}`, []string{"spec.rules"}, concerned{jobs: true, pods: true}},
		"repeated overrides":                              {with(`"overrides": []`), []string{"spec.overrides"}, all},
		"a spec of another type":                          {`"x"`, []string{"spec"}, concerned{jobs: true, pods: true}},
		"null for a spec":                                 {`null`, []string{"spec"}, concerned{jobs: true, pods: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mine := namespaced(t, test.spec)
			var paths []string
			for _, p := range mine.Problems {
				paths = append(paths, p.Path)
			}
			expect.Equal(t, "problems", test.paths, paths)
			snapshot := policy.NewSnapshot([]*policy.Policy{policyOf("p", about(jobs, "jobs"), about(pods, "pods")), mine}, namespaces, policy.Protection{})
			var got concerned
			got.jobs = snapshot.Effective(jobs.GroupKind(), "team-a").Rules[0].Suspended
			got.pods = snapshot.Effective(pods.GroupKind(), "team-a").Rules[0].Suspended
			got.own = len(mine.Rules) > 0 && mine.Rules[0].Invalid()
			if got != test.want {
				t.Errorf("concerned are %+v, want %+v", got, test.want)
			}
			if snapshot.Effective(jobs.GroupKind(), "team-b").Rules[0].Suspended {
				t.Error("the problem concerns another namespace")
			}
		})
	}
}

func TestRetentionPolicyBesideSpecIsStrictToo(t *testing.T) {
	p := parse(t, `{"kind": "RetentionPolicy", "metadata": {"name": "mine", "namespace": "team-a"}, "overrides": [{"policy": "p", "suspend": true}],
		"spec": {"overrides": [{"policy": "p", "rule": "other", "ttl": "1h"}]}}`).Load(policy.DefaultProtection())
	snapshot := policy.NewSnapshot([]*policy.Policy{policyOf("p", about(jobs, "jobs")), p}, namespaces, policy.Protection{})
	if !snapshot.Effective(jobs.GroupKind(), "team-a").Rules[0].Suspended {
		t.Error("overrides outside of spec keep nothing")
	}
}

func TestApprovalOfAPolicy(t *testing.T) {
	tests := map[string]struct {
		approval string
		want     policy.Approval
		path     string
	}{
		"none":                  {`null`, policy.Approval{MaxPercent: 25, MaxObjects: 100}, ""},
		"an empty one":          {`{}`, policy.Approval{MaxPercent: 25, MaxObjects: 100}, ""},
		"both":                  {`{"maxPercent": 0, "maxObjects": 0}`, policy.Approval{}, ""},
		"only one":              {`{"maxPercent": 100}`, policy.Approval{MaxPercent: 100, MaxObjects: 100}, ""},
		"a negative count":      {`{"maxObjects": -1}`, policy.Approval{MaxPercent: 25, MaxObjects: 100}, "spec.approval.maxObjects"},
		"more than 100 percent": {`{"maxPercent": 101}`, policy.Approval{MaxPercent: 25, MaxObjects: 100}, "spec.approval.maxPercent"},
		"always":                {`{"requiredFor": "AllChanges"}`, policy.Approval{MaxPercent: 25, MaxObjects: 100, AllChanges: true}, ""},
		"when large":            {`{"requiredFor": "LargeChanges"}`, policy.Approval{MaxPercent: 25, MaxObjects: 100}, ""},
		"an unknown value":      {`{"requiredFor": "SomeChanges"}`, policy.Approval{MaxPercent: 25, MaxObjects: 100, AllChanges: true}, "spec.approval.requiredFor"},
		"another type":          {`7`, policy.Approval{MaxPercent: 25, MaxObjects: 100}, "spec.approval"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := parse(t, `{"spec": {"approval": `+test.approval+`, "rules": [`+ownRule+`]}}`).Load(policy.Protection{})
			if p.Approval != test.want {
				t.Errorf("approval is %+v, want %+v", p.Approval, test.want)
			}
			if bad := test.path != ""; len(p.Problems) > 0 != bad || bad && (p.Problems[0].Path != test.path || !p.Rules[0].Invalid()) {
				t.Errorf("problems %v, want one at %q", policy.Lines(p.Problems), test.path)
			}
		})
	}
}

// TestHash changes parts of fields; TestSpecHashHasEveryField changes each field.
func TestHash(t *testing.T) {
	const fine = `{"mode": "Enforce", "approval": {"maxObjects": 5}, "serviceAccountName": "cleaner",
		"variables": [{"name": "v", "expression": "true"}], "overrides": [{"policy": "p", "ttl": "4h"}],
		"rules": [{"name": "own", "target": {"apiVersion": "batch/v1", "kind": "Job"}, "eligible": "true", "startTime": "x", "ttl": "1h", "events": "PerObject"}]}`
	tests := map[string]struct {
		from, to string
		same     bool
	}{
		"no change":   {``, ``, true},
		"no mode":     {`"mode": "Enforce", `, ``, true},
		"the order":   {`"name": "v", "expression": "true"`, `"expression": "true", "name": "v"`, true},
		"a variable":  {`"expression": "true"`, `"expression": "false"`, false},
		"a selector":  {`"kind": "Job"`, `"kind": "Job", "selector": {"matchLabels": {"a": "b"}}`, false},
		"an override": {`"4h"`, `"5h"`, false},
	}
	first := namespaced(t, fine).Hash
	if len(first) != 32 {
		t.Errorf("hash is %q", first)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(fine, test.from, test.to, 1)
			if changed == fine && name != "no change" {
				t.Fatal("the text has not changed")
			}
			if got := namespaced(t, changed).Hash; (got == first) != test.same {
				t.Errorf("hashes %s and %s", first, got)
			}
		})
	}
}

func TestLoadTakesRankingAndBounds(t *testing.T) {
	d := fine()
	three, most, ten, no := int32(3), int32(5000), int32(10), false
	d.Spec.Rules[0].KeepNewest = &v1alpha1.KeepNewest{Count: 3}
	d.Spec.Rules[0].Capacity = &v1alpha1.Capacity{Max: &most, Share: v1alpha1.ShareFair}
	d.Spec.Rules[0].OverrideBounds = &v1alpha1.OverrideBounds{MinTTL: "10m", MaxTTL: "30d", TTLAnnotation: v1alpha1.TTLAnnotationWithinBounds, AllowSuspend: &no, MinKeepNewest: &three}
	d.Spec.Rules[1].TTL = ""
	d.Spec.Rules[1].Capacity = &v1alpha1.Capacity{PercentOfQuota: &ten}
	p := d.Load(policy.DefaultProtection())
	if len(p.Problems) > 0 {
		t.Fatal(policy.Lines(p.Problems))
	}
	minimum, maximum, keep := 10*time.Minute, 30*policy.Day, 3
	want := policy.Bounds{Min: &minimum, Max: &maximum, Annotation: v1alpha1.TTLAnnotationWithinBounds, NoSuspend: true, Keep: &keep}
	expect.Equal(t, "bounds", want, p.Rules[0].Bounds)
	if r := p.Rules[0]; r.Keep != 3 || r.Capacity != (policy.Capacity{Bounded: true, Max: 5000, Fair: true}) || !r.Ranks() {
		t.Errorf("rule is %+v", r)
	}
	if r := p.Rules[1]; r.TTL != policy.NeverTTL || r.Capacity != (policy.Capacity{Bounded: true, ByQuota: true, Percent: 10}) {
		t.Errorf("rule is %+v", r)
	}
}

func TestLoadFindsProblemsOfRankingAndBounds(t *testing.T) {
	capacity := func(c v1alpha1.Capacity) func(*v1alpha1.Rule) { return func(r *v1alpha1.Rule) { r.Capacity = &c } }
	bounds := func(b v1alpha1.OverrideBounds) func(*v1alpha1.Rule) {
		return func(r *v1alpha1.Rule) { r.OverrideBounds = &b }
	}
	tests := map[string]struct {
		spoil func(*v1alpha1.Rule)
		path  string
	}{
		"keepNewest of 0":                    {func(r *v1alpha1.Rule) { r.KeepNewest = &v1alpha1.KeepNewest{} }, "keepNewest.count"},
		"an empty capacity":                  {capacity(v1alpha1.Capacity{}), "capacity"},
		"max and percentOfQuota":             {capacity(v1alpha1.Capacity{Max: new(int32(1)), PercentOfQuota: new(int32(1))}), "capacity"},
		"a negative capacity":                {capacity(v1alpha1.Capacity{Max: new(int32(-1))}), "capacity.max"},
		"more than 100 percent of the quota": {capacity(v1alpha1.Capacity{PercentOfQuota: new(int32(101))}), "capacity.percentOfQuota"},
		"a negative percentage of the quota": {capacity(v1alpha1.Capacity{PercentOfQuota: new(int32(-1))}), "capacity.percentOfQuota"},
		"a fair percentage of the quota":     {capacity(v1alpha1.Capacity{PercentOfQuota: new(int32(1)), Share: v1alpha1.ShareFair}), "capacity.share"},
		"an unknown share":                   {capacity(v1alpha1.Capacity{Max: new(int32(1)), Share: "fair"}), "capacity.share"},
		"a minTTL that is not a duration":    {bounds(v1alpha1.OverrideBounds{MinTTL: "soon"}), "overrideBounds.minTTL"},
		"a negative maxTTL":                  {bounds(v1alpha1.OverrideBounds{MaxTTL: "-1h"}), "overrideBounds.maxTTL"},
		"a minTTL above maxTTL":              {bounds(v1alpha1.OverrideBounds{MinTTL: "2h", MaxTTL: "1h"}), "overrideBounds"},
		"a negative minKeepNewest":           {bounds(v1alpha1.OverrideBounds{MinKeepNewest: new(int32(-1))}), "overrideBounds.minKeepNewest"},
		"an unknown ttlAnnotation":           {bounds(v1alpha1.OverrideBounds{TTLAnnotation: "Always"}), "overrideBounds.ttlAnnotation"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := fine()
			test.spoil(&d.Spec.Rules[0])
			p := d.Load(policy.DefaultProtection())
			checkProblem(t, p, "spec.rules[0]."+test.path)
			if p.Problems[0].Hint == "" && !strings.Contains(p.Problems[0].Message, "write ") {
				t.Errorf("%s does not say what to write", p.Problems[0])
			}
		})
	}
}

// own is a RetentionPolicy with its own rules.
func own(namespace, name string, rules ...*policy.Rule) *policy.Policy {
	p := policyOf(namespace+"/"+name, rules...)
	p.Namespace = namespace
	for _, r := range rules {
		r.Namespace = namespace
	}
	return p
}

func TestEffectiveOwnRules(t *testing.T) {
	snapshot := policy.NewSnapshot([]*policy.Policy{
		policyOf("everywhere", about(jobs, "jobs")),
		own("team-a", "mine", about(jobs, "jobs")), own("unborn", "mine", about(jobs, "jobs")), own("kube-system", "mine", about(jobs, "jobs")),
	}, namespaces, policy.DefaultProtection())
	tests := map[string]struct {
		namespace string
		want      []string
	}{
		"in their namespace, with the cluster rules": {"team-a", []string{"everywhere/jobs", "team-a/mine/jobs"}},
		"not in another":                       {"team-b", []string{"everywhere/jobs"}},
		"in a namespace that is not known yet": {"unborn", []string{"everywhere/jobs", "unborn/mine/jobs"}},
		"not in a protected namespace":         {"kube-system", []string{}},
		"not for cluster-scoped objects":       {"", []string{"everywhere/jobs"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "effective", test.want, names(snapshot.Effective(jobs.GroupKind(), test.namespace)))
		})
	}
	expect.Equal(t, "cluster rules", []string{"everywhere/jobs"}, names(&policy.EffectiveRules{Rules: snapshot.ClusterRules("team-a")}))
}

func TestProtectedNamespaceIgnoresOverrides(t *testing.T) {
	p := own("kube-system", "mine")
	p.Overrides = []*policy.Override{{Policy: "p", Suspend: true, Path: "spec.overrides[0]"}}
	snapshot := policy.NewSnapshot([]*policy.Policy{policyOf("p", about(jobs, "jobs")), p}, namespaces, policy.DefaultProtection())
	if o := snapshot.Overrides("kube-system"); len(o) > 0 {
		t.Errorf("overrides %v, want none", o)
	}
}

func TestTenantNeverMakesARuleOfTheClusterInvalid(t *testing.T) {
	kind := schema.GroupKind{Group: "g", Kind: "Thing"}
	for _, m := range []v1alpha1.Mode{v1alpha1.DryRun, v1alpha1.Enforce} {
		// The names of the tenants' policies sort before the cluster policy.
		theirs := policyOf("z", at("v1", "r", m))
		snapshot := policy.NewSnapshot([]*policy.Policy{
			own("a", "mine", at("v2", "r", v1alpha1.Enforce)), own("kube-system", "mine", at("v3", "r", v1alpha1.Enforce)), theirs,
		}, nil, policy.DefaultProtection())
		expect.Equal(t, "version", "v1", snapshot.Version(kind).Version)
		for _, r := range snapshot.Rules(kind) {
			if tenant := r.Namespace != ""; r.Invalid() != tenant {
				t.Errorf("%s: invalid is %v", r.ID, r.Invalid())
			}
		}
	}
}

func TestOverridesOfWhatIsNotThere(t *testing.T) {
	tests := map[string]struct {
		override policy.Override
		want     []string
	}{
		"an existing policy and rule":       {policy.Override{Policy: "batch", Rule: "jobs"}, nil},
		"every rule of a policy":            {policy.Override{Policy: "batch"}, nil},
		"a policy with a similar name":      {policy.Override{Policy: "bacth", Rule: "jobs"}, []string{`spec.overrides[0].policy: ClusterRetentionPolicy "bacth" does not exist (did you mean batch?)`}},
		"a policy without a similar name":   {policy.Override{Policy: "logging"}, []string{`spec.overrides[0].policy: ClusterRetentionPolicy "logging" does not exist`}},
		"a rule with a similar name":        {policy.Override{Policy: "batch", Rule: "job"}, []string{`spec.overrides[0].rule: policy batch has no rule "job" (did you mean jobs?)`}},
		"a rule of another policy":          {policy.Override{Policy: "other", Rule: "jobs"}, []string{`spec.overrides[0].rule: policy other has no rule "jobs"`}},
		"a RetentionPolicy":                 {policy.Override{Policy: "team-a/mine"}, []string{`spec.overrides[0].policy: ClusterRetentionPolicy "team-a/mine" does not exist`}},
		"a missing name is another problem": {policy.Override{Invalid: true}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.override.Path = "spec.overrides[0]"
			mine := own("team-a", "mine", about(jobs, "own"))
			mine.Overrides = []*policy.Override{&test.override}
			snapshot := policy.NewSnapshot([]*policy.Policy{policyOf("batch", about(jobs, "jobs")), policyOf("other", about(jobs, "sweep")), mine}, nil, policy.Protection{})
			got := snapshot.Policies()[2]
			expect.Equal(t, "problems", test.want, policy.Lines(got.Problems))
			if got.Rules[0].Invalid() || len(mine.Problems) > 0 {
				t.Error("the policy's own rule is invalid, or the argument has changed")
			}
		})
	}
}

func TestQuotas(t *testing.T) {
	quota := func(n int64) policy.Namespace {
		return policy.Namespace{Quotas: map[string]int64{"jobs.batch": n, "pods": 7}}
	}
	spaces := map[string]policy.Namespace{
		"large": quota(200), "small": quota(9), "none": quota(0), "other": {Quotas: map[string]int64{"jobs": 5}}, "unknown": {},
	}
	r := about(jobs, "jobs")
	r.Capacity = policy.Capacity{Bounded: true, ByQuota: true, Percent: 25}
	snapshot := policy.NewSnapshot([]*policy.Policy{policyOf("p", r)}, spaces, policy.Protection{})
	for namespace, want := range map[string]policy.Capacity{
		"large":   {Bounded: true, ByQuota: true, Percent: 25, Max: 50},
		"small":   {Bounded: true, ByQuota: true, Percent: 25, Max: 3},
		"none":    {Bounded: true, ByQuota: true, Percent: 25, Max: 0},
		"other":   {},
		"unknown": {},
		"unborn":  {},
		"":        {},
	} {
		if got := snapshot.Effective(jobs.GroupKind(), namespace).Rules[0].Capacity; got != want {
			t.Errorf("%q: capacity is %+v, want %+v", namespace, got, want)
		}
	}
	if r.Capacity.Max != 0 || !r.Capacity.ByQuota {
		t.Error("the argument has changed")
	}
	if snapshot.Effective(jobs.GroupKind(), "large").SameSettings(snapshot.Effective(jobs.GroupKind(), "small")) {
		t.Error("a different quota gives the same settings")
	}
}

func TestNamespaceEqual(t *testing.T) {
	base := func() policy.Namespace {
		return policy.Namespace{Labels: labels.Set{"a": "b"}, Quotas: map[string]int64{"pods": 1}}
	}
	for name, change := range map[string]func(*policy.Namespace){
		"labels":  func(n *policy.Namespace) { n.Labels["a"] = "c" },
		"a hold":  func(n *policy.Namespace) { n.Held = true },
		"a quota": func(n *policy.Namespace) { n.Quotas["pods"] = 2 },
	} {
		changed := base()
		change(&changed)
		if !base().Equal(base()) || base().Equal(changed) || changed.Equal(base()) {
			t.Errorf("%s: Equal is wrong", name)
		}
	}
}

func TestApprovalGateCoversItsNamespaces(t *testing.T) {
	both := policyOf("p", about(jobs, "jobs"), about(jobs, "more"))
	for name, test := range map[string]struct {
		gate *policy.ApprovalGate
		want map[string][]bool // by namespace: whether each rule waits
	}{
		"no gate":                 {nil, map[string][]bool{"a": {false, false}, "b": {false, false}}},
		"everything":              {&policy.ApprovalGate{}, map[string][]bool{"a": {true, true}, "b": {true, true}}},
		"a namespace":             {&policy.ApprovalGate{Namespaces: policy.ApprovalScope{"a": now}}, map[string][]bool{"a": {true, true}, "b": {false, false}}},
		"a rule":                  {&policy.ApprovalGate{Rules: sets.New("more")}, map[string][]bool{"a": {false, true}, "b": {false, true}}},
		"a rule in a namespace":   {&policy.ApprovalGate{Namespaces: policy.ApprovalScope{"b": now}, Rules: sets.New("jobs")}, map[string][]bool{"a": {false, false}, "b": {true, false}}},
		"a cluster-scoped object": {&policy.ApprovalGate{Namespaces: policy.ApprovalScope{"a": now}}, map[string][]bool{"": {false, false}}},
	} {
		gated := *both
		gated.Gate = test.gate
		snapshot := policy.NewSnapshot([]*policy.Policy{&gated}, map[string]policy.Namespace{"a": {}, "b": {}}, policy.Protection{})
		for namespace, want := range test.want {
			var got []bool
			for _, r := range snapshot.Effective(jobs.GroupKind(), namespace).Rules {
				got = append(got, r.Unapproved)
			}
			expect.Equal(t, fmt.Sprintf("%s, namespace %q", name, namespace), want, got)
		}
	}
	if both.Rules[0].Unapproved {
		t.Error("the argument has changed")
	}
}

// TestOrderOfRetentionPoliciesNeverMatters: overrides do not depend on the order of the policies.
func TestOrderOfRetentionPoliciesNeverMatters(t *testing.T) {
	var policies []*policy.Policy
	for i := range 4 {
		ttl := time.Duration(2+3*i%4) * hour
		mine := own("team-a", fmt.Sprint("p", i))
		mine.Overrides = []*policy.Override{{Policy: "p", TTL: &ttl, InForce: i%2 == 0, From: mine.Name}}
		policies = append(policies, mine)
	}
	policies = append(policies, policyOf("p", about(jobs, "jobs")))
	first := policy.NewSnapshot(policies, nil, policy.Protection{}).Effective(jobs.GroupKind(), "team-a")
	for i := range policies {
		policies[0], policies[i] = policies[i], policies[0]
		if !policy.NewSnapshot(policies, nil, policy.Protection{}).Effective(jobs.GroupKind(), "team-a").SameSettings(first) {
			t.Fatal("the order changes the settings")
		}
	}
}
