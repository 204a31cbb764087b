package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/engine"
)

const (
	configMapsPath    = "/api/v1/configmaps"
	devSecretsPath    = "/api/v1/namespaces/dev/secrets"
	devConfigMapsPath = "/api/v1/namespaces/dev/configmaps"
	accountsPath      = "/api/v1/serviceaccounts"
)

// unused is a policy about ConfigMaps that nothing refers to; more stands beside mode.
func unused(name, mode, kind, more string) string {
	return fmt.Sprintf(`{"apiVersion":"sunset.x-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":%q,"uid":"u-%s"},"spec":{"mode":%q,
		"rules":[{"name":"r","target":{"apiVersion":"v1","kind":%q},"eligible":"references.count == 0","ttl":"1d"}]%s}}`, name, name, mode, kind, more)
}

// mounting is a Pod of namespace dev that mounts a ConfigMap and pulls with a Secret.
func mounting(name, configMap, secret string) string {
	return object(name, "dev", fmt.Sprintf(`,"apiVersion":"v1","kind":"Pod","spec":{"volumes":[{"name":"v","configMap":{"name":%q}}],"imagePullSecrets":[{"name":%q}]}`, configMap, secret))
}

// apiGroup is what an API server says of a group with one version.
func apiGroup(name, version string) string {
	return fmt.Sprintf(`{"kind":"APIGroup","apiVersion":"v1","name":%q,"versions":[{"groupVersion":"%s/%s","version":%q}]}`, name, name, version, version)
}

// newReferring is a cluster where two Pods, on two pages, refer to ConfigMap and Secret used, and one to ConfigMap other.
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
	wants(t, run(t, "", "test", "../policytest/testdata"), command.ExitFine, "2 passed, 0 failed")
	wants(t, run(t, "", "preview", "-f", "../policytest/testdata/references-unknown", "--at", "2026-03-01T12:00:00Z"), command.ExitFindings,
		"ConfigMap   unused   Keep     ReferencesUnknown", "3 errors:\n", "  shop/cart: what this App refers to is not known: names: no such key: config")
}

func TestARuleThatDoesNotAskIsWarnedOf(t *testing.T) {
	careless := strings.Replace(unused("maps", "DryRun", "ConfigMap", ""), "references.count == 0", "true", 1)
	wants(t, run(t, careless, "validate", "-f", "-"), command.ExitFine, "warning: the rule is about any ConfigMap, and does not ask whether something uses it", "1 warning")
	wants(t, run(t, unused("maps", "DryRun", "ConfigMap", ""), "validate", "-f", "-"), command.ExitFine, "no problems\n")
}

// TestWhatIsNeededIsToldApart: a hold that nobody has written says what it is.
func TestWhatIsNeededIsToldApart(t *testing.T) {
	const files, at = "../policytest/testdata/references", "2026-03-01T12:00:00Z"
	wants(t, run(t, "", "preview", "-f", files, "--at", at, "-o", "json"), command.ExitFine,
		`"message":"Pods know the API server by it"`, `"message":"it is the token of a ServiceAccount"`)
	wants(t, run(t, "", "explain", "configmap/kube-root-ca.crt", "-n", "shop", "-f", files, "--at", at), command.ExitFine,
		"Held: Pods know the API server by it")
}

func TestExplainNamesReferrers(t *testing.T) {
	golden(t, "explain-references", run(t, "", "explain", "configmap/site", "-f", "testdata/references.yaml"))
}

