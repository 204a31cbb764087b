// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/crds"
	"github.com/sunset-k8s/sunset/test/expect"
)

const (
	leasePath     = "/apis/coordination.k8s.io/v1/namespaces/sunset-system/leases/sunset-controller"
	reportsPath   = "/apis/sunset-k8s.io/v1alpha1/nodeimagereports"
	admissionPath = "/apis/admissionregistration.k8s.io/v1/"
	archivesPath  = "/apis/sunset-k8s.io/v1alpha1/retentionarchives"
	digestsPath   = "/apis/sunset-k8s.io/v1alpha1/retentiondigests"
	documentPath  = "/openapi/v3/apis/sunset-k8s.io/v1alpha1"
)

// newInstalled is a cluster with a complete installation of this version.
func newInstalled(t *testing.T) *apiServer {
	s := newStatuses(t)
	s.inForce(told("ClusterRetentionPolicy", "", "batch", enforced, isReady))
	s.teams()
	s.store("/openapi/v3", `{"paths":{"apis/sunset-k8s.io/v1alpha1":{"serverRelativeURL":"`+documentPath+`"}}}`)
	s.store(documentPath, document(t, ""))
	s.store(deploymentsPath, controllerWith("sunset-controller:"+version.Get().Version, 2, 2))
	s.store(leasePath, lease("replica-1", now.Add(-2*time.Second)))
	s.list(admissionPath+"validatingadmissionpolicies", "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", admissionObjects())
	s.list(admissionPath+"validatingadmissionpolicybindings", "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", admissionObjects())
	s.list(admissionPath+"validatingwebhookconfigurations", "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", []string{object("sunset", "", "")})
	return s
}

func admissionObjects() (objects []string) {
	for _, name := range []string{"shape", "act-as", "approval", "cluster-approvals", "approvals"} {
		objects = append(objects, object(name+".sunset-k8s.io", "", ""))
	}
	return objects
}

func controllerWith(image string, ready, replicas int) string {
	return fmt.Sprintf(`{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"namespace":"sunset-system","name":"sunset-controller"},
		"spec":{"replicas":%d,"template":{"spec":{"containers":[{"name":"controller","image":%q}]}}},"status":{"readyReplicas":%d}}]}`, replicas, image, ready)
}

func lease(holder string, renewed time.Time) string {
	return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"namespace":"sunset-system","name":"sunset-controller"},
		"spec":{"holderIdentity":%q,"leaseDurationSeconds":15,"renewTime":%q}}`, holder, renewed.Format("2006-01-02T15:04:05.000000Z07:00"))
}

// withReady is a status with condition Ready, as the rest of an object.
func withReady(status, reason string) string {
	return fmt.Sprintf(`,"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q}]}`, status, reason)
}

// document is the OpenAPI document of all kinds, without one field of a ClusterRetentionPolicy's spec.
func document(t *testing.T, without string) string {
	t.Helper()
	schemas := map[string]any{}
	for _, file := range crds.Files() {
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct{ Schema map[string]map[string]any }
			}
		}
		expect.NoError(t, yaml.Unmarshal(file.YAML, &crd))
		kind, schema := crd.Spec.Names.Kind, crd.Spec.Versions[0].Schema["openAPIV3Schema"]
		schema["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": "sunset-k8s.io", "version": "v1alpha1", "kind": kind}}
		if kind == "ClusterRetentionPolicy" {
			spec := schema["properties"].(map[string]any)["spec"].(map[string]any)
			delete(spec["properties"].(map[string]any), without)
		}
		schemas["io.k8s.sunset-k8s.v1alpha1."+kind] = schema
	}
	data, err := json.Marshal(map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": schemas}})
	expect.NoError(t, err)
	return string(data)
}

func TestCheckOfAHealthyInstallation(t *testing.T) {
	s := newInstalled(t)
	golden(t, "check", s.run(t, "", "check"))
	s.list(archivesPath, "sunset-k8s.io/v1alpha1", "RetentionArchive", []string{object("nightly", "", withReady("True", "Available"))})
	wants(t, s.run(t, "", "check"), command.ExitOK, "PASS  archives     1 of 1 RetentionArchives are ready\n")
	s.list(archivesPath, "sunset-k8s.io/v1alpha1", "RetentionArchive", nil)
	wants(t, s.run(t, "", "check", "-o", "jsonpath={.kind} {.checks[*].result}"), command.ExitOK, "InstallationReport PASS PASS PASS PASS PASS PASS PASS PASS")
	sameInYAML(t, s.run(t, "", "check", "-o", "json"), s.run(t, "", "check", "-o", "yaml"))
}

