// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	configMapsPath    = "/api/v1/configmaps"
	devSecretsPath    = "/api/v1/namespaces/dev/secrets"
	devConfigMapsPath = "/api/v1/namespaces/dev/configmaps"
	accountsPath      = "/api/v1/serviceaccounts"
)

// unused is a policy for unreferenced ConfigMaps or Secrets. more contains further fields of spec.
func unused(name, mode, kind, more string) string {
	return fmt.Sprintf(`{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":%q,"uid":"u-%s"},"spec":{"mode":%q,
		"rules":[{"name":"r","target":{"apiVersion":"v1","kind":%q},"eligible":"references.count == 0","ttl":"1d"}]%s}}`, name, name, mode, kind, more)
}

// mounting is a Pod of namespace dev that mounts a ConfigMap and has an image pull Secret.
func mounting(name, configMap, secret string) string {
	return object(name, "dev", fmt.Sprintf(`,"apiVersion":"v1","kind":"Pod","spec":{"volumes":[{"name":"v","configMap":{"name":%q}}],"imagePullSecrets":[{"name":%q}]}`, configMap, secret))
}

// apiGroup is the discovery document of a group with one version.
func apiGroup(name, version string) string {
	return fmt.Sprintf(`{"kind":"APIGroup","apiVersion":"v1","name":%q,"versions":[{"groupVersion":"%s/%s","version":%q}]}`, name, name, version, version)
}

// newReferring is a cluster with two Pods, on two pages, that refer to ConfigMap and Secret used, and a Pod that refers to
// ConfigMap other.
func newReferring(t *testing.T, policies ...string) *apiServer {
	s := newLive(t)
	s.inForce(policies...)
	s.store("/api/v1", strings.NewReplacer(`"verbs":["list",`, `"verbs":["list","watch",`, `"resources":[`, `"resources":[
		{"name":"configmaps","singularName":"configmap","shortNames":["cm"],"kind":"ConfigMap","namespaced":true,"verbs":["list","watch"]},
		{"name":"serviceaccounts","singularName":"serviceaccount","kind":"ServiceAccount","namespaced":true,"verbs":["list","watch"]},`).Replace(s.pages["/api/v1"][0]))
	s.store("/apis/batch", apiGroup("batch", "v1"))
	s.store("/apis/batch/v1", strings.Replace(s.pages["/apis/batch/v1"][0], `"verbs":["list",`, `"verbs":["list","watch",`, 1))
	s.list(podsPath, "v1", "Pod", []string{mounting("web-0", "used", "used")}, []string{mounting("web-1", "used", "used"), mounting("db", "other", "used")})
	s.list(accountsPath, "v1", "ServiceAccount", []string{})
	s.list(jobsPath, "batch/v1", "Job", []string{object("a", "dev", `,"spec":{"template":{"spec":{"containers":[]}}}`)})
	kinds := map[string]string{configMapsPath: "ConfigMap", secretsPath: "Secret"}
	for path, kind := range kinds {
		var objects []string
		for _, name := range []string{"used", "free"} {
			one := object(name, "dev", fmt.Sprintf(`,"apiVersion":"v1","kind":%q`, kind))
			objects = append(objects, one)
			s.store(strings.Replace(path, "/v1/", "/v1/namespaces/dev/", 1)+"/"+name, one)
		}
		s.list(path, "v1", kind, objects)
		s.list(strings.Replace(path, "/v1/", "/v1/namespaces/dev/", 1), "v1", kind, objects)
	}
	return s
}

func TestReferencesInFiles(t *testing.T) {
	wants(t, run(t, "", "test", "../policytest/testdata"), command.ExitOK, "5 passed, 0 failed")
	wants(t, run(t, "", "preview", "-f", "../policytest/testdata/references-unknown", "--at", "2026-03-01T12:00:00Z"), command.ExitFindings,
		"ConfigMap   unused   Keep     ReferencesUnknown", "3 errors:\n", "  shop/cart: the references of this App are unknown: names: no such key: config")
}

func TestRuleThatDoesNotAskIsWarnedOf(t *testing.T) {
	careless := strings.Replace(unused("maps", "DryRun", "ConfigMap", ""), "references.count == 0", "true", 1)
	wants(t, run(t, careless, "validate", "-f", "-"), command.ExitOK, "warning: the rule selects every ConfigMap, and does not check whether it is in use", "1 warning")
	wants(t, run(t, unused("maps", "DryRun", "ConfigMap", ""), "validate", "-f", "-"), command.ExitOK, "no problems\n")
}

