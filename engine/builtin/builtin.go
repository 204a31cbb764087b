// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
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

// The kinds to which objects of Kubernetes refer by name, the kinds that refer to others by name, and the kinds with a label selector.
// Callers must not change them.
var Referred, Referring, Selecting = kindsOf(references)

func kindsOf(all []Reference) (referred, referring, selecting sets.Set[schema.GroupKind]) {
	referred, referring, selecting = sets.New[schema.GroupKind](), sets.New[schema.GroupKind](), sets.New[schema.GroupKind]()
	for _, r := range all {
		if r.Selector != "" {
			selecting.Insert(r.From.GroupKind())
			continue
		}
		referred.Insert(r.To)
		referring.Insert(r.From.GroupKind())
	}
	return referred, referring, selecting
}

// Has reports whether some references from or to a kind are built in.
func Has(kind schema.GroupKind) bool {
	return Referred.Has(kind) || Referring.Has(kind) || Selecting.Has(kind)
}

// Names returns kinds as Kind or Kind.group, sorted.
func Names(kinds sets.Set[schema.GroupKind]) (names []string) {
	for kind := range kinds {
		names = append(names, kind.String())
	}
	slices.Sort(names)
	return names
}

// HasAnyName reports whether names of objects of a kind need not be domain names, as for objects of RBAC.
func HasAnyName(kind schema.GroupKind) bool { return kind.Group == rbacGroup }

// VersionOf returns the version at which objects of a kind are read; empty if it may be any.
func VersionOf(kind schema.GroupKind) string {
	for _, r := range references {
		if r.From.GroupKind() == kind {
			return r.From.Version
		}
	}
	if Referred.Has(kind) {
		return "v1"
	}
	return ""
}

func v1(group, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
}
