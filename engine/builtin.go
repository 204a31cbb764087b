package engine

import (
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	accountAnnotation = "kubernetes.io/service-account.name" // on a token, the ServiceAccount that it is of
	helmRelease       = "sh.helm.release.v1."                // what the names of Helm's releases begin with

	// The types of Secrets that are held.
	accountToken   = "kubernetes.io/service-account-token"
	bootstrapToken = "bootstrap.kubernetes.io/token"
	helmType       = "helm.sh/release.v1"
)

// UnheldSecrets selects, as a field selector, the Secrets that are not held for their type. It never changes, so that who lists
// and watches those alone misses nothing.
const UnheldSecrets = "type!=" + accountToken + ",type!=" + bootstrapToken + ",type!=" + helmType

// HeldSecretTypes are the types of Secrets that are held.
func HeldSecretTypes() []string { return []string{accountToken, bootstrapToken, helmType} }

// BuiltInHold says why a ConfigMap or Secret is held without anybody having written so, for people; empty when it is not. It
// is what policy.IsBuiltIn and IsControlled say in flags. Kubernetes, Helm or a controller needs such an object, and nothing that refers to
// it by name need say so.
func BuiltInHold(object map[string]any) string {
	metadata := mapOf(object, "metadata")
	switch flags := heldFlags(object, metadata); {
	case !isReferable(object), flags == 0:
		return ""
	case flags.Has(policy.IsControlled):
		return "a controller owns it, by its ownerReferences"
	default:
		return needed(object, metadata)
	}
}

// isReferable reports whether an object is a ConfigMap or Secret.
func isReferable(object map[string]any) bool {
	kind := textOf(object, "kind")
	return textOf(object, "apiVersion") == "v1" && (kind == "ConfigMap" || kind == "Secret")
}

// heldFlags says of a ConfigMap or Secret why it is held though nobody has written so.
func heldFlags(object, metadata map[string]any) (flags policy.Flags) {
	switch {
	case needed(object, metadata) != "":
		return policy.IsBuiltIn
	case hasController(metadata):
		return policy.IsControlled
	}
	return 0
}

// needed says what needs a ConfigMap or Secret.
func needed(object, metadata map[string]any) string {
	if textOf(object, "kind") == "Secret" {
		if why := neededSecret(object, metadata); why != "" {
			return why
		}
	} else if textOf(metadata, "name") == "kube-root-ca.crt" {
		return "Pods know the API server by it"
	}
	return neededAnyway(metadata)
}

// neededSecret says what needs a Secret of its sort. Its type is there in files, and where somebody has asked the cluster by
// field selectors: of its Secrets nothing but metadata is read.
func neededSecret(object, metadata map[string]any) string {
	_, ofAccount := mapOf(metadata, "annotations")[accountAnnotation]
	bootstrap := textOf(metadata, "namespace") == "kube-system" && strings.HasPrefix(textOf(metadata, "name"), "bootstrap-token-")
	switch written := textOf(object, "type"); {
	case ofAccount, written == accountToken:
		return "it is the token of a ServiceAccount"
	case bootstrap, written == bootstrapToken:
		return "nodes join the cluster by it"
	case written == helmType:
		return helmNeeds
	}
	return ""
}

const helmNeeds = "Helm keeps a release in it"

// neededAnyway says what needs an object, whatever its sort.
func neededAnyway(metadata map[string]any) string {
	if strings.HasPrefix(textOf(metadata, "name"), helmRelease) || textOf(mapOf(metadata, "labels"), "owner") == "helm" {
		return helmNeeds
	}
	switch textOf(metadata, "namespace") {
	case "kube-system", "kube-public", "kube-node-lease":
		return "it is in a namespace of Kubernetes itself"
	}
	return ""
}

func hasController(metadata map[string]any) bool {
	list, _ := metadata["ownerReferences"].([]any)
	for _, entry := range list {
		reference, _ := entry.(map[string]any)
		if isController, _ := reference["controller"].(bool); isController {
			return true
		}
	}
	return false
}

// builtInReads is what BuiltInHold reads beside who the object is.
var builtInReads = func() *fields {
	read := &fields{}
	read.path("type")
	read.path("metadata.labels.owner")
	read.path("metadata.ownerReferences.*.controller")
	read.path("metadata.annotations").at(accountAnnotation)
	return read
}()
