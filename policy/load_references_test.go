// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func fineReference() v1alpha1.Reference {
	return v1alpha1.Reference{
		From: v1alpha1.Referrer{APIVersion: "cert-manager.io/v1", Kind: "Certificate"}, To: "Secret", Names: "[object.spec.secretName]",
	}
}

func TestReferencesAreLoaded(t *testing.T) {
	d := fine()
	d.Spec.References = []v1alpha1.Reference{fineReference(), fineReference()}
	p := d.Load(policy.DefaultProtection())
	one := &policy.Reference{
		From: schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}, To: "Secret", Names: "[object.spec.secretName]",
	}
	if diff := cmp.Diff([]*policy.Reference{one, one}, p.References); diff != "" || len(p.Problems) > 0 {
		t.Errorf("problems %v; -want +got\n%s", p.Problems, diff)
	}
}

// TestLoadFindsProblemsOfReferences spoils the first of two references. The first of two rules reads references.
func TestLoadFindsProblemsOfReferences(t *testing.T) {
	tests := map[string]struct {
		spoil func(*v1alpha1.Reference)
		want  string
	}{
		"no referring kind":            {func(r *v1alpha1.Reference) { r.From = v1alpha1.Referrer{} }, "from: missing"},
		"no apiVersion":                {func(r *v1alpha1.Reference) { r.From.APIVersion = "" }, "from.apiVersion: missing"},
		"an apiVersion of three parts": {func(r *v1alpha1.Reference) { r.From.APIVersion = "a/b/c" }, "from.apiVersion: unexpected"},
		"a group without a version":    {func(r *v1alpha1.Reference) { r.From.APIVersion = "cert-manager.io/" }, "from.apiVersion: missing"},
		"a version before the group": {func(r *v1alpha1.Reference) { r.From.APIVersion = "v1/cert-manager.io" },
			`from.apiVersion: "v1/cert-manager.io" is not a group and version`},
		"a blank kind":          {func(r *v1alpha1.Reference) { r.From.Kind = " " }, "from.kind: missing"},
		"images as referrers":   {func(r *v1alpha1.Reference) { r.From.APIVersion = v1alpha1.ImageKind.GroupVersion().String() }, "from.kind: images of nodes refer to nothing"},
		"no referred kind":      {func(r *v1alpha1.Reference) { r.To = "" }, "to: missing"},
		"a blank referred kind": {func(r *v1alpha1.Reference) { r.To = " " }, "to: missing"},
		"names and a selector":  {func(r *v1alpha1.Reference) { r.Selector = "object.spec.selector" }, "selector: a reference has names or a selector, not both"},
		"no names":              {func(r *v1alpha1.Reference) { r.Names = "" }, "names: missing"},
		"blank names":           {func(r *v1alpha1.Reference) { r.Names = " \n" }, "names: missing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := fine()
			d.Spec.References = []v1alpha1.Reference{fineReference(), fineReference()}
			test.spoil(&d.Spec.References[0])
			p := d.Load(policy.DefaultProtection())
			p.Rules[0].Relations = policy.AsksReferences // as set by the compiler
			p.AddProblems()
			if len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].String(), "spec.references[0]."+test.want) {
				t.Errorf("problems %v; want one: spec.references[0].%s", p.Problems, test.want)
			}
			expect.Equal(t, "invalid references", []bool{true, false}, []bool{p.References[0].Invalid, p.References[1].Invalid})
			expect.Equal(t, "invalid rules", []bool{true, false}, []bool{p.Rules[0].Invalid(), p.Rules[1].Invalid()})
		})
	}
}

