// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive/settings"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func isArchive(object map[string]any) bool {
	return object["apiVersion"] == v1alpha1.GroupVersion.String() && object["kind"] == v1alpha1.RetentionArchiveKind.Kind
}

// loadArchive checks the fields of a RetentionArchive. Whether the store can be used, only the controller finds out.
func loadArchive(object map[string]any) *policy.Policy {
	p := &policy.Policy{Name: NameOf(object)}
	data, err := json.Marshal(object)
	if err != nil {
		p.Problems = []policy.Problem{{Path: "document", Message: err.Error()}}
		return p
	}
	_, p.Problems = settings.Parse(data)
	return p
}
