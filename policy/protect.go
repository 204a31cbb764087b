package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Protection says which kinds and namespaces no policy may touch, and what else none may do. The zero value protects every protected kind and no
// namespace; use DefaultProtection.
type Protection struct {
	AllowKinds []schema.GroupKind // lifted by --allow-kinds
	Namespaces []string           // never selected by any policy
	Off        []Feature          // switched off by --feature-gates: rules that need one keep
}

// DefaultProtection protects the control plane's namespaces and the given ones, Sunset's own.
func DefaultProtection(own ...string) Protection {
	return Protection{Namespaces: append([]string{"kube-system", "kube-public", "kube-node-lease"}, own...)}
}

// protectedGroups are protected whole: losing one of their objects changes who may do what in the cluster.
var protectedGroups = []string{
	"admissionregistration.k8s.io",
	"apiregistration.k8s.io",
	"coordination.k8s.io",
	"rbac.authorization.k8s.io",
	v1alpha1.GroupVersion.Group,
}

// protectedKinds take other objects, data or access with them when they go.
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

// Namespace reports whether everything in the namespace is left alone. "", of cluster-scoped objects, is none.
func (p Protection) Namespace(name string) bool {
	return name != "" && slices.Contains(p.Namespaces, name)
}