// TestHoldMessageSaysWhyObjectIsNeeded: the message of a hold without an annotation says why the object is needed.
func TestHoldMessageSaysWhyObjectIsNeeded(t *testing.T) {
	const files, at = "../policytest/testdata/references", "2026-03-01T12:00:00Z"
	wants(t, run(t, "", "preview", "-f", files, "--at", at, "-o", "json"), command.ExitOK,
		`"message":"Pods verify the API server with it"`, `"message":"it is the token of a ServiceAccount"`)
	wants(t, run(t, "", "explain", "configmap/kube-root-ca.crt", "-n", "shop", "-f", files, "--at", at), command.ExitOK,
		"Held: Pods verify the API server with it")
}

func TestExplainNamesReferrers(t *testing.T) {
	golden(t, "explain-references", run(t, "", "explain", "configmap/site", "-f", "testdata/references.yaml"))
}

func TestPreviewAsksTheClusterWhatRefers(t *testing.T) {
	s := newReferring(t)
	got := s.preview(t, unused("maps", "DryRun", "ConfigMap", "")+unused("secrets", "DryRun", "Secret", ""), "-f", "-")
	wants(t, got, command.ExitOK, "ConfigMap   free   Wait     Waiting       in 24h", "ConfigMap   used   Keep     NotEligible", "Secret      free   Wait", "Secret      used   Keep     NotEligible")
	listed, owned := 0, 0
	for _, asked := range s.asked {
		if strings.Contains(asked, "GET "+podsPath+" ") {
			listed++
		}
		if !strings.Contains(asked, "GET "+secretsPath+" ") {
			continue
		}
		if !strings.Contains(asked, "as=PartialObjectMetadata") {
			t.Errorf("a request for more than metadata: %s", asked)
		}
		if !strings.Contains(asked, "type%21%3Dhelm.sh") {
			owned++
		}
	}
	if owned != 1 {
		t.Errorf("%d requests for all Secrets, which are for their owners; the rules exclude the Secrets of Helm", owned)
	}
	if listed != 2 {
		t.Errorf("%d requests for the two pages of Pods", listed)
	}
}

func TestReferrersAreListedOnlyForTargetedKinds(t *testing.T) {
	s := newReferring(t, unused("maps", "Enforce", "ConfigMap", ""))
	wants(t, s.preview(t, livePolicy("jobs", "DryRun", "Job", "1d"), "-f", "-"), command.ExitOK, "Job    a")
	wants(t, s.explain(t, "", "secret/free"), command.ExitOK, "no rule targets its kind")
	wants(t, s.explain(t, "", "cm/free"), command.ExitOK, "Referenced by:\n  nothing\n")
	for _, asked := range s.asked {
		if strings.Contains(asked, "GET "+accountsPath+" ") {
			t.Errorf("no rule targets Secrets, and ServiceAccounts refer only to Secrets: %s", asked)
		}
	}
}

func TestReferencesThatAreUnknownKeep(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*apiServer)
		policy string
		why    string
	}{
		"no permission to list a kind": {func(s *apiServer) { s.store(podsPath, forbidden) }, unused("maps", "Enforce", "ConfigMap", ""),
			"cannot list Pod of v1: not for you; its references are unknown"},
		"discovery of a group fails": {
			func(s *apiServer) {
				s.store("/apis/apps", apiGroup("apps", "v1"))
				s.store("/apis/apps/v1", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"away"}`)
			},
			unused("maps", "Enforce", "ConfigMap", ""), "cannot list Deployment of apps/v1"},
		"a kind at another version": {func(*apiServer) {}, unused("maps", "Enforce", "ConfigMap", `,"references":[{"from":{"apiVersion":"batch/v2","kind":"Job"},"to":"ConfigMap","names":"[]"}]`),
			"cannot list Job of batch/v2"},
		"an expression fails on an object": {func(*apiServer) {}, unused("maps", "Enforce", "ConfigMap", `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","names":"[object.spec.config]"}]`),
			"the references of this Job are unknown: names: no such key: config"},
		"an invalid declaration in another policy": {
			func(s *apiServer) {
				s.inForce(unused("maps", "Enforce", "ConfigMap", ""), unused("other", "DryRun", "Secret", `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","nmaes":"[]"}]`))
			},
			unused("maps", "Enforce", "ConfigMap", ""), "spec.references[0] of policy other is invalid: spec.references[0].nmaes: unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newReferring(t, test.policy)
			test.change(s)
			wants(t, s.preview(t, ""), command.ExitFindings, "ConfigMap   free   Keep     ReferencesUnknown", "ConfigMap   used   Keep     ReferencesUnknown", test.why)
			wants(t, s.explain(t, "", "cm/free"), command.ExitFindings, "stays: ReferencesUnknown (the references to it are unknown)", "there may be more: some references to ConfigMap objects are unknown")
		})
	}
}

