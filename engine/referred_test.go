// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// aboutConfigMaps returns a rule about ConfigMaps, for tests to change.
func aboutConfigMaps(eligible string) v1alpha1.Rule {
	return v1alpha1.Rule{
		Name: "unused", Target: v1alpha1.Target{APIVersion: "v1", Kind: "ConfigMap"},
		Eligible: eligible, StartTime: "object.metadata.creationTimestamp", TTL: "1h",
	}
}

var (
	created = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC) // as in testdata/objects/configmap.yaml
	quiet   = created.Add(policy.QuietPeriod)
	web     = engine.Referrer{Kind: "Pod", Namespace: "team-a", Name: "web-0"}
	nightly = engine.Referrer{Kind: "CronJob", Namespace: "team-a", Name: "nightly"}
)

// referredBy returns complete References with these referrers.
func referredBy(all ...engine.Referrer) *engine.References {
	return &engine.References{Count: len(all), By: func() []engine.Referrer { return all }}
}

func (r *asking) facts(references *engine.References) policy.Facts {
	r.Helper()
	e := r.compiler.NewEvaluator(r.Context())
	defer e.Close()
	e.SetReferences(references)
	return e.Facts(mustCompile(r, r.compiler, r.rule, r.variables...), object(r, "configmap"))
}

// asking evaluates a rule on the ConfigMap of testdata.
type asking struct {
	*testing.T
	compiler  *engine.Compiler
	rule      v1alpha1.Rule
	variables []v1alpha1.Variable
}

func newAsking(t *testing.T, eligible string, variables ...v1alpha1.Variable) *asking {
	return &asking{t, fixture.Compiler(t), aboutConfigMaps(eligible), variables}
}

func TestReferencesInExpressions(t *testing.T) {
	both := referredBy(web, nightly)
	tests := map[string]struct {
		eligible   string
		references *engine.References
		want       bool
	}{
		"nothing refers to it":                     {"references.count == 0", referredBy(), true},
		"two objects refer to it":                  {"references.count == 0", both, false},
		"the number of references":                 {"references.count == 2", both, true},
		"the length of the list":                   {"references.by.size() == references.count", both, true},
		"an empty list":                            {"references.by == []", referredBy(), true},
		"no list":                                  {"references.by == []", &engine.References{Count: 1}, true},
		"kinds":                                    {"references.by.map(r, r.kind) == ['Pod', 'CronJob']", both, true},
		"names":                                    {"references.by.exists(r, r.namespace + '/' + r.name == 'team-a/web-0')", both, true},
		"exactly these fields":                     {"dyn(references.by[0]) == {'kind': 'Pod', 'namespace': 'team-a', 'name': 'web-0'}", both, true},
		"only one kind":                            {"references.by.all(r, r.kind == 'CronJob')", both, false},
		"the first referrer":                       {"references.by[?0].?kind.orValue('') == 'Pod'", both, true},
		"the first referrer of none":               {"references.by[?0].?kind.orValue('') == ''", referredBy(), true},
		"with the object":                          {"references.count == 0 && object.metadata.labels.temporary == 'true'", referredBy(), true},
		"in a loop":                                {"['a'].all(r, references.count == 0)", referredBy(), true},
		"a field with the name references":         {"object.?spec.references.orValue([]) == [] && references.count == 0", referredBy(), true},
		"a loop variable with the name references": {"['a'].all(references, references == 'a')", nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := newAsking(t, test.eligible).facts(test.references); got.Err != nil || got.Eligible != test.want {
				t.Errorf("eligible %v, %v", got.Eligible, got.Err)
			}
		})
	}
}

