// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestPageGrantsWhatIsWatched: the ClusterRole in docs/reference/permissions.md grants all permissions that the watches of referrers
// to ConfigMaps and Secrets need, and no others.
func TestPageGrantsWhatIsWatched(t *testing.T) {
	data, err := os.ReadFile("../../../docs/reference/permissions.md")
	expect.NoError(t, err)
	const name = "metadata: {name: sunset-references}\n"
	_, text, _ := strings.Cut(string(data), name)
	text, _, found := strings.Cut(text, "---")
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict([]byte(name+text), role); err != nil || !found {
		t.Fatalf("no ClusterRole sunset-references: %v", err)
	}
	granted := map[string]bool{}
	for _, rule := range role.Rules {
		if got := strings.Join(rule.Verbs, " "); got != "list watch" {
			t.Errorf("verbs %s on %s, want list watch", got, rule.Resources)
		}
		for _, resource := range rule.Resources {
			granted[resource+"."+rule.APIGroups[0]] = true
		}
	}
	needed := map[string]bool{}
	table, _ := extract.NewTable(fixture.Compiler(t), nil, references.Asked{references.ConfigMap: policy.AsksReferences, references.Secret: policy.AsksReferences})
	for _, kind := range table.Kinds() {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		plural := strings.Replace(resource.Resource, "gatewaies", "gateways", 1) // the guess is wrong
		needed[plural+"."+resource.Group] = true
	}
	for resource := range needed {
		if !granted[resource] {
			t.Errorf("%s is not granted", resource)
		}
	}
	if len(granted) != len(needed) {
		t.Errorf("granted %v, needed %v", granted, needed)
	}
}
