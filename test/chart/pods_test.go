// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestPodsAreConfined: Pods meet the restricted Pod Security Standard and stricter rules. The node agent is exempt because
// its container runs as root of the host.
func TestPodsAreConfined(t *testing.T) {
	rendered := objects(t, render(t))
	for name, pod := range map[string]map[string]any{
		"controller": specOf(t, one(t, rendered, "Deployment", "sunset-controller")),
		"helm test":  specOf(t, one(t, rendered, "Pod", "sunset-test")),
	} {
		of, _ := pod["securityContext"].(map[string]any)
		expect.Equal(t, name+": runAsNonRoot", any(true), of["runAsNonRoot"])
		expect.Equal[any](t, name+": seccompProfile", map[string]any{"type": "RuntimeDefault"}, of["seccompProfile"])
		for _, container := range containersOf(pod) {
			want := map[string]any{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": map[string]any{"drop": []any{"ALL"}}}
			expect.Equal[any](t, name+", container", want, container["securityContext"])
		}
	}
}

// TestOpenShiftAssignsUsers: OpenShift rejects Pods with a user or group outside of the range of their namespace. The node
// agent needs root and a SecurityContextConstraints that allows hostPath volumes.
func TestOpenShiftAssignsUsers(t *testing.T) {
	rendered := objects(t, render(t, "--api-versions", "security.openshift.io/v1"))
	for _, pod := range []map[string]any{
		specOf(t, one(t, rendered, "Deployment", "sunset-controller")), specOf(t, one(t, rendered, "Pod", "sunset-test")),
	} {
		for _, part := range append(containersOf(pod), pod) {
			of, _ := part["securityContext"].(map[string]any)
			for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"} {
				if of[field] != nil {
					t.Errorf("%s of %v is %v", field, part["name"], of[field])
				}
			}
		}
	}
}

func TestSecurityContextsAreMerged(t *testing.T) {
	rendered := objects(t, render(t, "--set", "controller.podSecurityContext.runAsUser=1000,controller.securityContext.privileged=false,"+
		"nodeAgent.enabled=true,nodeAgent.securityContext.seLinuxOptions.type=spc_t"))
	controller := specOf(t, one(t, rendered, "Deployment", "sunset-controller"))
	agent := specOf(t, one(t, rendered, "DaemonSet", "sunset-node-agent"))
	confined := func(with map[string]any) map[string]any {
		with["allowPrivilegeEscalation"], with["readOnlyRootFilesystem"], with["capabilities"] = false, true, map[string]any{"drop": []any{"ALL"}}
		return with
	}
	profile := map[string]any{"type": "RuntimeDefault"}
	for name, test := range map[string]struct {
		want map[string]any
		of   map[string]any
	}{
		"Pods of the controller":      {map[string]any{"runAsNonRoot": true, "runAsUser": int64(1000), "seccompProfile": profile}, controller},
		"container of the controller": {confined(map[string]any{"privileged": false}), containersOf(controller)[0]},
		"container of the agent": {confined(map[string]any{"runAsUser": int64(0), "seccompProfile": profile,
			"seLinuxOptions": map[string]any{"type": "spc_t"}}), containersOf(agent)[0]},
	} {
		expect.Equal[any](t, name, test.want, test.of["securityContext"])
	}
}

// specOf returns the spec of a Pod, or of the Pods of an object.
func specOf(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	at := []string{"spec", "template", "spec"}
	if object.GetKind() == "Pod" {
		at = at[:1]
	}
	spec, _, err := unstructured.NestedMap(object.Object, at...)
	expect.NoError(t, err)
	return spec
}

func containersOf(pod map[string]any) []map[string]any {
	return append(items(pod, [][]string{{"containers"}}), items(pod, [][]string{{"initContainers"}})...)
}
