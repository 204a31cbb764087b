// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Types returns CEL types for the parts of an OpenAPI schema, on demand: most expressions use few parts of a
// large schema. The types are those of a decoded object, so a date-time is a string and an int-or-string is dynamic. It
// is for a single goroutine.
type Types struct {
	types.Provider
	objects map[string]*spec.Schema // by type name, which is the path: "object/status". Expressions cannot contain such a name
	lacking map[string][]string     // for one expression, by field: the types in which the checker did not find the field
}

// NewTypes returns types of no schema yet. All other types are those of provider.
func NewTypes(provider types.Provider) *Types {
	return &Types{Provider: provider, objects: map[string]*spec.Schema{}, lacking: map[string][]string{}}
}

// TypeOf returns the type of the value at path.
func (t *Types) TypeOf(s *spec.Schema, path string) *cel.Type {
	if len(s.Type) != 1 || s.Nullable || has(s, numberExtension) {
		return cel.DynType
	}
	switch s.Type[0] {
	case "string":
		return cel.StringType
	case "boolean":
		return cel.BoolType
	case "integer":
		return cel.IntType
	case "number":
		return cel.DynType // JSON decodes 1 as an int and 1.5 as a double
	case "array":
		if s.Items == nil || s.Items.Schema == nil {
			return cel.ListType(cel.DynType)
		}
		return cel.ListType(t.TypeOf(s.Items.Schema, path+"[]"))
	case "object":
		return t.object(s, path)
	}
	return cel.DynType
}

func (t *Types) object(s *spec.Schema, path string) *cel.Type {
	switch a := s.AdditionalProperties; {
	case len(s.Properties) > 0:
		t.objects[path] = s
		return cel.ObjectType(path)
	case a != nil && a.Schema != nil && !has(s, openExtension):
		return cel.MapType(cel.StringType, t.TypeOf(a.Schema, path+"[]"))
	default:
		return cel.DynType
	}
}

func has(s *spec.Schema, extension string) bool {
	on, _ := s.Extensions.GetBool(extension)
	return on
}

// isOpen reports whether an object may have fields that the schema does not name.
func isOpen(s *spec.Schema) bool {
	return has(s, openExtension) || has(s, embeddedExtension) || s.AdditionalProperties != nil
}

// Schema returns the schema of a type; nil if it is not the type of an object of a schema.
func (t *Types) Schema(name string) *spec.Schema { return t.objects[name] }

// Lacking returns the types in which the checker did not find a field since Forget.
func (t *Types) Lacking(field string) []string { return t.lacking[field] }

// Forget forgets which fields were not found. Call it before each expression.
func (t *Types) Forget() { clear(t.lacking) }

// FindStructType implements types.Provider.
func (t *Types) FindStructType(name string) (*types.Type, bool) {
	if t.objects[name] == nil {
		return t.Provider.FindStructType(name)
	}
	return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
}

// FindStructFieldNames implements types.Provider.
func (t *Types) FindStructFieldNames(name string) ([]string, bool) {
	s := t.objects[name]
	if s == nil {
		return t.Provider.FindStructFieldNames(name)
	}
	return slices.Sorted(maps.Keys(s.Properties)), true
}

// FindStructFieldType implements types.Provider.
func (t *Types) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	s := t.objects[name]
	if s == nil {
		return t.Provider.FindStructFieldType(name, field)
	}
	property, ok := s.Properties[field]
	if !ok {
		if isOpen(s) {
			return &types.FieldType{Type: cel.DynType}, true
		}
		if !slices.Contains(t.lacking[field], name) {
			t.lacking[field] = append(t.lacking[field], name)
		}
		return nil, false
	}
	return &types.FieldType{Type: t.TypeOf(&property, name+"/"+field)}, true
}

// Paths returns the paths of all fields of a schema, including nested fields.
func Paths(s *spec.Schema, path string) []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		paths = append(paths, path+"."+name)
		paths = append(paths, Paths(&field, path+"."+name)...)
	}
	return paths
}
