// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestUnusedPoliciesAreThoseOfTheSamples fails if make generate has not copied the samples.
func TestUnusedPoliciesAreThoseOfTheSamples(t *testing.T) {
	files, err := filepath.Glob("unused/*.yaml")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d policies, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		sample := samples + "/unused/" + name + "/policy.yaml"
		if name == "configmaps" || name == "secrets" {
			sample = samples + "/unused-" + name + "/policy.yaml"
		}
		want, err := os.ReadFile(sample)
		expect.NoError(t, err)
		got, err := os.ReadFile(file)
		expect.NoError(t, err)
		expect.Equal(t, file, string(want), string(got))
	}
}

// TestUnusedObjectsOfFiles: the command shows objects of all kinds, and none that something uses.
func TestUnusedObjectsOfFiles(t *testing.T) {
	for sample, want := range map[string][]string{
		"network":  {"Ingress         old ", "NetworkPolicy   retired ", "Service         retired ", "unknown   unused-network/services"},
		"access":   {"ClusterRole          left ", "ClusterRoleBinding   no-role ", "Role                 left ", "RoleBinding          no-account ", "RoleBinding          no-role "},
		"volumes":  {"PersistentVolumeClaim   copy ", "PersistentVolumeClaim   data-gone-0 ", "PersistentVolumeClaim   left ", "PersistentVolume        pv-7 "},
		"accounts": {"ServiceAccount   left "},
		"jobs":     {"Job    migrate ", "Pod    web-7c9d8b6f54-8kq2t   2026-02-10T08:30:00Z   unused-jobs/pods"},
	} {
		wants(t, run(t, "", "unused", "-f", samples+"/unused/"+sample+"/objects.yaml"), command.ExitOK, want...)
	}
}

// TestObjectsInUseAreNotShown: the command keeps what the comments of the samples explain.
func TestObjectsInUseAreNotShown(t *testing.T) {
	for sample, test := range map[string]struct{ unused, used []string }{
		"network": {[]string{"service/retired", "networkpolicy.networking.k8s.io/retired", "ingress.networking.k8s.io/old"},
			[]string{"service/web", "service/db", "service/check", "service/legacy", "service/payments", "service/mail", "default-deny", "half", "mixed", "actions", "moved", "ledger"}},
		"workloads": {[]string{"deployment.apps/trial", "horizontalpodautoscaler.autoscaling/gone", "poddisruptionbudget.policy/gone", "statefulset.apps/db"},
			[]string{"deployment.apps/queue", "paused", "checkout", "cart", "cache", "rollout", "web-5b6c8f9d77", "ledger", "poddisruptionbudget.policy/db"}},
		"jobs": {[]string{"job.batch/migrate", "job.batch/import", "pod/debug", "pod/web-7c9d8b6f54-8kq2t"}, []string{"report", "backup", "training", "reindex", "seed", "smoke-test", "shell", "import-q5r8d", "pipeline", "zz7hp", "c4m9r"}},
		"routes": {[]string{"httproute.gateway.networking.k8s.io/old", "grpcroute.gateway.networking.k8s.io/calls",
			"tlsroute.gateway.networking.k8s.io/secure", "tcproute.gateway.networking.k8s.io/queue", "udproute.gateway.networking.k8s.io/game"},
			[]string{"waypoint", "mirror", "streams", "models", "import", "redirect"}},
		"classes":  {[]string{"volumeattachment.storage.k8s.io/csi-2", "storageclass.storage.k8s.io/old"}, []string{"csi-4", "standard", "slow", "scratch", "internal", "system-"}},
		"volumes":  {[]string{"persistentvolumeclaim/left", "persistentvolumeclaim/data-gone-0"}, []string{"machine", "mounted", "data-db-0", "data-db-23", "data-kruise-1", "waiting", "ledger", "pv-8", "pv-9"}},
		"accounts": {[]string{"serviceaccount/left"}, []string{"default", "vault", "robot", "ledger"}},
		"access":   {[]string{"clusterrole.rbac.authorization.k8s.io/left"}, []string{"monitoring", "system:", "view", "ledger"}},
	} {
		got := run(t, "", "unused", "-f", samples+"/unused/"+sample+"/objects.yaml", "-o", "name")
		wants(t, got, command.ExitOK, test.unused...)
		for _, used := range test.used {
			if strings.Contains(got.out, used) {
				t.Errorf("%s is shown:\n%s", used, got.out)
			}
		}
	}
}

// TestUnusedReportsInvalidPolicies: references of an invalid policy may be missing, so the command must not pass, and shows no
// object as unused.
func TestUnusedReportsInvalidPolicies(t *testing.T) {
	const misspelt = `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"apps"},"spec":{"reference":[]}}`
	const problem, unknown = "stdin:1: apps: spec.reference: unknown field", "spec.references of policy apps is invalid"
	wants(t, newReferring(t).run(t, misspelt, "unused", "-f", "-"), command.ExitFindings, problem, unknown)
	got := run(t, misspelt+object("free", "dev", `,"apiVersion":"v1","kind":"ConfigMap"`), "unused", "-f", "-")
	wants(t, got, command.ExitFindings, problem, unknown)
	if strings.Contains(got.out, "free") {
		t.Errorf("an object is shown:\n%s", got.out)
	}
}

