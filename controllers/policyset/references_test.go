// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// reads returns a policy about objects that nothing refers to, with more in its spec.
func reads(mode, kind, more string) string {
	return fmt.Sprintf(`{mode: %s, rules: [{name: unused, target: {apiVersion: v1, kind: %s}, eligible: references.count == 0, ttl: 1h}]%s}`, mode, kind, more)
}

// declares returns a policy that declares referrers to a kind, and has a rule that does not read references.
func declares(mode, kind string, names ...string) string {
	var all []string
	for _, text := range names {
		all = append(all, fmt.Sprintf(`{from: {apiVersion: example.com/v1, kind: App}, to: %s, names: "%s"}`, kind, text))
	}
	return strings.Replace(spec(mode, "1h"), "{mode", "{references: ["+strings.Join(all, ", ")+"], mode", 1)
}

func app(to references.Kind, names string) references.Declared {
	return references.Declared{From: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, To: to, Names: names}
}

func TestSnapshotHasDeclaredReferences(t *testing.T) {
	one := []references.Declared{app("Secret", "[object.a]")}
	tests := map[string]struct {
		policies map[string]string
		want     []references.Declared
	}{
		"nothing":               {map[string]string{"p": spec("Enforce", "1h")}, nil},
		"of a dry run":          {map[string]string{"p": declares("DryRun", "Secret", "[object.a]")}, one},
		"of a suspended policy": {map[string]string{"p": declares("Suspend", "Secret", "[object.a]")}, one},
		"twice":                 {map[string]string{"p": declares("Enforce", "Secret", "[object.a]", "[object.a]"), "q": declares("Enforce", "Secret", "[object.a]")}, one},
		"in order": {map[string]string{"q": declares("Enforce", "Secret", "[object.b]", "[object.a]"), "p": declares("Enforce", "ConfigMap", "[object.b]")},
			[]references.Declared{app("ConfigMap", "[object.b]"), app("Secret", "[object.a]"), app("Secret", "[object.b]")}},
		"with an invalid one":  {map[string]string{"p": declares("Enforce", "Secret", "[object.a]", "[objekt.a]")}, one},
		"by a RetentionPolicy": {map[string]string{"team-a/own": declares("Enforce", "Secret", "[object.a]")}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "references", test.want, withPolicies(t, test.policies).last().References)
		})
	}
}

// TestSnapshotHasInvalidReferences: it is unknown what an invalid declaration refers to.
func TestSnapshotHasInvalidReferences(t *testing.T) {
	misread := func(from, why string, of, to references.Kind) references.InvalidReference {
		return references.InvalidReference{From: references.SourceID(from), Of: of, To: to, Why: why}
	}
	tests := map[string]struct {
		policies map[string]string
		want     []references.InvalidReference
	}{
		"nothing": {map[string]string{"p": declares("Enforce", "Secret", "[object.a]")}, nil},
		"names that do not compile": {map[string]string{"p": declares("DryRun", "Secret", "[object.a]", "[objekt.a]")}, []references.InvalidReference{
			misread("spec.references[1] of policy p", `spec.references[1].names:1:2: unknown name "objekt" (did you mean object?)`, "App.example.com", "Secret")}},
		"another kind, in two policies": {map[string]string{"q": declares("Suspend", "Secrets", "[object.a]"), "p": declares("Enforce", "Secrets", "[object.a]")}, []references.InvalidReference{
			misread("spec.references[0] of policy p", `spec.references[0].to: references to "Secrets" are not supported (did you mean Secret?)`, "App.example.com", ""),
			misread("spec.references[0] of policy q", `spec.references[0].to: references to "Secrets" are not supported (did you mean Secret?)`, "App.example.com", "")}},
		"the whole list": {map[string]string{"p": `{references: {}, rules: []}`}, []references.InvalidReference{
			misread("spec.references of policy p", "spec.references: object given, array expected (it is a list: each element begins with a dash)", "", "")}},
		"of a RetentionPolicy": {map[string]string{"team-a/own": `{references: {}, rules: []}`}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "misread", test.want, withPolicies(t, test.policies).last().InvalidReferences)
		})
	}
}

// TestInvalidReferenceMayHaveReferred: when an invalid declaration is removed, rules that read references are counted again. This
// is also so if it was invalid from the start.
func TestInvalidReferenceMayHaveReferred(t *testing.T) {
	for kind, want := range map[string]bool{"Secret": true, "ConfigMap": false, "Secrets": true} {
		l := withPolicies(t, map[string]string{"p": reads("Enforce", "Secret", ""), "q": declares("DryRun", kind, "[objekt.a]")})
		l.counted("p")
		expect.Equal(t, "waits while a declaration is invalid", false, l.named("p").Gate != nil)
		l.removePolicy("q")
		l.refresh()
		expect.Equal(t, "waits after the removal of a declaration that may be about "+kind, want, l.named("p").Gate != nil)
	}
}

