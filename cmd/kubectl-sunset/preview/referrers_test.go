// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/test/expect"
)

// related evaluates the objects of a text with the references between them.
func related(t *testing.T, text string) *preview.Result {
	t.Helper()
	return judge(t, text, func(in *preview.Input) {
		expect.NoError(t, in.FindReferred(t.Context(), opened(t, text).Feed()))
	})
}

// TestReferencesThatNothingDeclaresAreUnknown: without a declaration, no object refers to a custom resource as far as is known. The
// controller keeps it too.
func TestReferencesThatNothingDeclaresAreUnknown(t *testing.T) {
	got := related(t, `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: custom}
spec:
  mode: Enforce
  references:
  - {from: {apiVersion: example.org/v1, kind: App}, to: ConfigMap, names: object.spec.configs}
  rules:
  - {name: apps, target: {apiVersion: example.org/v1, kind: App}, eligible: targets.count == 0, startTime: object.metadata.creationTimestamp, ttl: 0s}
  - {name: widgets, target: {apiVersion: example.org/v1, kind: Widget}, eligible: references.count == 0, startTime: object.metadata.creationTimestamp, ttl: 0s}
---
apiVersion: example.org/v1
kind: App
metadata: {namespace: shop, name: cart, creationTimestamp: "2026-03-01T00:00:00Z"}
spec: {configs: []}
---
apiVersion: example.org/v1
kind: Widget
metadata: {namespace: shop, name: button, creationTimestamp: "2026-03-01T00:00:00Z"}
`)
	expect.Equal(t, "rows", []string{
		"example.org/v1 App shop/cart Delete Expired custom/apps",
		"example.org/v1 Widget shop/button Keep ReferencesUnknown custom/widgets",
	}, rows(got))
	expect.Equal(t, "failures", []preview.Failure{{Message: "Widget.example.org: no policy declares references for this kind; write spec.references"}}, got.Failures)
}

// TestObjectThatIsInTheFilesTwice: the labels and the selectors of both count.
func TestObjectThatIsInTheFilesTwice(t *testing.T) {
	const policy = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: unused}
spec:
  mode: Enforce
  rules:
  - {name: services, target: {apiVersion: v1, kind: Service}, eligible: selected.count == 0, startTime: object.metadata.creationTimestamp, ttl: 0s}
`
	service := func(name, app string) string {
		return "---\napiVersion: v1\nkind: Service\nmetadata: {namespace: shop, name: " + name + ", creationTimestamp: \"2026-03-01T00:00:00Z\"}\nspec: {selector: {app: " + app + "}}\n"
	}
	labelled := func(app string) string { return pod("shop", "p", "  labels: {app: "+app+"}\n") }
	got := related(t, policy+labelled("api")+labelled("web")+service("api", "api")+service("web", "web")+service("none", "other")+service("both", "web")+service("both", "other"))
	expect.Equal(t, "rows", []string{
		"v1 Service shop/api Keep NotEligible unused/services",
		"v1 Service shop/both Keep NotEligible unused/services",
		"v1 Service shop/both Keep NotEligible unused/services",
		"v1 Service shop/none Delete Expired unused/services",
		"v1 Service shop/web Keep NotEligible unused/services",
	}, rows(got))
}
