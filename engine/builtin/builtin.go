// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reference says how objects of a kind refer to objects of another kind: with Names or with Selector. It has the same form as the
// declarations of administrators for their own kinds.
type Reference struct {
	From schema.GroupVersionKind
	To   schema.GroupKind
	// Names is CEL -> list of names in the object's namespace, or of maps with name and namespace.
	Names string
	// Selector is CEL -> LabelSelector for objects in the object's namespace, or null to select nothing.
	Selector string
}

// Labels says which labels a selector for objects of the kind As finds in objects of the kind Of. Selectors for Pods also find
// Pod templates: a workload that is scaled to zero has no Pods for now.
type Labels struct {
	Of     schema.GroupVersionKind
	As     schema.GroupKind
	Labels string // CEL -> map of labels
}

var references = slices.Concat(ofPods(), ofVolumes(), ofNetwork(), ofGateways(), ofAccess(), ofOthers())

// References returns all references. The slice is the caller's.
func References() []Reference { return slices.Clone(references) }

// PodLabels returns which labels a selector for Pods finds. The slice is the caller's.
func PodLabels() (all []Labels) {
	for _, of := range podSpecs {
		if of.labels != "" {
			all = append(all, Labels{of.kind, Pod, of.labels})
		}
	}
	return all
}

// Pod is the kind that the selectors of Kubernetes select.
var Pod = schema.GroupKind{Kind: "Pod"}

// Kinds with references by name, and kinds with selectors. Their objects can be asked about.
var (
	referredKinds  = set(func(r Reference) schema.GroupKind { return r.To }, func(r Reference) bool { return r.Names != "" })
	referringKinds = set(func(r Reference) schema.GroupKind { return r.From.GroupKind() }, func(r Reference) bool { return r.Names != "" })
	selectingKinds = set(func(r Reference) schema.GroupKind { return r.From.GroupKind() }, func(r Reference) bool { return r.Selector != "" })
)

func set(kind func(Reference) schema.GroupKind, of func(Reference) bool) map[schema.GroupKind]bool {
	all := map[schema.GroupKind]bool{}
	for _, r := range references {
		if of(r) {
			all[kind(r)] = true
		}
	}
	return all
}

// IsReferred reports whether objects of Kubernetes refer to objects of the kind by name.
func IsReferred(kind schema.GroupKind) bool { return referredKinds[kind] }

// Refers reports whether objects of the kind refer to others by name.
func Refers(kind schema.GroupKind) bool { return referringKinds[kind] }

// Selects reports whether objects of the kind have a label selector.
func Selects(kind schema.GroupKind) bool { return selectingKinds[kind] }

// ReferredKinds returns the kinds for which IsReferred is true, sorted by kind and group. The slice is the caller's.
func ReferredKinds() []schema.GroupKind { return sorted(referredKinds) }

// SelectingKinds returns the kinds for which Selects is true, sorted by kind and group. The slice is the caller's.
func SelectingKinds() []schema.GroupKind { return sorted(selectingKinds) }

// IsClusterScoped reports whether objects of a kind for which IsReferred is true have no namespace.
func IsClusterScoped(kind schema.GroupKind) bool { return clusterScoped[kind] }

// HasAnyName reports whether names of objects of a kind need not be domain names, as for objects of RBAC.
func HasAnyName(kind schema.GroupKind) bool { return kind.Group == rbacGroup }

// VersionOf returns the version at which objects of a kind are read; empty if it may be any.
func VersionOf(kind schema.GroupKind) string {
	for _, r := range references {
		if r.From.GroupKind() == kind {
			return r.From.Version
		}
	}
	if IsReferred(kind) {
		return "v1"
	}
	return ""
}

func v1(group, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
}
