// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/engine"
)

// isSecret reports whether a kind is Secret. Sunset reads only the metadata of Secrets.
func isSecret(kind schema.GroupVersionKind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// selectorOf returns the field selector of the objects of a kind to list and watch; empty for all.
func selectorOf(kind schema.GroupVersionKind) string {
	if !isSecret(kind) {
		return ""
	}
	return engine.UnheldSecrets
}
