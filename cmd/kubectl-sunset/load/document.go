// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive/settings"
	"github.com/sunset-k8s/sunset/policy/digest"
)

// loadDocument checks an object of Sunset that is not a policy.
func loadDocument(object map[string]any, check func([]byte) []policy.Problem) *policy.Policy {
	data, _ := json.Marshal(object) // no error: its values are those of JSON
	return &policy.Policy{Name: NameOf(object), Problems: check(data)}
}

// checkDigest checks a RetentionDigest as the controller does.
func checkDigest(data []byte) []policy.Problem {
	written, problems := digest.Parse(data)
	if written == nil {
		return problems
	}
	_, more := digest.Load(written)
	return append(problems, more...)
}

// checkArchive checks the fields of a RetentionArchive. Whether the store can be used, only the controller finds out.
func checkArchive(data []byte) []policy.Problem {
	_, problems := settings.Parse(data)
	return problems
}
