// SPDX-License-Identifier: Apache-2.0

package compare

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Prepare removes what only the API server sets, and adds what it requires and the samples, which show what rules can read, lack.
func Prepare(o *unstructured.Unstructured) {
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	switch o.GetKind() {
	case "Service": // the API server assigns an address
		if address, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); address != corev1.ClusterIPNone {
			unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		}
	case "Secret":
		o.Object["stringData"] = secretData(o)
	}
}

func secretData(o *unstructured.Unstructured) map[string]any {
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	switch corev1.SecretType(kind) {
	case corev1.SecretTypeTLS:
		return map[string]any{corev1.TLSCertKey: "", corev1.TLSPrivateKeyKey: ""}
	case corev1.SecretTypeDockerConfigJson:
		return map[string]any{corev1.DockerConfigJsonKey: "{}"}
	}
	return map[string]any{}
}
