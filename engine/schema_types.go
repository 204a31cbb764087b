package engine

import (
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// schemaTypes returns CEL types for the parts of an OpenAPI schema, on demand: most expressions use few parts of a
// large schema. The types are those of a decoded object, so a date-time is a string and an int-or-string is dynamic. It
// is for a single goroutine.
type schemaTypes struct {
	types.Provider
	objects map[string]*spec.Schema // by type name, which is the path: "object/status". Expressions cannot contain such a name
	lacking map[string][]string     // for one expression, by field: the types in which the checker did not find the field
}

func newSchemaTypes(provider types.Provider) *schemaTypes {
	return &schemaTypes{Provider: provider, objects: map[string]*spec.Schema{}, lacking: map[string][]string{}}
}

// typeOf returns the type of the value at path.
func (t *schemaTypes) typeOf(s *spec.Schema, path string) *cel.Type {
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
		return cel.ListType(t.typeOf(s.Items.Schema, path+"[]"))
	case "object":
		return t.object(s, path)
	}
	return cel.DynType
}

func (t *schemaTypes) object(s *spec.Schema, path string) *cel.Type {
	switch a := s.AdditionalProperties; {
	case len(s.Properties) > 0:
		t.objects[path] = s
		return cel.ObjectType(path)
	case a != nil && a.Schema != nil && !has(s, openExtension):
		return cel.MapType(cel.StringType, t.typeOf(a.Schema, path+"[]"))
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

// FindStructType implements types.Provider.
func (t *schemaTypes) FindStructType(name string) (*types.Type, bool) {
	if t.objects[name] == nil {
		return t.Provider.FindStructType(name)
	}
	return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
}

// FindStructFieldNames implements types.Provider.
func (t *schemaTypes) FindStructFieldNames(name string) ([]string, bool) {
	s := t.objects[name]
	if s == nil {
		return t.Provider.FindStructFieldNames(name)
	}
	var names []string
	for field := range s.Properties {
		names = append(names, field)
	}
	slices.Sort(names)
	return names, true
}

// FindStructFieldType implements types.Provider.
func (t *schemaTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
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
	return &types.FieldType{Type: t.typeOf(&property, name+"/"+field)}, true
}
