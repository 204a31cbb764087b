// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestMapperFollowsKinds: a kind that was created again with another scope is found with that scope; a kind that discovery lacks
// stays as it was.
func TestMapperFollowsKinds(t *testing.T) {
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	widget, gadget := version.WithKind("Widget"), version.WithKind("Gadget")
	versions := []schema.GroupVersion{version}
	before, after := meta.NewDefaultRESTMapper(versions), meta.NewDefaultRESTMapper(versions)
	before.Add(widget, meta.RESTScopeNamespace)
	before.Add(gadget, meta.RESTScopeNamespace)
	after.Add(widget, meta.RESTScopeRoot)
	m := &mapper{RESTMapper: before}
	scope := func(kind schema.GroupVersionKind, versions ...string) string {
		t.Helper()
		mapping, err := m.RESTMapping(kind.GroupKind(), versions...)
		expect.NoError(t, err)
		return string(mapping.Scope.Name())
	}
	for _, kind := range []schema.GroupVersionKind{widget, gadget} {
		expect.Equal(t, "scope at first", "namespace", scope(kind, "v1"))
		expect.Equal(t, "scope of any version at first", "namespace", scope(kind))
	}
	m.refresh(after)
	expect.Equal(t, "scope of the kind that was created again", "root", scope(widget, "v1"))
	expect.Equal(t, "scope of any of its versions", "root", scope(widget))
	expect.Equal(t, "scope of the kind that discovery lacks", "namespace", scope(gadget, "v1"))
}
