package diagnose

import (
	"strings"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// EvaluationError translates an error of an evaluation into the terms of docs/cel.md and adds a hint.
func EvaluationError(err error) string {
	text := syntax.TypeName(err.Error())
	switch {
	case strings.Contains(text, "no such key: "):
		text += "; if the field can be absent, use .?field or has()"
	case strings.HasSuffix(text, "no such overload"):
		text += "; times in objects are strings: convert them, such as timestamp(object.metadata.creationTimestamp)"
	}
	return text
}
