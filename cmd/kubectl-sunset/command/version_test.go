// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/controllers/process/version"
	"github.com/sunset-k8s/sunset/test/expect"
)

const deploymentsPath = "/apis/apps/v1/deployments"

func TestVersionOfTheController(t *testing.T) {
	for name, test := range map[string]struct{ deployments, want string }{
		"a tag":              {deployment("registry.example.com:5000/sunset-controller:v1.2.3"), "sunset-controller v1.2.3 (image registry.example.com:5000/sunset-controller:v1.2.3)\n"},
		"a tag and a digest": {deployment("sunset-controller:v1.2.3@sha256:0a"), "sunset-controller v1.2.3 (image "},
		"a digest":           {deployment("registry.example.com:5000/sunset-controller@sha256:0a"), "sunset-controller unknown (its image has no tag: "},
		"no Deployment":      {`{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`, "sunset-controller unknown (no Deployment has label app.kubernetes.io/name=sunset-controller)\n"},
		"no permission":      {forbidden, "sunset-controller unknown (find the controller: not for you; you need permission to list deployments in any namespace; -n sets"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.store(deploymentsPath, test.deployments)
			got := s.run(t, "", "version")
			wants(t, got, command.ExitOK, test.want)
			if line, _, _ := strings.Cut(got.out, "\n"); line != version.Get().Line("kubectl-sunset") || got.err != "" {
				t.Errorf("%s%s", got.out, got.err)
			}
		})
	}
}

// deployment is a list with the controller's Deployment. A sidecar comes first.
func deployment(image string) string {
	return fmt.Sprintf(`{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"sunset-controller"},"spec":{"template":{"spec":{
		"containers":[{"name":"proxy","image":"proxy:v9"},{"name":"controller","image":%q}]}}}}]}`, image)
}

func TestVersionForPrograms(t *testing.T) {
	s := newAPIServer(t)
	s.store("/apis/apps/v1/namespaces/sunset-system/deployments", deployment("sunset-controller:v1.2.3"))
	const format = "jsonpath={.clientVersion.version} {.controllerVersion.version}"
	expect.Equal(t, "versions", version.Get().Version+" v1.2.3", s.run(t, "", "version", "-n", "sunset-system", "-o", format).out)
}

// TestVersionWithoutACluster: the version of the command needs no cluster.
func TestVersionWithoutACluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "/no/such/config")
	want := version.Get().Line("kubectl-sunset") + "\n"
	for note, args := range map[string][]string{
		"": {}, "note: the version of the controller is not known: find the controller: ": {"--server", "http://127.0.0.1:1"},
	} {
		got := run(t, "", append([]string{"version"}, args...)...)
		wants(t, got, command.ExitOK, note)
		expect.Equal(t, "standard output", want, got.out)
		expect.Equal(t, "a note", note != "", got.err != "")
	}
}
