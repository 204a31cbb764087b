// SPDX-License-Identifier: Apache-2.0

package agentapi_test

import (
	"encoding/json"
	"testing"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/test/expect"
)

// FuzzRead reads any data as rules for agents. It must not panic, and an incomplete rule must be invalid. An unknown field must
// keep images: outside of a spec nothing is read, and inside a spec none of its rules is valid.
func FuzzRead(f *testing.F) {
	const rule = `{"name":"r","target":{"apiVersion":"node.sunset-k8s.io/v1alpha1","kind":"Image"},"eligible":"true","ttl":"1d"}`
	for _, text := range []string{
		`{}`, `null`, `{"policies":null,"known":[{}]}`, `{"policies":[{"name":"p","uid":"u","hash":"h","spec":{"mode":"Enforce","rules":[` + rule + `]}}]}`,
		`{"policies":[{"name":"p","unapproved":["r"],"spec":{"rules":[` + rule + `,` + rule + `,null]}}],"known":[{"name":"p","uid":"u","generation":3}]}`,
		`{"policies":[{"spec":null},{"spec":7},{"spec":{"rules":[{}]}}]}`, `{"policies":[{"creationTimestamp":"never","spec":{}}]}`, `{"policies":[]}{"policies":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		told, err := agentapi.Read(data)
		if err != nil {
			return
		}
		for _, p := range told.Policies {
			for _, r := range p.Rules {
				if !r.Invalid() && (r.Kind.Kind == "" || r.Spec.Eligible == "" || r.ID.Rule == "" || len(p.Problems) > 0 && isWhole(p)) {
					t.Errorf("a valid rule: %+v with %v", r, p.Problems)
				}
			}
		}
		var whole map[string]any
		if json.Unmarshal(data, &whole) != nil || whole == nil {
			return // more than one document, or none
		}
		if again, err := agentapi.Read(with(t, whole, whole)); err == nil {
			t.Errorf("with an unknown field, %d policies are read", len(again.Policies))
		}
		delete(whole, newer)
		if policies, _ := whole["policies"].([]any); len(policies) > 0 {
			first, _ := policies[0].(map[string]any)
			if spec, _ := first["spec"].(map[string]any); spec != nil {
				checkNewer(t, with(t, whole, spec))
			}
		}
	})
}

// newer is a field of a possible later version of Sunset.
const newer = "keepIfInDoubt"

// with is the JSON of a document with that field in a part of it.
func with(t *testing.T, whole, part map[string]any) []byte {
	t.Helper()
	part[newer] = true
	data, err := json.Marshal(whole)
	expect.NoError(t, err)
	return data
}

func checkNewer(t *testing.T, data []byte) {
	t.Helper()
	told, err := agentapi.Read(data)
	if err != nil {
		return
	}
	for _, r := range told.Policies[0].Rules {
		if !r.Invalid() {
			t.Errorf("rule %s is valid with unknown field %s: %s", r.ID, newer, data)
		}
	}
}

// isWhole reports whether a problem of a policy concerns all of its rules.
func isWhole(p *policy.Policy) bool { return p.Problems[0].Path == "spec" || p.Problems[0].Path == "" }
