package engine

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// mapOf reads a JSON object that may be absent: anything else counts as empty.
func mapOf(object map[string]any, key string) map[string]any {
	m, _ := object[key].(map[string]any)
	return m
}

// textOf reads a JSON string that may be absent: anything else counts as empty.
func textOf(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

// appliedAnnotation is kubectl's copy of a whole object, the data of a Secret included. Nobody may see it.
const appliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// visible is an object as expressions may see it. The object is not changed.
func visible(object map[string]any) map[string]any {
	metadata := mapOf(object, "metadata")
	annotations := mapOf(metadata, "annotations")
	if _, applied := annotations[appliedAnnotation]; !applied {
		return object
	}
	object, metadata, annotations = maps.Clone(object), maps.Clone(metadata), maps.Clone(annotations)
	delete(annotations, appliedAnnotation)
	metadata["annotations"], object["metadata"] = annotations, metadata
	return object
}

// timeOf reads an RFC 3339 time that may be absent or null: then it is zero. Anything else is an error.
func timeOf(object map[string]any, key string) (time.Time, error) {
	switch v := object[key].(type) {
	case nil:
		return time.Time{}, nil
	case string:
		return parseTime(v)
	default:
		return time.Time{}, fmt.Errorf("%s is not a time in RFC 3339, such as 2026-03-01T12:00:00Z", key)
	}
}

// parseTime reads an RFC 3339 time, in UTC.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time in RFC 3339, such as 2026-03-01T12:00:00Z", s)
	}
	return t.UTC(), nil
}

// groupOf is the API group of an apiVersion: "batch" of batch/v1, "" of v1.
func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// objectOf is the object behind the first argument of one of our functions.
func objectOf(v ref.Val) (map[string]any, error) {
	if m, ok := v.(mapValue); ok {
		return m, nil
	}
	if m, ok := v.(traits.Mapper); ok && m.Size() == types.IntZero {
		return nil, nil // cel.bind makes a map of its own of an empty one
	}
	return nil, fmt.Errorf("wants an object and got %s; write object", v.Type().TypeName())
}
