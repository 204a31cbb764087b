// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	sigsjson "sigs.k8s.io/json"
)

// ParseStrict reads an object from JSON. Unknown and duplicate fields are problems, except in metadata and status. The object is nil if it
// cannot be read.
func ParseStrict[T any](data []byte) (*T, []Problem) {
	object := new(T)
	strict, err := sigsjson.UnmarshalStrict(data, object)
	if err != nil {
		return nil, []Problem{{Path: "document", Message: err.Error()}}
	}
	var problems []Problem
	for _, err := range strict {
		path := "document"
		if field, ok := err.(sigsjson.FieldError); ok {
			path = field.FieldPath()
		}
		if !strings.HasPrefix(path, "metadata.") && !strings.HasPrefix(path, "status.") {
			message, _, _ := strings.Cut(err.Error(), ` "`) // unknown field, or duplicate field
			problems = append(problems, Problem{Path: path, Message: message})
		}
	}
	return object, problems
}
