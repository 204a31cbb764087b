package kube

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
)

// isSecret reports whether a kind is one of which only metadata is ever read.
func isSecret(kind schema.GroupVersionKind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// selectorOf says which objects of a kind are listed and watched, as a field selector; empty for all.
func selectorOf(kind schema.GroupVersionKind) string {
	if !isSecret(kind) {
		return ""
	}
	return engine.UnheldSecrets
}
