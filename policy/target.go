// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Target is one version of the object that a DeletePermit permits to delete: the subject itself, or its owner. A DELETE request
// names it.
type Target struct {
	Kind            schema.GroupVersionKind
	Namespace       string // empty for cluster-scoped kinds
	Name            string
	UID             types.UID
	ResourceVersion string
}

// TargetOf is the subject itself.
func TargetOf(kind schema.GroupVersionKind, s Subject) Target {
	return Target{Kind: kind, Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}
}

// Owner is the controller of a subject, from the ownerReferences of the subject. A rule with target: Owner deletes it instead of
// the subject. It does not change.
type Owner struct {
	Kind schema.GroupVersionKind
	Name string
	UID  types.UID
}

// String is KIND/NAME, or empty for nil.
func (o *Owner) String() string {
	if o == nil {
		return ""
	}
	return o.Kind.Kind + "/" + o.Name
}

// same reports whether both are the same object, or both are nil.
func (o *Owner) same(other *Owner) bool {
	return o == other || o != nil && other != nil && *o == *other
}

// String is KIND NAMESPACE/NAME, or KIND NAME for a cluster-scoped object.
func (t Target) String() string {
	if t.Namespace == "" {
		return t.Kind.Kind + " " + t.Name
	}
	return t.Kind.Kind + " " + t.Namespace + "/" + t.Name
}

// Is reports whether both are the same version of the same object, even if they were read in different API versions.
func (t Target) Is(o Target) bool {
	return t.UID == o.UID && t.ResourceVersion == o.ResourceVersion
}