// TestComparisonSeparatesReferrers: declarations of the rules in force do not affect the decisions of the rules in
// files.
func TestComparisonSeparatesReferrers(t *testing.T) {
	declared := `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","names":"['free']"}]`
	s := newReferring(t, unused("maps", "Enforce", "ConfigMap", declared))
	wants(t, s.preview(t, unused("maps", "Enforce", "ConfigMap", ""), "-f", "-"), command.ExitOK,
		"1 newly deleted (0 now)", "ConfigMap free: due in 24h, was NotEligible")
	wants(t, s.preview(t, unused("maps", "Enforce", "ConfigMap", declared), "-f", "-"), command.ExitOK, "ConfigMap   free   Keep     NotEligible", "No changes compared with the rules in force.")
}

func TestExplainSaysSinceWhenNothingRefers(t *testing.T) {
	text := unused("maps", "Enforce", "ConfigMap", "")
	s := newReferring(t, text)
	s.store(devConfigMapsPath+"/free", strings.Replace(s.pages[devConfigMapsPath+"/free"][0], `"name":"free"`,
		fmt.Sprintf(`"name":"free","annotations":{"sunset-k8s.io/eligible-since":%q}`, `{"`+markOf(t, text)+`":"2026-03-01T06:00:00Z"}`), 1))
	wants(t, s.explain(t, "", "cm/free"), command.ExitOK, "Referenced by:\n  nothing; marked eligible by maps/r since 2026-03-01T06:00:00Z, 6h ago\n")
	wants(t, s.explain(t, "", "cm/used"), command.ExitOK, "Referenced by:\n  Pod dev/web-0\n  Pod dev/web-1\n")
}

// TestHoldCoversNeededObjects: some objects are in use without a reference by name, and are held.
func TestHoldCoversNeededObjects(t *testing.T) {
	root := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kube-root-ca.crt","namespace":"dev","uid":"u-root"}}`
	policies := unused("maps", "Enforce", "ConfigMap", "")
	wants(t, run(t, policies+root, "explain", "configmap/kube-root-ca.crt", "-f", "-"), command.ExitOK,
		"stays: Held (annotation sunset-k8s.io/hold, or something needs it)", "Blocked by:\n  Held: Pods verify the API server with it\n")
	wants(t, run(t, policies+root, "preview", "-f", "-", "-o", "json"), command.ExitOK, `"reason":"Held"`, `"message":"Pods verify the API server with it"`)
	s := newReferring(t, unused("secrets", "Enforce", "Secret", ""))
	s.store("/api/v1/namespaces/dev/secrets/release", object("sh.helm.release.v1.web.v1", "dev", `,"apiVersion":"v1","kind":"Secret"`))
	wants(t, s.explain(t, "", "secret/release"), command.ExitOK, "stays: Held", "Held: Helm stores a release in it")
}

// TestDeclarationsOfTheDocs: the expressions in docs/tasks/declare-references.md also evaluate for objects without these fields.
func TestDeclarationsOfTheDocs(t *testing.T) {
	for _, names := range []string{
		"secretsIn(object.?spec.template.spec.orValue({}))", "configMapsIn(object.?spec.template.spec.orValue({}))",
		"[object.metadata.?annotations[?'cert-manager.io/inject-ca-from-secret'].orValue('').split('/')]" +
			".map(n, {'name': n[size(n) - 1], 'namespace': size(n) > 1 ? n[0] : ''})",
	} {
		if text, err := os.ReadFile("../../../docs/tasks/declare-references.md"); err != nil || !strings.Contains(string(text), "`"+names+"`") {
			t.Errorf("docs/tasks/declare-references.md does not contain %s: %v", names, err)
		}
		declared := fmt.Sprintf(`,"references":[{"from":{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout"},"to":"Secret","names":%q}]`, names)
		objects := object("free", "dev", `,"apiVersion":"v1","kind":"Secret"`) +
			object("web", "dev", `,"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","spec":{"workloadRef":{"name":"web"}}`)
		wants(t, run(t, unused("secrets", "DryRun", "Secret", declared)+objects, "preview", "-f", "-"), command.ExitOK, "Secret   free   Wait")
	}
}

