// SPDX-License-Identifier: Apache-2.0

package referrers_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestTableAboutOneKind(t *testing.T) {
	table := newTable(t,
		references.Declared{From: appKind, To: references.ConfigMap, Names: "[object.spec.config]"},
		references.Declared{From: appKind, To: references.Secret, Names: "[object.spec.secret]"},
		references.Declared{From: accountKind, To: references.Secret, Names: "[object.metadata.name]"})
	about := table.About([]references.Kind{references.ConfigMap})
	expect.Equal(t, "targets of Pods", []references.Kind{references.ConfigMap}, about.To(fixture.Pods))
	expect.Equal(t, "targets of a kind that refers only to Secrets", nil, about.To(accountKind))
	for _, kind := range about.Kinds() {
		if kind == accountKind {
			t.Errorf("the table contains %s, which does not refer to ConfigMaps", kind)
		}
	}
	e := fixture.Compiler(t).NewEvaluator(t.Context())
	defer e.Close()
	r := about.Read(e, appKind, map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "a"}, "spec": map[string]any{"config": "c"},
	})
	expect.Equal(t, "targets, without reading spec.secret", []references.Target{configMap("shop", "c")}, r.Targets)
	for kind, want := range map[schema.GroupVersionKind]bool{fixture.Pods: true, accountKind: false, appKind: false, fixture.Secrets: true, fixture.Nodes: false} {
		expect.Equal(t, "any version of "+kind.Kind, want, table.AnyVersion(kind))
	}
}
