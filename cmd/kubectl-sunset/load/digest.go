// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/digest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func isDigest(object map[string]any) bool {
	return object["apiVersion"] == v1alpha1.GroupVersion.String() && object["kind"] == v1alpha1.RetentionDigestKind.Kind
}

// loadDigest checks a RetentionDigest as the controller does.
func loadDigest(object map[string]any) *policy.Policy {
	p := &policy.Policy{Name: NameOf(object)}
	data, err := json.Marshal(object)
	if err != nil {
		p.Problems = []policy.Problem{{Path: "document", Message: err.Error()}}
		return p
	}
	written, problems := digest.Parse(data)
	if written != nil {
		_, more := digest.Load(written)
		problems = append(problems, more...)
	}
	p.Problems = problems
	return p
}
