// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ParseArchive reads a RetentionArchive from JSON, and checks what needs no store. It is nil if it cannot be read.
func ParseArchive(data []byte) (*v1alpha1.RetentionArchive, []Problem) {
	a, problems := ParseStrict[v1alpha1.RetentionArchive](data)
	if a == nil {
		return nil, problems
	}
	if u, err := url.Parse(a.Spec.URL); err != nil || u.Scheme == "" {
		problems = append(problems, Problem{Path: "spec.url", Message: "it is not the URL of a store", Hint: "write one such as s3://bucket/prefix?region=eu-central-1"})
	}
	if a.Spec.Retain != "" {
		if retain, err := ParseTTL(a.Spec.Retain); err != nil {
			problems = append(problems, Problem{Path: "spec.retain", Message: err.Error(), Hint: TTLHint(a.Spec.Retain)})
		} else if retain < 24*time.Hour {
			problems = append(problems, Problem{Path: "spec.retain", Message: "it is shorter than a day", Hint: "write 1d or more"})
		}
	}
	if e := a.Spec.Encryption; e != nil {
		for i, r := range e.Recipients {
			if !strings.HasPrefix(r, "age1") {
				problems = append(problems, Problem{Path: fmt.Sprintf("spec.encryption.recipients[%d]", i), Message: "it is not a public key of age", Hint: "write one that begins with age1, as age-keygen prints it"})
			}
		}
	}
	return a, problems
}

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