// TestDefinitionsWithoutObjectsAreShown: an operator needs all of its CustomResourceDefinitions, so an object of any kind of its group
// is a use of all.
func TestDefinitionsWithoutObjectsAreShown(t *testing.T) {
	const sample = samples + "/unused/definitions/objects.yaml"
	wants(t, run(t, "", "unused", "-f", sample), command.ExitOK, "Sunset found no unused objects.")
	file, err := os.ReadFile(sample)
	expect.NoError(t, err)
	var definitions []string
	for document := range strings.SplitSeq(string(file), "\n---\n") {
		if strings.Contains(document, "kind: CustomResourceDefinition\n") {
			definitions = append(definitions, document)
		}
	}
	all := strings.Join(definitions, "\n---\n")
	wants(t, run(t, all, "unused", "-f", "-", "-o", "name"), command.ExitOK, "customresourcedefinition.apiextensions.k8s.io/gadgets.example.com\n", "gears.example.com\n", "widgets.example.com\n")
	var many strings.Builder // more than one policy can refer to
	for i := range policy.MostReferences {
		many.WriteString("\n---\n" + strings.NewReplacer("gadget", fmt.Sprint("gadget", i), "Gadget", fmt.Sprint("Gadget", i)).Replace(definitions[0]))
	}
	wants(t, run(t, all+many.String(), "unused", "-f", "-", "-o", "name"), command.ExitOK, "/gadgets.example.com\n", "/gears.example.com\n", "/gadget63s.example.com\n")
	own := strings.ReplaceAll(all, "example.com", "sunset-k8s.io")
	wants(t, run(t, own, "unused", "-f", "-"), command.ExitOK, "Sunset found no unused objects.")
}

// TestUnusedObjectsWide: an object without a mark counts as marked now.
func TestUnusedObjectsWide(t *testing.T) {
	got := run(t, "", "unused", "-f", samples+"/unused/network/objects.yaml", "-o", "wide")
	wants(t, got, command.ExitOK, "retired   unknown   unused-network/services", " DUE\n", "in 30d (2026-03-31T12:00:00Z)")
}

func TestUnusedObjectsAsAPage(t *testing.T) {
	got := run(t, "", "unused", "-f", samples+"/unused/network/objects.yaml", "-o", "html")
	wants(t, got, command.ExitOK, "<title>Unused objects</title>", "<h2>By kind</h2>", "NetworkPolicy<td class=\"number\">1", "<td>Service<td>retired<td>unknown<td>unused-network/services")
	if strings.Contains(got.out, "default-deny") {
		t.Errorf("the page shows an object that something uses:\n%s", got.out)
	}
}

// TestDeclaredReferencesCountAsUse: policies in files declare references; their rules do not matter.
func TestDeclaredReferencesCountAsUse(t *testing.T) {
	const config = `{apiVersion: v1, kind: ConfigMap, metadata: {name: flags, namespace: shop}, data: {}}
---
{apiVersion: example.com/v1, kind: App, metadata: {name: app, namespace: shop}, spec: {config: flags}}
`
	const declared = `---
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: apps}
spec:
  rules: [{name: all, target: {apiVersion: v1, kind: ConfigMap}, eligible: "true", ttl: 0s}]
  references: [{from: {apiVersion: example.com/v1, kind: App}, to: ConfigMap, names: "[object.spec.config]"}]
`
	wants(t, run(t, config, "unused", "-f", "-"), command.ExitOK, "flags", "unused-configmaps/configmaps")
	wants(t, run(t, config+declared, "unused", "-f", "-"), command.ExitOK, "Sunset found no unused objects.")
}

// TestUnusedObjectsOfTheCluster: most kinds of the policies are not served here, and no policy is installed.
func TestUnusedObjectsOfTheCluster(t *testing.T) {
	s := newReferring(t)
	got := s.run(t, "", "unused", "-A")
	wants(t, got, command.ExitOK, "ConfigMap   free   unknown   unused-configmaps/configmaps", "Secret      free   unknown   unused-secrets/secrets")
	if strings.Contains(got.out, " used ") {
		t.Errorf("an object that a Pod uses is shown:\n%s", got.out)
	}
	expect.Equal(t, "notes about kinds that only the samples declare", "", got.err)
	for _, asked := range s.asked {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("the command sent %s", asked)
		}
	}
	declares := unused("unused-configmaps", "DryRun", "ConfigMap", `,"references":[{"from":{"apiVersion":"batch/v1","kind":"Job"},"to":"ConfigMap","names":"['free']"}]`)
	if got := newReferring(t, declares).run(t, "", "unused"); strings.Contains(got.out, "ConfigMap") || !strings.Contains(got.out, "Secret") {
		t.Errorf("a reference that the policy with the name of the sample declares in the cluster does not count:\n%s%s", got.out, got.err)
	}
	s.store(podsPath, forbidden)
	wants(t, s.run(t, "", "unused"), command.ExitFindings, "Sunset found no unused objects.", "cannot list Pod of v1: not for you")
}

// TestDeclaredReferencesOfAPolicyWithTheNameOfASample: a user has copied a sample, and declares more references in it.
func TestDeclaredReferencesOfAPolicyWithTheNameOfASample(t *testing.T) {
	declares := func(names string) string {
		return unused("unused-secrets", "DryRun", "Secret", `,"references":[{"from":{"apiVersion":"v1","kind":"ServiceAccount"},"to":"Secret","names":"`+names+`"}]`)
	}
	s := newReferring(t, declares("[object.metadata.name]"))
	s.list(accountsPath, "v1", "ServiceAccount", []string{object("free", "dev", `,"apiVersion":"v1","kind":"ServiceAccount"`)})
	got := s.run(t, "", "unused", "-A")
	wants(t, got, command.ExitOK, "unused-configmaps/configmaps")
	if strings.Contains(got.out, "unused-secrets/secrets") {
		t.Errorf("a Secret to which an account refers is shown:\n%s", got.out)
	}
	wants(t, s.run(t, declares("[object.metadata.name + '-token']"), "unused", "-A", "-f", "-"), command.ExitOK, "unused-secrets/secrets") // the file replaces the policy
}