func TestTargetsAndSelectedInExpressions(t *testing.T) {
	role := engine.Referrer{Kind: "Role", Namespace: "team-a", Name: "gone"}
	all := func() *engine.References {
		return &engine.References{Targets: 3, Missing: func() []engine.Referrer { return []engine.Referrer{role} }, Selected: 2}
	}
	tests := map[string]struct {
		eligible string
		target   v1alpha1.Target
		want     bool
	}{
		"the number of targets":  {"targets.count == 3", v1alpha1.Target{APIVersion: "v1", Kind: "Pod"}, true},
		"missing targets":        {"targets.missing.exists(t, t.kind == 'Role' && t.namespace == 'team-a' && t.name == 'gone')", v1alpha1.Target{APIVersion: "v1", Kind: "Pod"}, true},
		"no missing target":      {"targets.missing == []", v1alpha1.Target{APIVersion: "v1", Kind: "Pod"}, false},
		"the number of selected": {"selected.count == 2", v1alpha1.Target{APIVersion: "v1", Kind: "Service"}, true},
		"together":               {"references.count == 0 && selected.count > 0 && targets.count == 3", v1alpha1.Target{APIVersion: "example.com/v1", Kind: "Widget"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAsking(t, test.eligible)
			a.rule.Target = test.target
			if got := a.facts(all()); got.Err != nil || got.Eligible != test.want || got.NotBefore.IsZero() != !test.want {
				t.Errorf("%+v", got)
			}
			unread := all()
			unread.Unread = errors.New("not read yet")
			if got := a.facts(unread); !got.InDoubt() || !strings.Contains(got.Err.Error(), "not read yet") {
				t.Errorf("before the object was read: %+v", got)
			}
		})
	}
	unread := referredBy()
	unread.Unread = errors.New("not read yet")
	if got := newAsking(t, "references.count == 0").facts(unread); got.Err != nil || !got.Eligible {
		t.Errorf("references do not depend on what the object refers to: %+v", got)
	}
}

// TestNamespaceDoesNotLearnWhatIsMissingElsewhere: a user who may create an object that names others could otherwise find out which
// objects of other namespaces exist.
func TestNamespaceDoesNotLearnWhatIsMissingElsewhere(t *testing.T) {
	all := &engine.References{Targets: 3, Missing: func() []engine.Referrer {
		return []engine.Referrer{{Kind: "Secret", Namespace: "team-a", Name: "own"}, {Kind: "Secret", Namespace: "team-b", Name: "private"}, {Kind: "StorageClass", Name: "fast"}}
	}}
	rule := aboutConfigMaps("targets.missing.map(t, t.name) == ['own']")
	for namespace, want := range map[string]bool{"": false, "team-a": true} {
		c := fixture.Compiler(t)
		e := c.NewEvaluator(t.Context())
		e.SetReferences(all)
		got := e.Facts(loadedRule(t, c, namespace, rule), object(t, "configmap"))
		if e.Close(); got.Err != nil || got.Eligible != want {
			t.Errorf("of namespace %q: %v, %v", namespace, got.Eligible, got.Err)
		}
	}
}

// TestNamespaceLearnsNothingOfOthers: a rule of a RetentionPolicy sees only the kind of referrers that are not in its
// namespace.
func TestNamespaceLearnsNothingOfOthers(t *testing.T) {
	gateway := engine.Referrer{Kind: "Gateway", Namespace: "team-b", Name: "private"}
	volume := engine.Referrer{Kind: "PersistentVolume", Name: "private"}
	all := referredBy(gateway, volume, web, engine.Referrer{Kind: "Pod", Namespace: "team-z", Name: "private"})
	const kinds = "references.by.map(r, r.kind) == ['Gateway', 'PersistentVolume', 'Pod', 'Pod']"
	tests := map[string]struct{ everywhere, own bool }{
		"references.count == 4 && references.by.size() == 4": {true, true},
		kinds: {true, true},
		"references.by.exists(r, r.name == 'private')":                                                                    {true, false},
		"references.by.exists(r, r.namespace == 'team-b')":                                                                {true, false},
		"references.by.filter(r, r.name != '').map(r, r.kind + '/' + r.namespace + '/' + r.name) == ['Pod/team-a/web-0']": {false, true},
		"references.by.filter(r, r.name == '').all(r, r.namespace == '')":                                                 {true, true},
	}
	for eligible, want := range tests {
		for _, marks := range []bool{false, true} {
			rule := aboutConfigMaps(eligible)
			if marks {
				rule.StartTime = ""
			}
			for namespace, want := range map[string]bool{"": want.everywhere, "team-a": want.own} {
				c := fixture.Compiler(t)
				e := c.NewEvaluator(t.Context())
				e.SetReferences(all)
				got := e.Facts(loadedRule(t, c, namespace, rule), object(t, "configmap"))
				if e.Close(); got.Err != nil || got.Eligible != want {
					t.Errorf("%s, of namespace %q: %v, %v", eligible, namespace, got.Eligible, got.Err)
				}
			}
		}
	}
	c := fixture.Compiler(t)
	for eligible, same := range map[string]bool{"references.count == 0": true, "references.by == []": false} {
		everywhere, own := loadedRule(t, c, "", aboutConfigMaps(eligible)), loadedRule(t, c, "team-a", aboutConfigMaps(eligible))
		if (everywhere.Key() == own.Key()) != same {
			t.Errorf("%s: one key is %v, want %v", eligible, !same, same)
		}
	}
}

