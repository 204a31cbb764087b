package policy_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

func TestProtectedKinds(t *testing.T) {
	tests := map[string]struct {
		kind schema.GroupKind
		want bool
	}{
		"Namespace":                         {schema.GroupKind{Kind: "Namespace"}, true},
		"Node":                              {schema.GroupKind{Kind: "Node"}, true},
		"PersistentVolume":                  {schema.GroupKind{Kind: "PersistentVolume"}, true},
		"PersistentVolumeClaim":             {schema.GroupKind{Kind: "PersistentVolumeClaim"}, true},
		"CustomResourceDefinition":          {schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, true},
		"APIService":                        {schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}, true},
		"webhook configuration":             {schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, true},
		"RBAC kind":                         {schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, true},
		"Lease":                             {schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}, true},
		"our own kind":                      {schema.GroupKind{Group: "sunset.x-k8s.io", Kind: "ClusterRetentionPolicy"}, true},
		"Job is free":                       {jobs.GroupKind(), false},
		"Pod is free":                       {pods.GroupKind(), false},
		"the name in another group is free": {schema.GroupKind{Group: "example.org", Kind: "Node"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (policy.Protection{}).Kind(test.kind); got != test.want {
				t.Errorf("protected is %v, want %v", got, test.want)
			}
		})
	}
}

func TestAllowKindsLiftsOneKindOnly(t *testing.T) {
	claim := schema.GroupKind{Kind: "PersistentVolumeClaim"}
	p := policy.Protection{AllowKinds: []schema.GroupKind{claim}}
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