// TestMisspeltReferrerIsTold: a note names a declared kind without any object.
func TestMisspeltReferrerIsTold(t *testing.T) {
	text := unused("maps", "DryRun", "ConfigMap", `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Jbo"},"to":"ConfigMap","names":"[]"}]`)
	s := newReferring(t)
	const told = "note: spec.references of a policy declares kind Jbo of batch/v1, which the cluster does not serve; check its spelling\n"
	wants(t, s.preview(t, text, "-f", "-"), command.ExitOK, told)
	s.inForce(text)
	wants(t, s.explain(t, "", "cm/free"), command.ExitOK, told)
	const unseen = "note: spec.references of a policy declares batch/v1 Jbo, but the files contain no object of this kind; check its spelling\n"
	free := object("free", "dev", `,"apiVersion":"v1","kind":"ConfigMap"`)
	wants(t, run(t, text+free, "preview", "-f", "-"), command.ExitOK, unseen)
	wants(t, run(t, text+free, "explain", "configmap/free", "-f", "-"), command.ExitOK, unseen)
	got := run(t, strings.Replace(text, "Jbo", "Job", 1)+free+object("a", "dev", `,"apiVersion":"batch/v1","kind":"Job"`), "preview", "-f", "-")
	if strings.Contains(got.err, "spelling") {
		t.Errorf("a note although the files contain a Job: %s", got.err)
	}
}

// TestPolicyThatOnlyDeclaresIsCompared: declarations of a policy without rules affect the comparison with the rules in force.
func TestPolicyThatOnlyDeclaresIsCompared(t *testing.T) {
	s := newReferring(t, unused("maps", "Enforce", "ConfigMap", ""))
	only := `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"held"},
		"spec":{"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","names":"['free']"}]}}`
	wants(t, run(t, only, "validate", "-f", "-"), command.ExitOK, "no problems\n")
	wants(t, s.preview(t, only, "-f", "-"), command.ExitOK, "ConfigMap   free   Keep     NotEligible", "ConfigMap free")
}

// TestTypeOfASecretHolds: metadata does not contain the type of a Secret, and Sunset never deletes a Secret of a held type.
func TestTypeOfASecretHolds(t *testing.T) {
	release := object("web", "dev", `,"apiVersion":"v1","kind":"Secret"`)
	asked := func(selector string) string { return devSecretsPath + "?metadata.name=web," + selector }
	s := newReferring(t, unused("secrets", "Enforce", "Secret", ""))
	s.store(devSecretsPath+"/web", release)
	s.list(devSecretsPath, "v1", "Secret", []string{})
	s.list(asked("type=helm.sh/release.v1"), "v1", "Secret", []string{release})
	got := s.explain(t, "", "secret/web")
	wants(t, got, command.ExitOK, "stays: Held", "Held: Helm stores a release in it")
	if strings.Contains(got.out, "Possible changes") {
		t.Errorf("no change has an effect, but the page has some:\n%s", got.out)
	}
	s.list(asked("type=helm.sh/release.v1"), "v1", "Secret", []string{})
	wants(t, s.explain(t, "", "secret/web"), command.ExitError, `secrets "web" not found`)
	s.store(asked(engine.UnheldSecrets), forbidden)
	wants(t, s.explain(t, "", "secret/web"), command.ExitError, "check whether the type of Secret web holds it: not for you")
	s.list(asked(engine.UnheldSecrets), "v1", "Secret", []string{release})
	wants(t, s.explain(t, "", "secret/web"), command.ExitOK, "expires at", "by rule secrets/r")
}

func TestReferrersForPrograms(t *testing.T) {
	read := func(name, format string) (page struct{ References map[string]any }) {
		t.Helper()
		got := run(t, "", "explain", "configmap/"+name, "-f", "testdata/references.yaml", "-o", format)
		expect.NoError(t, yaml.Unmarshal([]byte(got.out), &page))
		return page
	}
	for name, want := range map[string]string{
		"free": `{"count": 0, "by": []}`,
		"kept": `{"count": 1, "by": [{"kind": "CronJob", "namespace": "shop", "name": "nightly"}]}`,
	} {
		var wanted map[string]any
		expect.NoError(t, json.Unmarshal([]byte(want), &wanted))
		for _, format := range []string{"json", "yaml"} {
			expect.Equal(t, name+" in "+format, wanted, read(name, format).References)
		}
	}
	all := read("site", "json").References
	if by, _ := all["by"].([]any); all["count"] != 13. || len(by) != 10 {
		t.Errorf("%v referrers, %d in the output; want 13 and 10", all["count"], len(by))
	}
}
