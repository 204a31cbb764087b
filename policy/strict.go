package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	sigsjson "sigs.k8s.io/json"
)

// read reads one field. It reports false when the field has another type; all that fits is read nevertheless.
func (d *Document) read(path string, raw json.RawMessage, into any) bool {
	if raw == nil {
		return true
	}
	strict, err := sigsjson.UnmarshalStrict(raw, into)
	d.addStrict(path, strict)
	if err == nil {
		return true
	}
	problem := Problem{Path: path, Message: err.Error()}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		// Since Go 1.24 the path has the Go name of an embedded struct in it, which nobody wrote.
		problem.Path = joinPath(path, strings.TrimPrefix(wrong.Field, "both."))
		problem.Message = fmt.Sprintf("%s given, %s expected", wrong.Value, typeName(wrong.Type))
	}
	d.Problems = append(d.Problems, problem)
	return false
}

// addStrict tells what a strict reading found below a path.
func (d *Document) addStrict(path string, strict []error) {
	for _, err := range strict {
		p := Problem{Path: path, Message: err.Error()}
		if field, ok := err.(sigsjson.FieldError); ok {
			p.Path = joinPath(path, field.FieldPath())
			p.Message = "unknown or repeated field"
			p.Hint = "check the spelling and the indentation; a field of a newer Sunset is not ignored here"
		}
		if d.Namespaced() && p.Path == referencesField {
			p.Hint = "references count for the whole cluster: write them in a ClusterRetentionPolicy"
		}
		d.Problems = append(d.Problems, p)
	}
}

// joinPath is the path of a field below another.
func joinPath(path, field string) string {
	if path == "" || field == "" || strings.HasPrefix(field, "[") {
		return path + field
	}
	return path + "." + field
}

// typeName is what a value of the type is called in JSON, as the value given is.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "object"
	default:
		return t.Kind().String()
	}
}