// TestInvalidReferences: an invalid reference may name any object, or any object of one kind if its field to can be read.
func TestInvalidReferences(t *testing.T) {
	const fine = `{"from": {"apiVersion": "example.com/v1", "kind": "App"}, "to": "Secret", "names": "[]"}`
	one := func(to v1alpha1.Referred) []policy.InvalidReference {
		return []policy.InvalidReference{{Path: "spec.references[0]", From: schema.GroupKind{Group: "example.com", Kind: "App"}, To: to}}
	}
	fromUnknown := func(to v1alpha1.Referred) []policy.InvalidReference {
		return []policy.InvalidReference{{Path: "spec.references[0]", To: to}}
	}
	whole := []policy.InvalidReference{{Path: "spec.references"}}
	tests := map[string]struct {
		spec string
		want []policy.InvalidReference
	}{
		"valid references":         {`{"references": [` + fine + `]}`, nil},
		"without references":       {`{}`, nil},
		"empty names":              {`{"references": [` + strings.Replace(fine, `"[]"`, `""`, 1) + `, ` + fine + `]}`, one("Secret")},
		"names of another type":    {`{"references": [` + strings.Replace(fine, `"[]"`, `[]`, 1) + `]}`, one("Secret")},
		"another field":            {`{"references": [` + strings.Replace(fine, `names`, `nmaes`, 1) + `]}`, one("Secret")},
		"from of another type":     {`{"references": [` + strings.Replace(fine, `"App"`, `7`, 1) + `]}`, fromUnknown("Secret")},
		"to is a list":             {`{"references": [` + strings.Replace(fine, `"Secret"`, `["Secret"]`, 1) + `]}`, one("")},
		"to is repeated":           {`{"references": [` + strings.Replace(fine, `"names"`, `"to": "ConfigMap", "names"`, 1) + `]}`, one("")},
		"to is missing":            {`{"references": [` + strings.Replace(fine, `"to": "Secret", `, ``, 1) + `]}`, one("")},
		"one is a string":          {`{"references": ["x"]}`, fromUnknown("")},
		"references are an object": {`{"references": {}}`, whole},
		"references are repeated":  {`{"references": [], "references": [` + fine + `]}`, whole},
		"spec is a list":           {`[]`, whole},
		"misspelt references":      {`{"referenced": [` + fine + `]}`, whole},
		"references in a rule":     {`{"rules": [{"name": "a", "references": [` + fine + `]}]}`, whole},
		"outside of the spec":      {`{}, "references": [` + fine + `]`, whole},
		"another misspelt field":   {`{"excludeNamespace": ["x"]}`, nil},
		"a selector in the spec":   {`{"selector": {"matchLabels": {"a": "b"}}}`, nil},
		"rules are an object":      {`{"rules": {}, "references": [` + fine + `]}`, nil},
		"too many":                 {`{"references": [` + strings.Repeat(fine+", ", 64) + fine + `]}`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := parse(t, `{"metadata": {"name": "p"}, "spec": `+test.spec+`}`).Load(policy.DefaultProtection())
			got := p.InvalidReferences()
			for i := range got {
				if got[i].Why == "" {
					t.Errorf("no reason: %+v", got[i])
				}
				got[i].Why = ""
			}
			expect.Equal(t, "invalid references", test.want, got)
			if misread := len(test.want) > 0; !misread && strings.Contains(test.spec, "references") && len(p.References) == 0 {
				t.Error("no reference is loaded")
			}
		})
	}
	own := parse(t, `{"kind": "RetentionPolicy", "metadata": {"namespace": "team-a", "name": "own"}, "spec": {"references": {}}}`)
	expect.Equal(t, "invalid references of a RetentionPolicy", nil, own.Load(policy.DefaultProtection()).InvalidReferences())
}

// TestPolicyMayOnlyDeclare: a policy can have only references, which apply to the rules of other policies.
func TestPolicyMayOnlyDeclare(t *testing.T) {
	d := fine()
	d.Spec.Rules, d.Spec.References = nil, []v1alpha1.Reference{fineReference()}
	expect.Equal(t, "problems", 0, len(d.Load(policy.DefaultProtection()).Problems))
	d.Spec.References = nil
	p := d.Load(policy.DefaultProtection())
	if len(p.Problems) != 1 || p.Problems[0].Path != "spec.rules" || p.Problems[0].Message != "neither rules nor references nor freezes" {
		t.Errorf("problems of an empty policy: %v", p.Problems)
	}
}