// loadedRule returns a rule of a RetentionPolicy, or of a ClusterRetentionPolicy if namespace is empty.
func loadedRule(t *testing.T, c *engine.Compiler, namespace string, rule v1alpha1.Rule) *engine.Program {
	t.Helper()
	d := &policy.Document{Metadata: metav1.ObjectMeta{Name: "p"}, Spec: policy.Spec{Rules: []v1alpha1.Rule{rule}}}
	if namespace != "" {
		d.Kind, d.Metadata.Namespace, d.Spec.ServiceAccountName = v1alpha1.RetentionPolicyKind.Kind, namespace, "cleaner"
	}
	p := d.Load(policy.DefaultProtection())
	programs := c.Load(p)
	if len(p.Problems) > 0 {
		t.Fatal(p.Problems)
	}
	return programs[p.Rules[0].Key]
}

// TestReferencesElsewhere reads references in every expression of a rule, and in a variable.
func TestReferencesElsewhere(t *testing.T) {
	unused := v1alpha1.Variable{Name: "unused", Expression: "references.count == 0"}
	tests := map[string]struct {
		change    func(*v1alpha1.Rule)
		variables []v1alpha1.Variable
		want      policy.Facts
	}{
		"in a variable": {func(r *v1alpha1.Rule) { r.Eligible = "variables.unused" }, []v1alpha1.Variable{unused},
			policy.Facts{Selected: true, Eligible: true, Start: created, NotBefore: quiet}},
		"in ttlExpression": {func(r *v1alpha1.Rule) { r.TTL, r.TTLExpression = "", "references.count == 0 ? days(1) : days(7)" }, nil,
			policy.Facts{Selected: true, Eligible: true, Start: created, TTL: policy.Day, NotBefore: quiet}},
		"in groupBy": {func(r *v1alpha1.Rule) {
			r.KeepNewest = &v1alpha1.KeepNewest{Count: 1, GroupBy: "references.count == 0 ? 'unused' : 'used'"}
		}, nil,
			policy.Facts{Selected: true, Eligible: true, Start: created, Group: "unused", NotBefore: quiet}},
		"in startTime": {func(r *v1alpha1.Rule) {
			r.StartTime = "references.count == 0 ? optional.of(timestamp(object.metadata.creationTimestamp)) : optional.none()"
		}, nil,
			policy.Facts{Selected: true, Eligible: true, Start: created, NotBefore: quiet}},
		"in outcome": {func(r *v1alpha1.Rule) { r.Outcome = "references.count == 0 ? 'Unused' : 'Used'" }, nil,
			policy.Facts{Selected: true, Eligible: true, Start: created, Outcome: "Unused", NotBefore: quiet}},
		"nowhere": {func(*v1alpha1.Rule) {}, []v1alpha1.Variable{unused},
			policy.Facts{Selected: true, Eligible: true, Start: created}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := newAsking(t, "true", test.variables...)
			test.change(&a.rule)
			expect.Equal(t, "facts", test.want, a.facts(referredBy()))
			reads := name != "nowhere"
			if got := a.facts(nil); errors.Is(got.Err, policy.ErrReferencesUnknown) != reads {
				t.Errorf("while they are unknown: %+v", got)
			}
			if program := mustCompile(t, a.compiler, a.rule, test.variables...); program.ReadsReferences() != reads || !program.MetadataOnly() {
				t.Errorf("reads references: %v, only metadata: %v", program.ReadsReferences(), program.MetadataOnly())
			}
		})
	}
}