func TestSnapshotHasReferredKinds(t *testing.T) {
	own := strings.Replace(reads("Enforce", "Secret", ""), "{mode", "{serviceAccountName: cleaner, mode", 1)
	tests := map[string]struct {
		policies map[string]string
		want     []references.Kind
	}{
		"none":                 {map[string]string{"p": declares("Enforce", "Secret", "[object.a]")}, nil},
		"of a dry run":         {map[string]string{"p": reads("DryRun", "Secret", "")}, []references.Kind{"Secret"}},
		"both":                 {map[string]string{"p": reads("Enforce", "Secret", ""), "q": reads("Suspend", "ConfigMap", "")}, []references.Kind{"ConfigMap", "Secret"}},
		"of a RetentionPolicy": {map[string]string{"team-a/own": own}, []references.Kind{"Secret"}},
		"of an invalid rule":   {map[string]string{"p": strings.Replace(reads("Enforce", "Secret", ""), "1h", "soon", 1)}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "kinds", sets.New(test.want...), sets.New(withPolicies(t, test.policies).last().Asked.Kinds()...))
		})
	}
}

func TestCheckSeesDeclaredReferences(t *testing.T) {
	l := withPolicy(t, reads("Enforce", "Secret", ""))
	since := l.last().ReferencesSince
	l.later(time.Minute)
	l.policy("q", declares("DryRun", "Secret", "[object.a]"))
	l.allowed("team-a")
	expect.Equal(t, "references", []references.Declared{app("Secret", "[object.a]")}, l.last().References)
	expect.Equal(t, "since", since.Add(time.Minute), l.last().ReferencesSince)
	l.later(time.Minute)
	l.policy("r", spec("DryRun", "1h"))
	l.allowed("team-a")
	expect.Equal(t, "since, after another edit", since.Add(time.Minute), l.last().ReferencesSince)
}

// TestRemovedReferencesMakePoliciesWait: declarations of policy q are removed, and policy p reads the references to Secrets.
func TestRemovedReferencesMakePoliciesWait(t *testing.T) {
	const both = 2 // namespaces that are not protected
	tests := map[string]struct {
		asks   string // policy p
		change func(s *server)
		want   int // namespaces where p waits
	}{
		"nothing changes":         {reads("Enforce", "Secret", ""), func(*server) {}, 0},
		"its policy is deleted":   {reads("Enforce", "Secret", ""), func(s *server) { s.removePolicy("q") }, both},
		"one is removed":          {reads("Enforce", "Secret", ""), func(s *server) { s.policy("q", declares("DryRun", "Secret", "[object.a]")) }, both},
		"one is replaced":         {reads("Enforce", "Secret", ""), func(s *server) { s.policy("q", declares("DryRun", "Secret", "[object.a]", "[object.c]")) }, both},
		"one becomes invalid":     {reads("Enforce", "Secret", ""), func(s *server) { s.policy("q", declares("DryRun", "Secret", "[object.a]", "[objekt.b]")) }, both},
		"one is added":            {reads("Enforce", "Secret", ""), func(s *server) { s.policy("q", declares("DryRun", "Secret", "[object.a]", "[object.b]", "[object.c]")) }, 0},
		"they change their order": {reads("Enforce", "Secret", ""), func(s *server) { s.policy("q", declares("DryRun", "Secret", "[object.b]", "[object.a]")) }, 0},
		"another policy has them": {reads("Enforce", "Secret", ""), func(s *server) {
			s.policy("r", declares("DryRun", "Secret", "[object.b]", "[object.a]"))
			s.removePolicy("q")
		}, 0},
		"p reads references to another kind": {reads("Enforce", "ConfigMap", ""), func(s *server) { s.removePolicy("q") }, 0},
		"p does not read references":         {spec("Enforce", "1h"), func(s *server) { s.removePolicy("q") }, 0},
		"p excludes a namespace":             {reads("Enforce", "Secret", ", excludeNamespaces: [team-a]"), func(s *server) { s.removePolicy("q") }, both - 1},
		"p is a dry run":                     {reads("DryRun", "Secret", ""), func(s *server) { s.removePolicy("q") }, 0},
	}
	for name, test := range tests {
		for way, see := range map[string]func(*harness){"in the cache": (*harness).refresh, "live": func(l *harness) { l.allowed("team-a") }} {
			t.Run(name+", seen "+way, func(t *testing.T) {
				s := newServer()
				s.policy("p", test.asks)
				s.policy("q", declares("DryRun", "Secret", "[object.a]", "[object.b]"))
				l := newHarness(t, s)
				l.counted("p")
				test.change(s)
				see(l)
				waiting := 0
				if gate := l.named("p").Gate; gate != nil {
					waiting = len(gate.Namespaces)
				}
				expect.Equal(t, "namespaces where p waits", test.want, waiting)
				if test.want > 0 {
					l.counted("p")
					expect.Equal(t, "no gate once it is counted", true, l.named("p").Gate == nil)
				}
			})
		}
	}
}

// TestRemovedOwnReferencesNeedOneCount: one count is enough if a policy removes its own declarations.
func TestRemovedOwnReferencesNeedOneCount(t *testing.T) {
	l := withPolicy(t, reads("Enforce", "Secret", `, references: [{from: {apiVersion: example.com/v1, kind: App}, to: Secret, names: "[object.a]"}]`))
	l.counted("p")
	before := l.named("p").ApprovalHash()
	l.become(reads("Enforce", "Secret", ""))
	gate := l.named("p").Gate
	if gate == nil || gate.Namespaces != nil || gate.Hash == before {
		t.Fatalf("gate %v", gate)
	}
	l.Previewed(policyset.Count{Policy: l.named("p").UID, Generation: l.named("p").Generation, Preview: v1alpha1.Preview{Hash: l.named("p").Hash}, Gate: gate})
	expect.Equal(t, "no gate once it is counted", true, l.named("p").Gate == nil)
}
