package load_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/test/expect"
)

// documents are edge cases in which YAML could change a number, a boolean or a time.
var documents = []string{
	"i: 1\nneg: -3\nbig: 9223372036854775807\nbigger: 18446744073709551615\nhuge: 123456789012345678901234567890",
	"f: 1.5\nwhole: 1.0\nexp: 1e3\nlarge: 1e30\noct: 0755\nhex: 0xff\nunder: 1_000",
	"yes: yes\nn: no\non: on\nt: true\nq: \"true\"\nnull1: null\nnull2: ~\nempty:",
	"1: a\n2.5: b\ntrue: c\n\"x\": d",
	"t: 2026-03-01T12:00:00Z\nd: 2026-03-01\nq: \"2026-03-01T12:00:00Z\"",
	"a: &x {k: v}\nb: *x\nc:\n  <<: *x\n  l: m",
	"s: |\n  text\n   more\nfold: >\n  a\n  b\nlist: [1, 2.0, three, [4]]",
	"bin: !!str 12\nsex: 190:20:30",
	"nested:\n- a: 1\n  b:\n  - c: 2\n- 3",
}

func TestYAMLDecodesAsEverywhereInKubernetes(t *testing.T) {
	for _, document := range documents {
		text := "apiVersion: v1\nkind: X\nmetadata: {name: x}\n" + document + "\n"
		asJSON, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		var want map[string]any
		expect.NoError(t, sigsjson.UnmarshalCaseSensitivePreserveInts(asJSON, &want))
		err = load.EachItem("f", strings.NewReader(text), func(item load.Item) error {
			got, err := item.Objects()
			if diff := cmp.Diff([]map[string]any{want}, got); diff != "" {
				t.Errorf("%s\n%s", document, diff)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
}

func TestAmbiguities(t *testing.T) {
	for text, want := range map[string][]load.Ambiguity{
		"# c\nkind: X\napiVersion: v1\nspec:\n  l:\n  - a: 1\n    a: 2\n": {{Path: "spec.l[0].a"}},
		`{"kind":"X","apiVersion":"v1","spec":{"a":1,"a":2}}`:             {{Path: "spec.a"}},
		"kind: X\napiVersion: v1\nspec:\n  a: !has(b)\n  c: !!str 1\n":    {{Path: "spec.a", Tag: "!has(b)"}},
		"kind: X\napiVersion: v1\nspec: {a: 1, b: [{a: 2}, {a: 3}]}\n":    nil,
	} {
		err := load.EachItem("f", strings.NewReader(text), func(item load.Item) error {
			if diff := cmp.Diff(want, item.Ambiguities()); diff != "" {
				t.Error(diff)
			}
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
