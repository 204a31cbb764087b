// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	kindExtension   = "x-kubernetes-group-version-kind"
	openExtension   = "x-kubernetes-preserve-unknown-fields"
	numberExtension = "x-kubernetes-int-or-string"

	embeddedExtension = "x-kubernetes-embedded-resource" // a CustomResourceDefinition does not write out its metadata

	componentPrefix   = "#/components/schemas/"
	quantityComponent = ".apimachinery.pkg.api.resource.Quantity"
)

// SchemaOf returns the schema of a kind from the OpenAPI v3 document of a group, with its references resolved. Where a
// schema contains itself, as JSONSchemaProps does, the inner schema is open: it allows any field. SchemaOf does not
// change the document.
func SchemaOf(doc *spec3.OpenAPI, gvk schema.GroupVersionKind) (*spec.Schema, error) {
	if doc == nil || doc.Components == nil {
		return nil, fmt.Errorf("no schema of %s: the document has no components", gvk)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if s := doc.Components.Schemas[name]; s != nil && isKind(s, gvk) {
			r := resolver{components: doc.Components.Schemas}
			resolved := r.component(name)
			return &resolved, nil
		}
	}
	return nil, fmt.Errorf("no schema of %s in the document", gvk)
}

func isKind(s *spec.Schema, gvk schema.GroupVersionKind) bool {
	kinds, _ := s.Extensions[kindExtension].([]any)
	for _, entry := range kinds {
		kind, _ := entry.(map[string]any)
		if kind["group"] == gvk.Group && kind["version"] == gvk.Version && kind["kind"] == gvk.Kind {
			return true
		}
	}
	return false
}

// resolver resolves references. Of each schema it keeps only the fields and their types.
type resolver struct {
	components map[string]*spec.Schema
	open       []string // the components that are being resolved
}

// anySchema returns a schema that allows any value.
func anySchema() spec.Schema {
	s := spec.Schema{}
	s.AddExtension(openExtension, true)
	return s
}

func (r *resolver) component(name string) spec.Schema {
	s := r.components[name]
	if s == nil || slices.Contains(r.open, name) {
		return anySchema()
	}
	if strings.HasSuffix(name, quantityComponent) {
		return *spec.StringProperty() // the API server also accepts numbers, but returns strings
	}
	r.open = append(r.open, name)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	return r.resolve(s)
}

func (r *resolver) resolve(s *spec.Schema) spec.Schema {
	if ref := refOf(s); ref != "" {
		return r.component(strings.TrimPrefix(ref, componentPrefix))
	}
	out := spec.Schema{}
	out.Type, out.Format, out.Nullable, out.Required = s.Type, s.Format, s.Nullable, s.Required
	for _, name := range []string{openExtension, numberExtension, embeddedExtension} {
		if on, _ := s.Extensions.GetBool(name); on {
			out.AddExtension(name, true)
		}
	}
	for name, property := range s.Properties {
		if out.Properties == nil {
			out.Properties = map[string]spec.Schema{}
		}
		out.Properties[name] = r.resolve(&property)
	}
	if s.Items != nil && s.Items.Schema != nil {
		items := r.resolve(s.Items.Schema)
		out.Items = &spec.SchemaOrArray{Schema: &items}
	}
	if a := s.AdditionalProperties; a != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: a.Allows}
		if a.Schema != nil {
			values := r.resolve(a.Schema)
			out.AdditionalProperties.Schema = &values
		}
	}
	return out
}

// refOf returns the reference that a schema consists of; empty for any other schema. OpenAPI v3 of Kubernetes uses allOf only
// around a reference that has a default or a description.
func refOf(s *spec.Schema) string {
	if len(s.AllOf) == 1 {
		s = &s.AllOf[0]
	}
	return s.Ref.String()
}
