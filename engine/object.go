// SPDX-License-Identifier: Apache-2.0

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

// mapOf returns a JSON object that may be absent. Any other value counts as empty.
func mapOf(object map[string]any, key string) map[string]any {
	m, _ := object[key].(map[string]any)
	return m
}

// textOf returns a JSON string that may be absent. Any other value counts as empty.
func textOf(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

// appliedAnnotation is kubectl's copy of a whole object, including the data of a Secret. Expressions must not read it.
const appliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// visible returns the object that expressions may read. It does not change its argument.
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

// timeOf reads an RFC 3339 time. An absent or null time is zero. Any other value is an error.
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

// parseTime parses an RFC 3339 time and returns it in UTC, in which the year 9999 of a western time zone could not be written.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, fmt.Errorf("%q is not a time in RFC 3339, such as 2026-03-01T12:00:00Z", s)
	}
	return t, nil
}

// groupOf returns the API group of an apiVersion: "batch" for batch/v1, "" for v1.
func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// objectOf returns the object in the first argument of one of our functions.
func objectOf(v ref.Val) (map[string]any, error) {
	if m, ok := v.(mapValue); ok {
		return m, nil
	}
	if m, ok := v.(traits.Mapper); ok && m.Size() == types.IntZero {
		return nil, nil // cel.bind replaces an empty map with a map of its own
	}
	return nil, fmt.Errorf("needs an object, but got %s; pass the variable object", v.Type().TypeName())
}
