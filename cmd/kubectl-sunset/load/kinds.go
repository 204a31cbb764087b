// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// KnownKinds holds the kinds that are known without a cluster, each with its schema. The schema is nil if it is unknown.
type KnownKinds struct {
	served  []*metav1.APIResourceList
	schemas map[schema.GroupVersionKind]func() *spec.Schema
}

// BuiltinKinds returns the kinds of Kubernetes that can be listed.
func BuiltinKinds() *KnownKinds {
	k := &KnownKinds{schemas: map[schema.GroupVersionKind]func() *spec.Schema{}}
	for _, b := range builtins().kinds {
		k.add(b.GroupVersionKind, b.resource, func() *spec.Schema { return builtins().schemaOf(b.goType) })
	}
	return k
}

func (k *KnownKinds) add(kind schema.GroupVersionKind, resource metav1.APIResource, schemaOf func() *spec.Schema) {
	version := kind.GroupVersion().String()
	at := slices.IndexFunc(k.served, func(l *metav1.APIResourceList) bool { return l.GroupVersion == version })
	if at < 0 {
		at, k.served = len(k.served), append(k.served, &metav1.APIResourceList{GroupVersion: version})
	}
	resource.Kind, resource.Verbs = kind.Kind, metav1.Verbs{"list"}
	k.served[at].APIResources = append(k.served[at].APIResources, resource)
	k.schemas[kind] = schemaOf
}

// find returns nil for an unknown kind.
func (k *KnownKinds) find(kind schema.GroupVersionKind) *metav1.APIResource {
	for _, list := range k.served {
		for i := range list.APIResources {
			if r := &list.APIResources[i]; list.GroupVersion == kind.GroupVersion().String() && r.Kind == kind.Kind {
				return r
			}
		}
	}
	return nil
}

// definition is the part of a CustomResourceDefinition that describes its kind.
type definition struct {
	Spec struct {
		Group                 string
		Scope                 string
		PreserveUnknownFields bool
		Names                 struct {
			Plural, Singular, Kind string
			ShortNames             []string
		}
		Versions []struct {
			Name            string
			Served, Storage bool
			Schema          struct {
				OpenAPIV3Schema *spec.Schema `json:"openAPIV3Schema"`
			}
		}
	}
}

// IsDefinition reports whether an object is a CustomResourceDefinition.
func IsDefinition(object map[string]any) bool {
	return object["apiVersion"] == "apiextensions.k8s.io/v1" && object["kind"] == "CustomResourceDefinition"
}

// newDefinition decodes a CustomResourceDefinition. If that fails, the definition has no versions.
func newDefinition(object map[string]any) definition {
	var d definition
	if data, err := json.Marshal(object); err != nil || json.Unmarshal(data, &d) != nil {
		return definition{}
	}
	return d
}

// Definition is a CustomResourceDefinition: its name, and the kind that it defines, in a version that is served. If the storage version
// is served, it is that one, so that a list needs no conversion webhook.
type Definition struct {
	Name string
	Kind schema.GroupVersionKind
}

// ReadDefinition reads a CustomResourceDefinition. ok is false if it is malformed, or serves no version.
func ReadDefinition(object map[string]any) (d Definition, ok bool) {
	read := newDefinition(object)
	return read.served()
}

func (d *definition) served() (served Definition, ok bool) {
	for _, version := range d.Spec.Versions {
		if version.Served && (!ok || version.Storage) {
			kind := schema.GroupVersionKind{Group: d.Spec.Group, Version: version.Name, Kind: d.Spec.Names.Kind}
			served, ok = Definition{Name: d.Spec.Names.Plural + "." + d.Spec.Group, Kind: kind}, true
		}
	}
	return served, ok
}

// Definitions returns the CustomResourceDefinitions that serve a version.
func (in *Contents) Definitions() (all []Definition) {
	for i := range in.definitions {
		if d, ok := in.definitions[i].served(); ok {
			all = append(all, d)
		}
	}
	return all
}

func (k *KnownKinds) define(d definition) {
	for _, version := range d.Spec.Versions {
		if !version.Served {
			continue
		}
		s := version.Schema.OpenAPIV3Schema
		if d.Spec.PreserveUnknownFields {
			s = nil
		}
		if s != nil && s.Properties != nil { // the API server adds the fields that every object has
			s.Properties["apiVersion"], s.Properties["kind"] = typed("string"), typed("string")
			s.Properties["metadata"] = *builtins().schemaOf(metadataType)
		}
		kind := schema.GroupVersionKind{Group: d.Spec.Group, Version: version.Name, Kind: d.Spec.Names.Kind}
		names := d.Spec.Names
		resource := metav1.APIResource{Name: names.Plural, SingularName: names.Singular, Namespaced: d.Spec.Scope == "Namespaced", ShortNames: names.ShortNames}
		k.add(kind, resource, func() *spec.Schema { return s })
	}
}

// ShortNames returns the short names of a built-in kind, as kubectl accepts them.
func ShortNames(kind schema.GroupVersionKind) []string {
	for _, b := range builtins().kinds {
		if b.GroupVersionKind == kind {
			return b.resource.ShortNames
		}
	}
	return nil
}

// FindBuiltin returns the built-in kind for which is reports true, and whether its objects are in namespaces. ok is false if there is
// none, or one in several groups.
func FindBuiltin(is func(schema.GroupVersionKind) bool) (kind schema.GroupKind, namespaced, ok bool) {
	for _, b := range builtins().kinds {
		switch {
		case !is(b.GroupVersionKind):
		case ok && b.GroupKind() != kind:
			return schema.GroupKind{}, false, false
		default:
			kind, namespaced, ok = b.GroupKind(), b.resource.Namespaced, true
		}
	}
	return kind, namespaced, ok
}
