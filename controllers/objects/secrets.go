package objects

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// isSecret reports whether a kind is one of which only metadata is ever read.
func isSecret(kind schema.GroupVersionKind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// notSubjects are the types of Secrets that are never subjects: tokens, and what Helm remembers of its releases. The type
// of a Secret never changes.
var notSubjects = []string{"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "helm.sh/release.v1"}

// selectorOf says which objects of a kind are listed and watched, as a field selector; empty for all.
func selectorOf(kind schema.GroupVersionKind) string {
	if !isSecret(kind) {
		return ""
	}
	return "type!=" + strings.Join(notSubjects, ",type!=")
}
