// SPDX-License-Identifier: Apache-2.0

package referrers_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestTableAboutOneKind(t *testing.T) {
	declared := []references.Declared{
		{From: appKind, To: references.ConfigMap, Names: "[object.spec.config]"},
		{From: appKind, To: references.Secret, Names: "[object.spec.secret]"},
		{From: accountKind, To: references.Secret, Names: "[object.metadata.name]"},
	}
	about, refused := extract.NewTable(fixture.Compiler(t), declared, configMaps)
	expect.Equal(t, "refused", 0, len(refused))
	expect.Equal(t, "what depends on Pods", []references.Kind{references.ConfigMap}, about.About(fixture.Pods))
	expect.Equal(t, "what depends on a kind that refers only to Secrets", nil, about.About(accountKind))
	expect.Equal(t, "the table contains a kind that does not refer to ConfigMaps", false, slices.Contains(about.Kinds(), accountKind))
	e := fixture.Compiler(t).NewEvaluator(t.Context())
	defer e.Close()
	r := about.Read(e, appKind, map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "a"}, "spec": map[string]any{"config": "c"},
	})
	expect.Equal(t, "targets, without reading spec.secret", []references.Target{configMap("shop", "c")}, r.Targets)
	table := newTable(t, declared...)
	for kind, want := range map[schema.GroupVersionKind]bool{fixture.Pods: true, accountKind: false, appKind: false, fixture.Secrets: true, fixture.Nodes: false} {
		expect.Equal(t, "any version of "+kind.Kind, want, table.AnyVersion(kind))
	}
}
