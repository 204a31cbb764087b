// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/test/expect"
)

const object = "apiVersion: v1\nkind: Pod\n"

// TestKeepDecodesOnce: readers get the same objects from the memory, and problems of policies keep their lines.
func TestKeepDecodesOnce(t *testing.T) {
	policy := "---\napiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nspec: {}\n"
	files := load.InMemory(load.Text{Name: "a.yaml", Text: object + policy}).And(load.InMemory(load.Text{Name: "b.yaml", Text: object}))
	expect.NoError(t, files.Keep())
	var first, second []map[string]any
	for _, all := range []*[]map[string]any{&first, &second} {
		expect.NoError(t, files.Each(func(item load.Item) error {
			objects, err := item.Objects()
			*all = append(*all, objects...)
			if objects[0]["spec"] != nil && item.LineOf("spec", 0) != 6 {
				t.Errorf("spec is in line %d", item.LineOf("spec", 0))
			}
			return err
		}))
	}
	if len(first) != 3 {
		t.Fatalf("%d objects", len(first))
	}
	if first[0]["marked"] = true; second[0]["marked"] != true {
		t.Error("the objects were decoded twice")
	}
	if err := load.InMemory(load.Text{Name: "c.yaml", Text: "{"}).Keep(); err == nil || !strings.HasPrefix(err.Error(), "c.yaml:1: ") {
		t.Errorf("error: %v", err)
	}
}
