// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestKindsOfPolicy: a policy concerns the kinds of its rules, or those of its declared references if it has no rules.
func TestKindsOfPolicy(t *testing.T) {
	p := &policy.Policy{References: []*policy.Reference{
		{From: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, To: "Secret"},
		{From: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, To: "HTTPRoute.gateway.networking.k8s.io"},
	}}
	expect.Equal(t, "references", sets.New(
		schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Group: "example.com", Kind: "App"}, schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"},
	), load.KindsOf(p))
	p.Rules = []*policy.Rule{{Kind: fixture.Jobs}}
	expect.Equal(t, "rules", sets.New(fixture.Jobs.GroupKind()), load.KindsOf(p))
}
