// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestProtectedKinds(t *testing.T) {
	tests := map[string]struct {
		kind schema.GroupKind
		want bool
	}{
		"Namespace":                {schema.GroupKind{Kind: "Namespace"}, true},
		"Node":                     {schema.GroupKind{Kind: "Node"}, true},
		"PersistentVolume":         {schema.GroupKind{Kind: "PersistentVolume"}, true},
		"PersistentVolumeClaim":    {schema.GroupKind{Kind: "PersistentVolumeClaim"}, true},
		"CustomResourceDefinition": {schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, true},
		"APIService":               {schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}, true},
		"webhook configuration":    {schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, true},
		"RBAC kind":                {schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, true},
		"Lease":                    {schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}, true},
		"kind of Sunset":           {schema.GroupKind{Group: "sunset-k8s.io", Kind: "ClusterRetentionPolicy"}, true},
		"Job is not protected":     {jobs.GroupKind(), false},
		"Pod is not protected":     {pods.GroupKind(), false},
		"the name in another group is not protected": {schema.GroupKind{Group: "example.org", Kind: "Node"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "protected", test.want, (policy.Protection{}).Kind(test.kind))
		})
	}
}

func TestAllowKindsLiftsOneKindOnly(t *testing.T) {
	claim := schema.GroupKind{Kind: "PersistentVolumeClaim"}
	none := policy.Protection{}
	p := none.Allow("PersistentVolumeClaim")
	expect.Equal(t, "protected before", true, none.Kind(claim))
	if p.Kind(claim) {
		t.Error("the kind that is allowed is still protected")
	}
	if !p.Kind(schema.GroupKind{Kind: "PersistentVolume"}) {
		t.Error("a kind that is not allowed is not protected")
	}
}

func TestDefaultProtectionOfNamespaces(t *testing.T) {
	p := policy.DefaultProtection("sunset-system")
	for _, name := range []string{"kube-system", "kube-public", "kube-node-lease", "sunset-system"} {
		if !p.Namespace(name) {
			t.Errorf("%s is not protected", name)
		}
	}
	for _, name := range []string{"default", "team-a", ""} {
		if p.Namespace(name) {
			t.Errorf("%q is protected", name)
		}
	}
}

// TestRuleAboutNamespacesReachesProtectedOnes: a Namespace object is cluster-scoped. So if --allow-kinds allows its kind, only a
// hold protects the Namespace object itself, even in a protected namespace. docs/operations/threats.md documents this.
func TestRuleAboutNamespacesReachesProtectedOnes(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	protection := policy.DefaultProtection()
	if !protection.Kind(kind.GroupKind()) {
		t.Error("Namespaces are not protected by default")
	}
	protection.AllowKinds = []schema.GroupKind{kind.GroupKind()}
	snapshot := policy.NewSnapshot([]*policy.Policy{policyOf("p", about(kind, "namespaces"), about(jobs, "jobs"))}, namespaces, protection)
	rules := snapshot.Effective(kind.GroupKind(), "").Rules
	if len(rules) != 1 || len(snapshot.Effective(jobs.GroupKind(), "kube-system").Rules) != 0 {
		t.Fatalf("rules for kube-system itself: %d, for Jobs in it: %d", len(rules), len(snapshot.Effective(jobs.GroupKind(), "kube-system").Rules))
	}
	for flags, want := range map[policy.Flags]policy.Action{0: policy.Delete, policy.IsHeld: policy.Keep} {
		subject := policy.Subject{Name: "kube-system", UID: "uid-1", Created: now.Add(-2 * hour), Flags: flags}
		facts := policy.Facts{Selected: true, Eligible: true, Start: subject.Created}
		if v, _ := policy.Decide(subject, []policy.Evaluation{{Rule: rules[0], Facts: facts, Known: true}}, now); v.Action != want {
			t.Errorf("with flags %v: %v", flags, v)
		}
	}
}
