// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// helmTest runs the containers of the Pod of "helm test" with the permissions of its ServiceAccount: they fail while no replica
// of the controller is ready, and then succeed.
func (s *server) helmTest() {
	rendered := objects(s.T, render(s.T))
	for _, kind := range []string{"ServiceAccount", "Role", "RoleBinding"} {
		expect.NoError(s, s.apply(s.Context(), one(s.T, rendered, kind, "sunset-test")))
	}
	pod := specOf(s.T, one(s.T, rendered, "Pod", "sunset-test"))
	kubectl, kubeconfig := s.kubectlOf(pod["serviceAccountName"].(string))
	runs := func(container any, more ...string) error {
		command := append(texted(container, "command"), texted(container, "args")...)
		out, err := exec.CommandContext(s.Context(), kubectl, append(command[1:], append(more, "--kubeconfig="+kubeconfig)...)...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%v: %w\n%s", command, err, out)
		}
		return err
	}
	deployment, kinds := pod["initContainers"].([]any)[0], pod["containers"].([]any)[0]
	if runs(deployment, "--timeout=1s") == nil {
		s.Error("helm test succeeds while no replica is ready")
	}
	s.available()
	expect.NoError(s, runs(deployment))
	expect.NoError(s, runs(kinds))
	if runs(kinds, "--all-namespaces") == nil {
		s.Error("the ServiceAccount may list policies of other namespaces")
	}
}

// kubectlOf returns the path of kubectl, and a kubeconfig for a ServiceAccount in Sunset's namespace.
func (s *server) kubectlOf(account string) (kubectl, kubeconfig string) {
	s.Helper()
	paths, err := cluster.Binaries(s.Context(), os.Stderr, cluster.Kubectl)
	expect.NoError(s, err)
	config, err := s.plane.UserConfig("system:serviceaccount:"+namespace+":"+account, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	expect.NoError(s, err)
	kubeconfig = filepath.Join(s.TempDir(), "kubeconfig")
	expect.NoError(s, cluster.WriteKubeconfig(kubeconfig, config))
	return paths[cluster.Kubectl], kubeconfig
}

// available writes the status of the Deployment that its controller, which this control plane does not have, would write.
func (s *server) available() {
	s.Helper()
	deployment := &appsv1.Deployment{}
	expect.NoError(s, s.Get(s.Context(), client.ObjectKey{Namespace: namespace, Name: "sunset-controller"}, deployment))
	n := *deployment.Spec.Replicas
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	expect.NoError(s, s.Status().Update(s.Context(), deployment))
}

// texted returns a list of texts of a container.
func texted(container any, field string) []string {
	list, _, _ := unstructured.NestedStringSlice(container.(map[string]any), field)
	return list
}
