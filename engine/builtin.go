// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	accountAnnotation = "kubernetes.io/service-account.name" // on a token, the name of its ServiceAccount
	helmRelease       = "sh.helm.release.v1."                // prefix of the names of Helm releases

	// The types of the Secrets that Sunset holds.
	accountToken   = "kubernetes.io/service-account-token"
	bootstrapToken = "bootstrap.kubernetes.io/token"
	helmType       = "helm.sh/release.v1"
)

// UnheldSecrets is a field selector for the Secrets whose type does not hold them. The type of a Secret is immutable,
// so a client that lists and watches with this selector misses none of them.
const UnheldSecrets = "type!=" + accountToken + ",type!=" + bootstrapToken + ",type!=" + helmType

// HeldSecretTypes are the types of the Secrets that Sunset holds.
func HeldSecretTypes() []string { return []string{accountToken, bootstrapToken, helmType} }

// BuiltInHold returns the reason, for people, why Sunset holds a ConfigMap or Secret without an annotation; empty if it
// does not hold the object. The flags policy.IsBuiltIn and policy.IsControlled state the same. Kubernetes, Helm or a
// controller needs such an object, possibly without a reference to it by name.
func BuiltInHold(object map[string]any) string {
	metadata := mapOf(object, "metadata")
	switch flags := heldFlags(object, metadata); {
	case !isConfigMapOrSecret(object), flags == 0:
		return ""
	case flags.Has(policy.IsControlled):
		return "a controller owns it (metadata.ownerReferences)"
	default:
		return needed(object, metadata)
	}
}

func isConfigMapOrSecret(object map[string]any) bool {
	return policy.IsConfigMapOrSecret(textOf(object, "apiVersion"), textOf(object, "kind"))
}

// heldFlags returns the flags of a ConfigMap or Secret that is held without an annotation.
func heldFlags(object, metadata map[string]any) (flags policy.Flags) {
	switch {
	case needed(object, metadata) != "":
		return policy.IsBuiltIn
	case len(controllersOf(metadata)) > 0:
		return policy.IsControlled
	}
	return 0
}

// needed returns the reason why Kubernetes or Helm needs a ConfigMap or Secret; empty for none.
func needed(object, metadata map[string]any) string {
	if textOf(object, "kind") == "Secret" {
		if why := neededSecret(object, metadata); why != "" {
			return why
		}
	} else if textOf(metadata, "name") == "kube-root-ca.crt" {
		return "Pods verify the API server with it"
	}
	return neededByMetadata(metadata)
}

// neededSecret returns the reason that holds for Secrets only. The type is present in files, and where the caller asked
// the cluster with field selectors: Sunset reads only the metadata of the Secrets in a cluster.
func neededSecret(object, metadata map[string]any) string {
	_, ofAccount := mapOf(metadata, "annotations")[accountAnnotation]
	bootstrap := textOf(metadata, "namespace") == "kube-system" && strings.HasPrefix(textOf(metadata, "name"), "bootstrap-token-")
	switch written := textOf(object, "type"); {
	case ofAccount, written == accountToken:
		return "it is the token of a ServiceAccount"
	case bootstrap, written == bootstrapToken:
		return "nodes join the cluster with it"
	case written == helmType:
		return helmNeeds
	}
	return ""
}

const helmNeeds = "Helm stores a release in it"

// neededByMetadata returns the reason that holds for ConfigMaps and Secrets alike.
func neededByMetadata(metadata map[string]any) string {
	if strings.HasPrefix(textOf(metadata, "name"), helmRelease) || textOf(mapOf(metadata, "labels"), "owner") == "helm" {
		return helmNeeds
	}
	switch textOf(metadata, "namespace") {
	case "kube-system", "kube-public", "kube-node-lease":
		return "it is in a system namespace of Kubernetes"
	}
	return ""
}

// builtInReads are the fields that BuiltInHold reads, besides the identity of the object.
var builtInReads = func() *fields {
	read := &fields{}
	read.path("type")
	read.path("metadata.labels.owner")
	read.path("metadata.ownerReferences.*.controller")
	read.path("metadata.annotations").at(accountAnnotation)
	return read
}()
