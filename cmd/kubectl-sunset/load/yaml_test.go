// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestAmbiguities(t *testing.T) {
	for text, want := range map[string][]load.Ambiguity{
		"# c\nkind: X\napiVersion: v1\nspec:\n  l:\n  - a: 1\n    a: 2\n": {{Path: "spec.l[0].a"}},
		`{"kind":"X","apiVersion":"v1","spec":{"a":1,"a":2}}`:             {{Path: "spec.a"}},
		"kind: X\napiVersion: v1\nspec:\n  a: !has(b)\n  c: !!str 1\n":    {{Path: "spec.a", Tag: "!has(b)"}},
		"kind: X\napiVersion: v1\nspec: {a: 1, b: [{a: 2}, {a: 3}]}\n":    nil,
	} {
		err := load.EachItem("f", strings.NewReader(text), func(item load.Item) error {
			expect.Equal(t, "ambiguities", want, item.Ambiguities())
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestLineOf(t *testing.T) {
	const text = "# c\n---\nkind: List\nitems:\n- kind: X\n  apiVersion: v1\n  spec:\n    a.b/c: 1\n    a: {d: 2}\n    l:\n    - x: |\n        one\n        two\n    - y: >\n        one\n        two\n    a: {e: 2}\n"
	for _, test := range []struct {
		path     string
		in, want int
	}{
		{"spec", 0, 7}, {"spec.a.b/c", 0, 8}, {"spec.a", 0, 17}, {"spec.a.d", 0, 17}, {"spec.a.e", 0, 17},
		{"spec.l[0].x", 0, 11}, {"spec.l[0].x", 2, 13}, {"spec.l[1].y", 2, 14}, {"spec.l[1].missing", 0, 14},
		{"spec.l[7].x", 0, 10}, {"spec.missing[0].x", 1, 7}, {"", 0, 5}, {"document", 0, 5},
	} {
		err := load.EachItem("f", strings.NewReader(text), func(item load.Item) error {
			if got := item.LineOf(test.path, test.in); got != test.want {
				t.Errorf("%s, line %d of the field: line %d, want %d", test.path, test.in, got, test.want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