func TestUnknownReferencesAreDoubt(t *testing.T) {
	long := errors.New(strings.Repeat("x", 10_000))
	for name, test := range map[string]struct {
		references *engine.References
		err        string
	}{
		"tracking is disabled":    {nil, "references are unknown: reference tracking is disabled"},
		"there may be more":       {&engine.References{Incomplete: errors.New("no permission to list Pods")}, "references are unknown: no permission to list Pods"},
		"nothing declares them":   {&engine.References{Undeclared: policy.AsksReferences | policy.AsksSelected}, "references are unknown: no policy declares references for this kind; write spec.references"},
		"there are some":          {&engine.References{Count: 3, Incomplete: errors.New("no permission to list Pods")}, "references are unknown: no permission to list Pods"},
		"the reason is very long": {&engine.References{Incomplete: long}, "references are unknown: " + strings.Repeat("x", 253) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			got := newAsking(t, "references.count == 0 || true").facts(test.references)
			if !errors.Is(got.Err, policy.ErrReferencesUnknown) || got.Err.Error() != test.err || !got.InDoubt() {
				t.Errorf("%v", got.Err)
			}
			if got.Err = nil; !cmp.Equal(got, policy.Facts{Selected: true}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestMarkIsReadInDoubt: a mark is read from the object even if the references are unknown.
func TestMarkIsReadInDoubt(t *testing.T) {
	about := aboutConfigMaps("references.count == 0")
	about.StartTime = ""
	r, program := loaded(t, "u", func(r *v1alpha1.Rule) { *r = about })
	o := object(t, "configmap")
	o["metadata"].(map[string]any)["annotations"] = map[string]any{v1alpha1.EligibleSinceAnnotation: `{"` + r.Mark + `":"2026-03-02T12:00:00Z"}`}
	if got := program.Facts(t.Context(), o); !got.Marked || got.Start.IsZero() || !got.InDoubt() {
		t.Errorf("%+v", got)
	}
	if !r.ReadsReferences() {
		t.Error("ReadsReferences is not set")
	}
}

func TestFactsNotBeforeFollowsReferences(t *testing.T) {
	tests := map[string]struct {
		eligible string
		since    time.Time
		want     time.Time
	}{
		"no changes since before the creation": {"references.count == 0", created.Add(-time.Hour), quiet},
		"no changes since after the creation":  {"references.count == 0", created.Add(time.Hour), quiet.Add(time.Hour)},
		"no time of the last change":           {"references.count == 0", time.Time{}, quiet},
		"not eligible":                         {"references.count > 0", created.Add(time.Hour), time.Time{}},
		"a rule without references":            {"true", created.Add(time.Hour), time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			references := referredBy()
			references.Since = test.since
			if got := newAsking(t, test.eligible).facts(references); got.Err != nil || !got.NotBefore.Equal(test.want) {
				t.Errorf("%s, %v; want %s", got.NotBefore, got.Err, test.want)
			}
		})
	}
}

func TestReferencesAreListedOnlyForWhoReadsThem(t *testing.T) {
	for eligible, asked := range map[string]bool{
		"references.count == 0": false, "references.count < 1": false, "references.by == []": true, "dyn(references.by) != dyn(1)": true,
		"references.by.all(r, r.kind != 'Pod')": true,
	} {
		listed := false
		references := &engine.References{By: func() []engine.Referrer { listed = true; return nil }}
		if got := newAsking(t, eligible).facts(references); got.Err != nil || listed != asked {
			t.Errorf("%s: listed %v, %v", eligible, listed, got.Err)
		}
	}
}

func TestReferencesWhereThereAreNone(t *testing.T) {
	const hint = " (metadata.ownerReferences names the owners of an object; to declare references of custom resources, write spec.references in this policy)"
	target := func(apiVersion, kind, eligible string) func(r *v1alpha1.Rule) {
		return func(r *v1alpha1.Rule) {
			r.Target, r.Eligible = v1alpha1.Target{APIVersion: apiVersion, Kind: kind}, eligible
		}
	}
	unused := v1alpha1.Variable{Name: "unused", Expression: "references.count == 0"}
	const references = "true && references.count == 0"
	tests := map[string]struct {
		change    func(*v1alpha1.Rule)
		variables []v1alpha1.Variable
		want      []string
	}{
		"about Jobs": {target("batch/v1", "Job", references), nil,
			[]string{"spec.rules[0].eligible:1:9: references is available only in rules about objects that others refer to by name, not about batch/v1 Job" + hint}},
		"about Jobs, in a variable": {target("batch/v1", "Job", "variables.unused"), []v1alpha1.Variable{unused},
			[]string{"spec.rules[0].eligible:1:1: variables.unused reads references, which is available only in rules about objects that others refer to by name, not about batch/v1 Job" + hint}},
		"about a kind of a custom resource": {target("example.com/v1", "ConfigMap", references), nil, nil},
		"about Services":                    {target("v1", "Service", references), nil, nil},
		"about PriorityClasses":             {target("scheduling.k8s.io/v1", "PriorityClass", references), nil, nil},
		"about images": {target("node.sunset-k8s.io/v1alpha1", "Image", references), nil,
			[]string{"spec.rules[0].eligible:1:9: references is available only in rules about objects that others refer to by name, not about node.sunset-k8s.io/v1alpha1 Image" + hint}},
		"targets of Jobs": {target("batch/v1", "Job", "targets.missing.size() > 0"), nil, nil},
		"targets of Events": {target("v1", "Event", "targets.count == 0"), nil,
			[]string{"spec.rules[0].eligible:1:1: targets is available only in rules about objects that refer to others by name, not about v1 Event" + hint}},
		"what Services select": {target("v1", "Service", "selected.count == 0"), nil, nil},
		"what Deployments select": {target("apps/v1", "Deployment", "selected.count == 0"), nil,
			[]string{"spec.rules[0].eligible:1:1: selected is available only in rules about objects with a label selector, not about apps/v1 Deployment " +
				"(these are NetworkPolicy.networking.k8s.io, PodDisruptionBudget.policy, Service; to declare references of custom resources, write spec.references in this policy)"}},
		"hidden by a loop's variable": {func(r *v1alpha1.Rule) { r.Eligible = "references.by.all(references, references.kind == 'Pod')" }, nil,
			[]string{"spec.rules[0].eligible:1:18: a loop variable cannot have the name references if the expression reads references (rename it, for example to r)"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := aboutConfigMaps("true && references.count == 0")
			test.change(&r)
			_, problems := fixture.Compiler(t).Rule(r, test.variables, "spec.rules[0]")
			expect.Equal(t, "problems", test.want, policy.Lines(problems))
		})
	}
}

// TestSecretDataIsInvisibleToRules: no rule sees the data of a Secret, even if it reads all annotations or names
// kubectl's copy of the object.
func TestSecretDataIsInvisibleToRules(t *testing.T) {
	const secret = `{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: db, namespace: team-a, uid: u, resourceVersion: "7",
		creationTimestamp: "2026-03-01T12:00:00Z", annotations: {a: b, kubectl.kubernetes.io/last-applied-configuration:
		'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"stringData":{"password":"hunter2"}}'}},
		data: {password: aHVudGVyMg==}, stringData: {password: hunter2}}`
	written := fixture.Decode(t, secret)
	c := fixture.Compiler(t)
	for _, eligible := range []string{
		"object.metadata.annotations.size() == 1",
		"object.metadata.annotations.all(name, name == 'a')",
		"string(object.metadata.annotations) == ''", // an error
		"!object.metadata.annotations[?'kubectl.kubernetes.io/last-applied-configuration'].hasValue()",
		"!('kubectl.kubernetes.io/last-applied-configuration' in object.metadata.annotations)",
		"object.?metadata.annotations[?'kubectl.kubernetes.io/last-applied-configuration'] == optional.none()",
	} {
		r := aboutConfigMaps(eligible)
		r.Target.Kind = "Secret"
		program := mustCompile(t, c, r)
		decoded, err := engine.NewDecoder(program).Decode([]byte(mustJSON(t, written)))
		expect.NoError(t, err)
		if text := fmt.Sprint(decoded); strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") {
			t.Errorf("%s: decoded %s", eligible, text)
		}
		for name, o := range map[string]map[string]any{"decoded": decoded, "from a file": written} {
			got := program.Facts(t.Context(), o)
			if text := fmt.Sprint(got.Err); strings.Contains(text, "hunter2") || got.Err == nil && !got.Eligible {
				t.Errorf("%s, %s: %+v", eligible, name, got)
			}
			if told := program.Explain(t.Context(), engine.Surroundings{}, o)[0]; (told.Value == "true") != got.Eligible || (told.Err != nil) != (got.Err != nil) {
				t.Errorf("%s, %s: explained as %+v, but the facts are %+v", eligible, name, told, got)
			}
		}
	}
	if len(written["metadata"].(map[string]any)["annotations"].(map[string]any)) != 2 {
		t.Error("the object was changed")
	}
}