func TestCheckOfABrokenInstallation(t *testing.T) {
	s := newInstalled(t)
	s.ahead = 150 * time.Minute
	s.store(documentPath, document(t, "approval"))
	s.store(deploymentsPath, controllerWith("sunset-controller:v0.0.1", 0, 2))
	s.inForce(
		told("ClusterRetentionPolicy", "", "batch", enforced, `"observedGeneration":4,"missingPermissions":[{"apiGroup":"batch","resource":"jobs","verbs":["delete"]}],
			"conditions":[{"type":"Ready","status":"False","reason":"Forbidden","message":"no"}]`),
		told("ClusterRetentionPolicy", "", "images", `"rules":[{"name":"r","target":{"apiVersion":"node.sunset-k8s.io/v1alpha1","kind":"Image"}}]`, isReady))
	s.list(admissionPath+"validatingadmissionpolicybindings", "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", admissionObjects()[1:])
	s.list(nodesPath, "v1", "Node", []string{object("a", "", ""), object("b", "", ""), object("c", "", ""), object("d", "", "")})
	report := func(name, observed, ready string) string {
		return object(name, "", fmt.Sprintf(`,"observedTime":%q,"conditions":[{"type":"Ready","status":%q,"reason":"RulesUnknown"}]`, observed, ready))
	}
	s.list(reportsPath, "sunset-k8s.io/v1alpha1", "NodeImageReport", []string{
		report("a", "2026-03-01T14:25:00Z", "True"), report("b", "2026-03-01T13:55:00Z", "True"), report("c", "2026-03-01T14:25:00Z", "False")})
	s.list(archivesPath, "sunset-k8s.io/v1alpha1", "RetentionArchive", []string{object("good", "", withReady("True", "Available")), object("full", "", withReady("False", "ArchiveUnavailable"))})
	s.list(digestsPath, "sunset-k8s.io/v1alpha1", "RetentionDigest", []string{object("new", "", "")})
	golden(t, "check-broken", s.run(t, "", "check"))
}

// TestCheckWithoutPermissions: what the user may not read is skipped, and named.
func TestCheckWithoutPermissions(t *testing.T) {
	s := newInstalled(t)
	for _, path := range []string{deploymentsPath, leasePath, policiesPath, archivesPath, admissionPath + "validatingadmissionpolicies"} {
		s.store(path, strings.Replace(forbidden, "not for you", "no permission for "+path, 1))
	}
	golden(t, "check-forbidden", s.run(t, "", "check"))
}

// unwrapped returns a result without line breaks.
func unwrapped(got ran) ran {
	got.out = strings.Join(strings.Fields(got.out), " ")
	return got
}

func TestCheckWithoutSunset(t *testing.T) {
	s := newAPIServer(t)
	s.store("/openapi/v3", `{"paths":{}}`)
	s.store(deploymentsPath, `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`)
	wants(t, unwrapped(s.run(t, "", "check")), command.ExitFindings, "the cluster does not serve sunset-k8s.io/v1alpha1; install the chart", "no Deployment has label",
		"Lease sunset-system/sunset-controller does not exist", "nothing rejects invalid policies")
	s.Close()
	wants(t, s.run(t, "", "check"), command.ExitError, "error: read the time of the API server: ")
}

func TestCheckWaitsUntilNoCheckFails(t *testing.T) {
	s := newInstalled(t)
	starting, running := controllerWith("sunset-controller:"+version.Get().Version, 0, 2), s.pages[deploymentsPath][0]
	s.store(deploymentsPath, starting)
	s.after[deploymentsPath] = []func(){func() { s.store(deploymentsPath, running) }}
	wants(t, unwrapped(s.run(t, "", "check", "--wait=1m")), command.ExitOK, "2 of 2 replicas are ready")
	if n := len(slices.DeleteFunc(s.asked, func(asked string) bool { return !strings.HasPrefix(asked, http.MethodGet+" "+deploymentsPath) })); n != 2 {
		t.Errorf("%d requests for the Deployment", n)
	}
}
