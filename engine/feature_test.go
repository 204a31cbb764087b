// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// featured has a rule for each feature, and one that needs no feature.
const featured = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: featured, uid: u-1}
spec:
  mode: Enforce
  references:
  - from: {apiVersion: example.com/v1, kind: Site}
    to: ConfigMap
    names: "[object.spec.config]"
  rules:
  - name: none
    target: {apiVersion: v1, kind: Pod}
    eligible: "true"
    startTime: object.metadata.creationTimestamp
    ttl: 1h
  - name: images
    target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
    eligible: "true"
    ttl: 1h
  - name: references
    target: {apiVersion: v1, kind: ConfigMap}
    eligible: references.count == 0
    ttl: 1h
  - name: owners
    target: {apiVersion: v1, kind: Pod}
    eligible: "true"
    startTime: object.metadata.creationTimestamp
    ttl: 1h
    delete: {target: Owner}
`

// TestRuleThatNeedsAFeatureWhichIsOffIsInvalid: the problem names the feature gate, and the other rules stay valid.
func TestRuleThatNeedsAFeatureWhichIsOffIsInvalid(t *testing.T) {
	data, err := yaml.YAMLToJSON([]byte(featured))
	expect.NoError(t, err)
	compiler := fixture.Compiler(t)
	for rule, off := range map[string]policy.Feature{
		"": "", "images": policy.NodeImages, "references": policy.References, "owners": policy.OwnerDeletion,
	} {
		document, err := policy.Parse(data)
		expect.NoError(t, err)
		p := document.Load(policy.Protection{Off: []policy.Feature{off}})
		compiler.Load(p)
		for _, r := range p.Rules {
			if r.Invalid() != (r.ID.Rule == rule) {
				t.Errorf("%s off: rule %s has problems %v", off, r.ID.Rule, r.Problems)
			}
		}
		if rule != "" && (len(p.Problems) != 1 || !strings.Contains(p.Problems[0].String(), "feature gate "+string(off)+", which is disabled")) {
			t.Errorf("%s off: %v", off, p.Problems)
		}
	}
}