func TestPreviewAsksTheClusterWhatRefers(t *testing.T) {
	s := newReferring(t)
	got := s.preview(t, unused("maps", "DryRun", "ConfigMap", "")+unused("secrets", "DryRun", "Secret", ""), "-f", "-")
	wants(t, got, command.ExitFine, "ConfigMap   free   Wait     Waiting       in 24h", "ConfigMap   used   Keep     NotEligible", "Secret      free   Wait", "Secret      used   Keep     NotEligible")
	listed, owned := 0, 0
	for _, asked := range s.asked {
		if strings.Contains(asked, "GET "+podsPath+" ") {
			listed++
		}
		if !strings.Contains(asked, "GET "+secretsPath+" ") {
			continue
		}
		if !strings.Contains(asked, "as=PartialObjectMetadata") {
			t.Errorf("more was asked for than metadata: %s", asked)
		}
		if !strings.Contains(asked, "type%21%3Dhelm.sh") {
			owned++
		}
	}
	if owned != 1 {
		t.Errorf("%d requests for all Secrets, which are for their owners; the rules are not about Helm's", owned)
	}
	if listed != 2 {
		t.Errorf("%d requests for the two pages of Pods", listed)
	}
}

func TestWhatRefersIsNotAskedWhereNoRuleWantsToKnow(t *testing.T) {
	s := newReferring(t, unused("maps", "Enforce", "ConfigMap", ""))
	wants(t, s.preview(t, livePolicy("jobs", "DryRun", "Job", "1d"), "-f", "-"), command.ExitFine, "Job    a")
	wants(t, s.explain(t, "", "secret/free"), command.ExitFine, "no rule is about its kind")
	wants(t, s.explain(t, "", "cm/free"), command.ExitFine, "What refers to it:\n  nothing\n")
	for _, asked := range s.asked {
		if strings.Contains(asked, "GET "+accountsPath+" ") {
			t.Errorf("nothing is asked about Secrets, and ServiceAccounts refer to nothing else: %s", asked)
		}
	}
}

func TestReferencesThatAreUnknownKeep(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*apiServer)
		policy string
		why    string
	}{
		"a kind may not be listed": {func(s *apiServer) { s.store(podsPath, forbidden) }, unused("maps", "Enforce", "ConfigMap", ""),
			"cannot list Pod of v1: not for you; what it refers to is not known"},
		"nobody knows whether there is such a kind": {
			func(s *apiServer) {
				s.store("/apis/apps", apiGroup("apps", "v1"))
				s.store("/apis/apps/v1", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"away"}`)
			},
			unused("maps", "Enforce", "ConfigMap", ""), "cannot list Deployment of apps/v1"},
		"it is served at another version": {func(*apiServer) {}, unused("maps", "Enforce", "ConfigMap", `,"references":[{"from":{"apiVersion":"batch/v2","kind":"Job"},"to":"ConfigMap","names":"[]"}]`),
			"cannot list Job of batch/v2"},
		"an object cannot be read": {func(*apiServer) {}, unused("maps", "Enforce", "ConfigMap", `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","names":"[object.spec.config]"}]`),
			"what this Job refers to is not known: names: no such key: config"},
		"another policy says something that nobody understands": {
			func(s *apiServer) {
				s.inForce(unused("maps", "Enforce", "ConfigMap", ""), unused("other", "DryRun", "Secret", `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","nmaes":"[]"}]`))
			},
			unused("maps", "Enforce", "ConfigMap", ""), "spec.references[0] of policy other is not understood: spec.references[0].nmaes: unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newReferring(t, test.policy)
			test.change(s)
			wants(t, s.preview(t, ""), command.ExitFindings, "ConfigMap   free   Keep     ReferencesUnknown", "ConfigMap   used   Keep     ReferencesUnknown", test.why)
			wants(t, s.explain(t, "", "cm/free"), command.ExitFindings, "stays: ReferencesUnknown (what refers to it is not known)", "there may be more: the references to ConfigMap objects are not known")
		})
	}
}

// TestEachSideOfAComparisonHasItsReferrers: what the rules in force declare does not keep what those of the files ask about.
func TestEachSideOfAComparisonHasItsReferrers(t *testing.T) {
	declared := `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","names":"['free']"}]`
	s := newReferring(t, unused("maps", "Enforce", "ConfigMap", declared))
	wants(t, s.preview(t, unused("maps", "Enforce", "ConfigMap", ""), "-f", "-"), command.ExitFine,
		"1 newly go (0 now)", "ConfigMap free: due in 24h, was NotEligible")
	wants(t, s.preview(t, unused("maps", "Enforce", "ConfigMap", declared), "-f", "-"), command.ExitFine, "ConfigMap   free   Keep     NotEligible", "No change against the rules in force.")
}