func TestReferencesOfAPolicyAreLimited(t *testing.T) {
	d := fine()
	d.Spec.References = slices.Repeat([]v1alpha1.Reference{fineReference()}, 64)
	expect.Equal(t, "problems of 64", 0, len(d.Load(policy.DefaultProtection()).Problems))
	d.Spec.References = append(d.Spec.References, fineReference())
	p := d.Load(policy.DefaultProtection())
	if len(p.Problems) != 1 || p.Problems[0].Path != "spec.references" {
		t.Errorf("problems %v", p.Problems)
	}
	expect.Equal(t, "the last is loaded nevertheless, because it can only keep objects", false, p.References[64].Invalid)
}

func TestReferencesAreReadStrictly(t *testing.T) {
	tests := map[string]struct {
		references string
		want       []string
	}{
		"an unknown field":            {`[{"nmaes": "[]"}]`, []string{"spec.references[0].nmaes: unknown field (did you mean names?)"}},
		"an unknown field of a kind":  {`[{}, {"from": {"group": "x"}}]`, []string{"spec.references[1].from.group" + unknownField}},
		"a repeated field":            {`[{"to": "Secret", "to": "ConfigMap"}]`, []string{"spec.references[0].to" + repeatedField}},
		"a field of another type":     {`[{"names": ["x"]}]`, []string{"spec.references[0].names: array given, string expected"}},
		"one of another type":         {`["x"]`, []string{"spec.references[0]: string given, object expected"}},
		"an object instead of a list": {`{"from": {}}`, []string{"spec.references: object given, array expected (it is a list: each element begins with a dash)"}},
		"null is absent":              {`null`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := parse(t, `{"spec": {"references": `+test.references+`, "rules": [{"name": "jobs"}], "mode": "Enforce"}}`)
			expect.Equal(t, "problems", test.want, policy.Lines(d.Problems))
			expect.Equal(t, "rules that are loaded nevertheless", 1, len(d.Spec.Rules))
			expect.Equal(t, "mode", v1alpha1.Enforce, d.Spec.Mode)
		})
	}
}

func TestNamespaceDeclaresNoReferences(t *testing.T) {
	d := parse(t, `{"kind": "RetentionPolicy", "metadata": {"namespace": "team-a", "name": "own"}, "spec": {"references": [], "serviceAccountName": "cleaner",
		"rules": [{"name": "jobs", "target": {"apiVersion": "batch/v1", "kind": "Job"}, "eligible": "true", "ttl": "1d"}]}}`)
	p := d.Load(policy.DefaultProtection())
	const want = "spec.references: unknown field (references apply to the whole cluster: write them in a ClusterRetentionPolicy)"
	if len(p.Problems) != 1 || p.Problems[0].String() != want {
		t.Errorf("problems %v; want %s", p.Problems, want)
	}
	expect.Equal(t, "invalid, as with any unknown field", true, p.Rules[0].Invalid())
}

// TestReferencesChangeTheHash: after the removal of a reference, a policy may delete more objects than a dry run has counted.
func TestReferencesChangeTheHash(t *testing.T) {
	hash := func(references ...v1alpha1.Reference) string {
		d := fine()
		d.Spec.References = references
		return d.Load(policy.DefaultProtection()).Hash
	}
	seen := map[string]string{hash(): "none"}
	for name, change := range map[string]func(*v1alpha1.Reference){
		"one":             func(*v1alpha1.Reference) {},
		"of another kind": func(r *v1alpha1.Reference) { r.From.Kind = "Issuer" },
		"to another kind": func(r *v1alpha1.Reference) { r.To = "ConfigMap" },
		"by other names":  func(r *v1alpha1.Reference) { r.Names = "[]" },
	} {
		r := fineReference()
		change(&r)
		if other, known := seen[hash(r)]; known {
			t.Errorf("references %s have the same hash as %s", name, other)
		}
		seen[hash(r)] = name
	}
	text, err := json.Marshal(fine().Spec)
	if err != nil || strings.Contains(string(text), "References") {
		t.Errorf("a spec without references encodes the field, which changes old hashes: %s %v", text, err)
	}
}
