// SPDX-License-Identifier: Apache-2.0

package load

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// schemaOf returns the JSON schema of a Go type of the Kubernetes API: its fields and their types, as the API server publishes
// them. A quantity is a string, as the API server serves it. The schema accepts any value for an unknown type, for a union of
// types, and for a type that contains itself. within lists the structs around the type.
func schemaOf(t reflect.Type, within ...reflect.Type) spec.Schema {
	if t.Kind() == reflect.Pointer {
		return schemaOf(t.Elem(), within...)
	}
	if t == reflect.TypeFor[resource.Quantity]() {
		return typed("string")
	}
	zero := reflect.Zero(t).Interface()
	if _, several := zero.(interface{ OpenAPIV3OneOfTypes() []string }); several {
		return spec.Schema{}
	}
	if own, ok := zero.(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}); ok {
		s := typed(own.OpenAPISchemaType()[0])
		s.Format = own.OpenAPISchemaFormat()
		return s
	}
	switch t.Kind() {
	case reflect.String:
		return typed("string")
	case reflect.Bool:
		return typed("boolean")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return typed("integer")
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return typed("string") // in base64
		}
		elements := schemaOf(t.Elem(), within...)
		return *spec.ArrayProperty(&elements)
	case reflect.Map:
		values := schemaOf(t.Elem(), within...)
		return *spec.MapProperty(&values)
	case reflect.Struct:
		if slices.Contains(within, t) {
			return spec.Schema{}
		}
		s := typed("object")
		s.Properties = map[string]spec.Schema{}
		addFields(s.Properties, t, append(slices.Clone(within), t))
		return s
	}
	return spec.Schema{}
}

// addFields adds the JSON fields of a struct, including those of inlined structs.
func addFields(fields map[string]spec.Schema, t reflect.Type, within []reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case name == "" && (field.Anonymous || strings.Contains(options, "inline")):
			addFields(fields, field.Type, within)
		case name != "":
			fields[name] = schemaOf(field.Type, within...)
		}
	}
}

func typed(name string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{name}}}
}