func TestExplainSaysSinceWhenNothingRefers(t *testing.T) {
	text := unused("maps", "Enforce", "ConfigMap", "")
	s := newReferring(t, text)
	s.store(devConfigMapsPath+"/free", strings.Replace(s.pages[devConfigMapsPath+"/free"][0], `"name":"free"`,
		fmt.Sprintf(`"name":"free","annotations":{"sunset.x-k8s.io/eligible-since":%q}`, `{"`+markOf(t, text)+`":"2026-03-01T06:00:00Z"}`), 1))
	wants(t, s.explain(t, "", "cm/free"), command.ExitFine, "What refers to it:\n  nothing; marked eligible by maps/r since 2026-03-01T06:00:00Z, 6h ago\n")
	wants(t, s.explain(t, "", "cm/used"), command.ExitFine, "What refers to it:\n  Pod dev/web-0\n  Pod dev/web-1\n")
}

// TestWhatIsNeededIsHeld: nothing that refers to these by name need say so.
func TestWhatIsNeededIsHeld(t *testing.T) {
	root := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kube-root-ca.crt","namespace":"dev","uid":"u-root"}}`
	policies := unused("maps", "Enforce", "ConfigMap", "")
	wants(t, run(t, policies+root, "explain", "configmap/kube-root-ca.crt", "-f", "-"), command.ExitFine,
		"stays: Held (annotation sunset.x-k8s.io/hold, or something needs it)", "What keeps it:\n  Held: Pods know the API server by it\n")
	wants(t, run(t, policies+root, "preview", "-f", "-", "-o", "json"), command.ExitFine, `"reason":"Held"`, `"message":"Pods know the API server by it"`)
	s := newReferring(t, unused("secrets", "Enforce", "Secret", ""))
	s.store("/api/v1/namespaces/dev/secrets/release", object("sh.helm.release.v1.web.v1", "dev", `,"apiVersion":"v1","kind":"Secret"`))
	wants(t, s.explain(t, "", "secret/release"), command.ExitFine, "stays: Held", "Held: Helm keeps a release in it")
}

// TestDeclarationsOfTheDocs: what docs/references.md prints for kinds that clusters often have reads objects without those fields.
func TestDeclarationsOfTheDocs(t *testing.T) {
	for _, names := range []string{
		"secretsIn(object.?spec.template.spec.orValue({}))", "configMapsIn(object.?spec.template.spec.orValue({}))",
		"[object.metadata.?annotations[?'cert-manager.io/inject-ca-from-secret'].orValue('').split('/')]" +
			".map(n, {'name': n[size(n) - 1], 'namespace': size(n) > 1 ? n[0] : ''})",
	} {
		if text, err := os.ReadFile("../../../docs/references.md"); err != nil || !strings.Contains(string(text), "`"+names+"`") {
			t.Errorf("docs/references.md does not print %s: %v", names, err)
		}
		declared := fmt.Sprintf(`,"references":[{"from":{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout"},"to":"Secret","names":%q}]`, names)
		objects := object("free", "dev", `,"apiVersion":"v1","kind":"Secret"`) +
			object("web", "dev", `,"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","spec":{"workloadRef":{"name":"web"}}`)
		wants(t, run(t, unused("secrets", "DryRun", "Secret", declared)+objects, "preview", "-f", "-"), command.ExitFine, "Secret   free   Wait")
	}
}

