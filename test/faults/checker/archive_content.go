// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// redacted replaces the strings that archive.redact selects.
const redacted = "REDACTED"

// step is one step of a path of archive.redact: the name of a field, the index of an element, or nil for all fields or elements.
type step any

// stepsOf reads paths as docs/concepts/archive.md has them: spec.containers[*].env[0].value, data.*, metadata.annotations['a.b/c'].
func stepsOf(paths []string) (all [][]step, err error) {
	for _, path := range paths {
		var steps []step
		for left := path; left != ""; {
			var s step
			if s, left, err = nextStep(left); err != nil {
				return nil, fmt.Errorf("path %q: %w", path, err)
			}
			steps = append(steps, s)
		}
		all = append(all, steps)
	}
	return all, nil
}

// nextStep returns the first step of a path, and what follows it.
func nextStep(path string) (s step, left string, err error) {
	if inner, ok := strings.CutPrefix(path, "["); ok {
		quote := ""
		if strings.HasPrefix(inner, "'") || strings.HasPrefix(inner, `"`) {
			quote = inner[:1]
		}
		text, left, closed := strings.Cut(inner[len(quote):], quote+"]")
		switch {
		case !closed:
			return nil, "", fmt.Errorf("%q does not end", path)
		case quote != "":
			return text, left, nil
		case text == "*":
			return nil, left, nil
		}
		s, err = strconv.Atoi(text)
		return s, left, err
	}
	path = strings.TrimPrefix(path, ".")
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	switch name := path[:end]; name {
	case "":
		return nil, "", fmt.Errorf("a name is missing before %q", path)
	case "*":
		return nil, path[end:], nil
	default:
		return name, path[end:], nil
	}
}

// redact returns what may be left of a value: a selected string becomes REDACTED, and another selected value is removed. The value
// itself changes.
func redact(value any, paths [][]step) (left any, removed bool) {
	for _, p := range paths {
		if len(p) > 0 {
			continue
		}
		if _, text := value.(string); text {
			return redacted, false
		}
		return nil, true
	}
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if v[name], removed = redact(inner, below(paths, name)); removed {
				delete(v, name)
			}
		}
	case []any:
		kept := []any{}
		for i, inner := range v {
			if left, removed := redact(inner, below(paths, i)); !removed {
				kept = append(kept, left)
			}
		}
		return kept, false
	}
	return value, false
}

// below returns the rest of the paths that lead through a field or an element.
func below(paths [][]step, at step) (rest [][]step) {
	for _, p := range paths {
		if p[0] == nil || p[0] == at {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

// contentWrong says how an archived object differs from the version that was stored, after archive.redact; empty if it does not.
func contentWrong(o unstructured.Unstructured, s *history.State, paths [][]step) string {
	want := s.DeepCopy().Object
	if len(paths) > 0 {
		if _, kept := mapIn(o.Object, "metadata")["managedFields"]; kept {
			return "has managedFields, which may have copies of what is redacted"
		}
		// managedFields and the annotation of kubectl apply have copies of all fields.
		redact(want, append(paths[:len(paths):len(paths)], []step{"metadata", "annotations", lastApplied}))
	}
	if !reflect.DeepEqual(compared(o.DeepCopy().Object), compared(want)) {
		return fmt.Sprintf("is not the content of resourceVersion %s", s.GetResourceVersion())
	}
	return ""
}

// compared returns what is compared of an object. Fields without a value do not count, and neither do apiVersion and managedFields,
// which the API server converts.
func compared(object map[string]any) any {
	delete(object, "apiVersion")
	delete(mapIn(object, "metadata"), "managedFields")
	return withoutEmpty(object)
}

// withoutEmpty removes null, and objects and lists without content; nil if nothing is left.
func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if v[key] = withoutEmpty(inner); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	}
	return value
}
