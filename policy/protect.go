// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Protection says which kinds and namespaces no policy may touch, and which features are off. The zero value protects every
// protected kind and no namespace; use DefaultProtection.
type Protection struct {
	AllowKinds []schema.GroupKind // allowed by --allow-kinds
	Namespaces []string           // never selected by any policy
	Off        []Feature          // disabled by --feature-gates: rules that need one keep their subjects
}

// DefaultProtection protects the namespaces of the control plane, and the given ones: the namespace of Sunset.
func DefaultProtection(own ...string) Protection {
	return Protection{Namespaces: append([]string{"kube-system", "kube-public", "kube-node-lease"}, own...)}
}

// Allow returns the protection without that of some kinds, as Kind or Kind.group.
func (p Protection) Allow(kinds ...string) Protection {
	p.AllowKinds = slices.Clone(p.AllowKinds)
	for _, kind := range kinds {
		p.AllowKinds = append(p.AllowKinds, schema.ParseGroupKind(kind))
	}
	return p
}

// protectedGroups are API groups whose kinds are all protected: without their objects, permissions and behaviour of the cluster
// change.
var protectedGroups = []string{
	"admissionregistration.k8s.io",
	"apiregistration.k8s.io",
	"coordination.k8s.io",
	"rbac.authorization.k8s.io",
	v1alpha1.GroupVersion.Group,
}

// protectedKinds are kinds whose deletion also deletes other objects or data, or removes access.
var protectedKinds = []schema.GroupKind{
	{Kind: "Namespace"},
	{Kind: "Node"},
	{Kind: "PersistentVolume"},
	{Kind: "PersistentVolumeClaim"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
}

// Kind reports whether rules about the kind are refused.
func (p Protection) Kind(kind schema.GroupKind) bool {
	if slices.Contains(p.AllowKinds, kind) {
		return false
	}
	return slices.Contains(protectedGroups, kind.Group) || slices.Contains(protectedKinds, kind)
}

// Namespace reports whether Sunset leaves everything in the namespace alone. It is false for "", the namespace of cluster-scoped
// objects.
func (p Protection) Namespace(name string) bool {
	return name != "" && slices.Contains(p.Namespaces, name)
}