// TestAMisspeltReferrerIsTold: nothing refers to anything by a kind that nobody has.
func TestAMisspeltReferrerIsTold(t *testing.T) {
	text := unused("maps", "DryRun", "ConfigMap", `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Jbo"},"to":"ConfigMap","names":"[]"}]`)
	s := newReferring(t)
	const told = "note: the cluster does not have Jbo of batch/v1, of which a policy says what it refers to\n"
	wants(t, s.preview(t, text, "-f", "-"), command.ExitFine, told)
	s.inForce(text)
	wants(t, s.explain(t, "", "cm/free"), command.ExitFine, told)
	const unseen = "note: no object of batch/v1 Jbo in the files, of which a policy says what it refers to\n"
	free := object("free", "dev", `,"apiVersion":"v1","kind":"ConfigMap"`)
	wants(t, run(t, text+free, "preview", "-f", "-"), command.ExitFine, unseen)
	wants(t, run(t, text+free, "explain", "configmap/free", "-f", "-"), command.ExitFine, unseen)
	got := run(t, strings.Replace(text, "Jbo", "Job", 1)+free+object("a", "dev", `,"apiVersion":"batch/v1","kind":"Job"`), "preview", "-f", "-")
	if strings.Contains(got.err, "note: ") {
		t.Errorf("there is a Job: %s", got.err)
	}
}

// TestAPolicyThatOnlyDeclaresIsCompared: what it declares counts for the rules in force.
func TestAPolicyThatOnlyDeclaresIsCompared(t *testing.T) {
	s := newReferring(t, unused("maps", "Enforce", "ConfigMap", ""))
	only := `{"apiVersion":"sunset.x-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"held"},
		"spec":{"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","names":"['free']"}]}}`
	wants(t, run(t, only, "validate", "-f", "-"), command.ExitFine, "no problems\n")
	wants(t, s.preview(t, only, "-f", "-"), command.ExitFine, "ConfigMap   free   Keep     NotEligible", "ConfigMap free")
}

// TestTheTypeOfASecretHolds: metadata do not say it, and a Secret of that type is never deleted.
func TestTheTypeOfASecretHolds(t *testing.T) {
	release := object("web", "dev", `,"apiVersion":"v1","kind":"Secret"`)
	asked := func(selector string) string { return devSecretsPath + "?metadata.name=web," + selector }
	s := newReferring(t, unused("secrets", "Enforce", "Secret", ""))
	s.store(devSecretsPath+"/web", release)
	s.list(devSecretsPath, "v1", "Secret", []string{})
	s.list(asked("type=helm.sh/release.v1"), "v1", "Secret", []string{release})
	got := s.explain(t, "", "secret/web")
	wants(t, got, command.ExitFine, "stays: Held", "Held: Helm keeps a release in it")
	if strings.Contains(got.out, "What would change it") {
		t.Errorf("nothing would:\n%s", got.out)
	}
	s.list(asked("type=helm.sh/release.v1"), "v1", "Secret", []string{})
	wants(t, s.explain(t, "", "secret/web"), command.ExitTrouble, `secrets "web" not found`)
	s.store(asked(engine.UnheldSecrets), forbidden)
	wants(t, s.explain(t, "", "secret/web"), command.ExitTrouble, "ask whether the type of Secret web holds it: not for you")
	s.list(asked(engine.UnheldSecrets), "v1", "Secret", []string{release})
	wants(t, s.explain(t, "", "secret/web"), command.ExitFine, "expires at", "by rule secrets/r")
}

func TestReferrersForPrograms(t *testing.T) {
	read := func(name, format string) (page struct{ References map[string]any }) {
		t.Helper()
		got := run(t, "", "explain", "configmap/"+name, "-f", "testdata/references.yaml", "-o", format)
		if err := yaml.Unmarshal([]byte(got.out), &page); err != nil {
			t.Fatal(err)
		}
		return page
	}
	for name, want := range map[string]string{
		"free": `{"count": 0, "by": []}`,
		"kept": `{"count": 1, "by": [{"kind": "CronJob", "namespace": "shop", "name": "nightly"}]}`,
	} {
		var wanted map[string]any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"json", "yaml"} {
			if diff := cmp.Diff(wanted, read(name, format).References); diff != "" {
				t.Errorf("%s in %s: %s", name, format, diff)
			}
		}
	}
	all := read("site", "json").References
	if by, _ := all["by"].([]any); all["count"] != 13. || len(by) != 10 {
		t.Errorf("%v referrers, %d of them named; want 13 and 10", all["count"], len(by))
	}
}
