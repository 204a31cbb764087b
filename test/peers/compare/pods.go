// SPDX-License-Identifier: Apache-2.0

package compare

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// complete adds objects that a cluster would also have. Other tools read them, and rules of Sunset do not. These are Pods of
// workloads that run, Pods that mount a claim in use, and CSIDrivers of volumes.
func (s *State) complete() {
	drivers := map[string]bool{}
	for _, o := range s.Objects {
		if pod := podOf(o); pod != nil {
			s.Objects = append(s.Objects, pod)
		}
		if name, _, _ := unstructured.NestedString(o.Object, "spec", "attacher"); o.GetKind() == "VolumeAttachment" && !drivers[name] {
			drivers[name] = true
			s.Objects = append(s.Objects, object("storage.k8s.io/v1", "CSIDriver", "", name, map[string]any{}))
		}
	}
}

// podOf returns a running Pod that uses an object; nil for one that no Pod uses.
func podOf(o *unstructured.Unstructured) *unstructured.Unstructured {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
	switch {
	case !isRunning(o):
		return nil
	case o.GetKind() == "PersistentVolumeClaim":
		spec = map[string]any{
			"containers": []any{map[string]any{"name": "main", "image": "registry.example.com/app"}},
			"volumes":    []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": o.GetName()}}},
		}
	case spec == nil:
		return nil
	}
	spec["nodeName"] = "worker-1"
	pod := object("v1", "Pod", o.GetNamespace(), o.GetName()+"-runs", spec)
	pod.SetLabels(labels)
	pod.Object["status"] = map[string]any{"phase": string(corev1.PodRunning)}
	return pod
}

// isRunning reports whether an object has a running Pod in a cluster.
func isRunning(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet":
		replicas, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		return !found || replicas > 0
	case "DaemonSet":
		scheduled, _, _ := unstructured.NestedInt64(o.Object, "status", "desiredNumberScheduled")
		return scheduled > 0
	case "PersistentVolumeClaim":
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if c, _ := c.(map[string]any); c["type"] == "Unused" && c["status"] == "False" {
				return true
			}
		}
	}
	return false
}

func object(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}
