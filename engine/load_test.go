// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// withReferences has a rule that reads references, one that reads them through a variable, and one that does not read
// them.
func withReferences(names ...string) *policy.Policy {
	rule := func(name, kind, eligible string) v1alpha1.Rule {
		return v1alpha1.Rule{Name: name, Target: v1alpha1.Target{APIVersion: "v1", Kind: kind}, Eligible: eligible, TTL: "1d"}
	}
	d := &policy.Document{Spec: policy.Spec{
		Variables: []v1alpha1.Variable{{Name: "unused", Expression: "references.count == 0"}},
		Rules:     []v1alpha1.Rule{rule("reads", "ConfigMap", "references.count == 0"), rule("by-variable", "Secret", "variables.unused"), rule("other", "Pod", "true")},
	}}
	for _, text := range names {
		d.Spec.References = append(d.Spec.References, v1alpha1.Reference{
			From: v1alpha1.Referrer{APIVersion: "cert-manager.io/v1", Kind: "Certificate"}, To: "Secret", Names: text,
		})
	}
	return d.Load(policy.DefaultProtection())
}

func TestLoadFindsRulesThatReadReferences(t *testing.T) {
	p := withReferences("[object.spec.secretName]")
	programs := fixture.Compiler(t).Load(p)
	if len(p.Problems) > 0 {
		t.Fatal(p.Problems)
	}
	for i, want := range []bool{true, true, false} {
		if r := p.Rules[i]; r.ReadsReferences() != want || programs[r.Key].ReadsReferences() != want {
			t.Errorf("rule %s reads references: %v, want %v", r.ID.Rule, r.ReadsReferences(), want)
		}
	}
}

func TestInvalidReferenceConcernsTheRulesThatReadReferences(t *testing.T) {
	p := withReferences("[object.spec.secretName]", "[object.spec.a] +\n  [objekt.spec.b]")
	programs := fixture.Compiler(t).Load(p)
	const want = "spec.references[1].names:2:4: unknown name \"objekt\" (did you mean object?)"
	if len(p.Problems) != 1 || p.Problems[0].String() != want {
		t.Errorf("problems %v; want %s", p.Problems, want)
	}
	if got := p.Problems[0].Snippet(); !strings.HasSuffix(got, "\n     ^") {
		t.Errorf("snippet\n%s", got)
	}
	for i, invalid := range []bool{true, true, false} {
		r := p.Rules[i]
		if r.Invalid() != invalid || programs[r.Key] == nil || programs[r.Key].ReadsReferences() {
			t.Errorf("rule %s: invalid is %v, want %v; an invalid one only selects: %v", r.ID.Rule, r.Invalid(), invalid, programs[r.Key])
		}
	}
	if p.References[0].Invalid || !p.References[1].Invalid {
		t.Errorf("invalid: %v, %v", p.References[0].Invalid, p.References[1].Invalid)
	}
}

func TestOfASecretOnlyMetadataRefers(t *testing.T) {
	for names, want := range map[string]int{"[object.metadata.annotations['next']]": 0, "[object.data.next]": 1} {
		p := withReferences(names)
		p.References[0].From = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
		fixture.Compiler(t).Load(p)
		if len(p.Problems) != want || p.References[0].Invalid != (want > 0) {
			t.Errorf("%s: problems %v", names, p.Problems)
		}
	}
}

// TestReferredKindOfKubernetesIsKnown: a reference to a misspelt kind would keep nothing. Kinds of custom resources are not known.
func TestReferredKindOfKubernetesIsKnown(t *testing.T) {
	for to, want := range map[v1alpha1.Referred]string{
		"Secret": "", "Service": "", "Role.rbac.authorization.k8s.io": "", "Deployment.apps": "", "Job.batch": "", "Widget.example.com": "",
		"Secrets": `references to "Secrets" are not supported (did you mean Secret?)`,
		"Event":   `references to "Event" are not supported (write one of these kinds: `,
	} {
		p := withReferences("[object.spec.name]")
		p.References[0].To = to
		fixture.Compiler(t).Load(p)
		if want == "" && len(p.Problems) > 0 || want != "" && (len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].String(), "spec.references[0].to: "+want)) {
			t.Errorf("%s: problems %v, want %s", to, p.Problems, want)
		}
	}
}

func TestSelectorsAreCompiled(t *testing.T) {
	for selector, want := range map[string]string{
		"object.spec.selector":                    "",
		"{'matchLabels': {'app': object.spec.a}}": "",
		"object.spec.":                            "spec.references[0].selector:1:",
		"['a']":                                   "spec.references[0].selector:1:1: returns list(string), but selector must return map with matchLabels",
	} {
		p := withReferences(" ")
		p.Problems = nil
		p.References[0].Names, p.References[0].Selector = "", selector
		fixture.Compiler(t).Load(p)
		if want == "" && len(p.Problems) > 0 || want != "" && (len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].String(), want)) {
			t.Errorf("%s: problems %v, want %s", selector, p.Problems, want)
		}
	}
}

func TestBlankNamesAreSaidOnce(t *testing.T) {
	p := withReferences(" ")
	fixture.Compiler(t).Load(p)
	if len(p.Problems) != 1 || p.Problems[0].Path != "spec.references[0].names" {
		t.Errorf("problems %v", p.Problems)
	}
}

// TestSnapshotNeedsReferences: a rule that makes snapshots of claims must ask whether something uses them.
func TestSnapshotNeedsReferences(t *testing.T) {
	for eligible, invalid := range map[string]bool{"references.count == 0": false, "variables.unused": false, "true": true} {
		d := &policy.Document{Spec: policy.Spec{
			Variables: []v1alpha1.Variable{{Name: "unused", Expression: "references.count == 0"}},
			Rules: []v1alpha1.Rule{{Name: "claims", Target: v1alpha1.Target{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, Eligible: eligible, TTL: "1d",
				Snapshot: &v1alpha1.SnapshotRule{}}},
		}}
		p := d.Load(policy.Protection{}.Allow("PersistentVolumeClaim"))
		fixture.Compiler(t).Load(p)
		if got := p.Rules[0].Invalid(); got != invalid {
			t.Errorf("%s: invalid is %v, problems %v", eligible, got, p.Problems)
		}
	}
}
