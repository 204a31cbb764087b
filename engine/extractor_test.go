// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// extract returns the references of an object.
func extract(t *testing.T, names string, lenient bool, object map[string]any) ([]engine.Reference, error) {
	t.Helper()
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Minute}) // the machine may be busy
	x, problems := c.Extractor(names, "names")
	if x == nil {
		t.Fatal(problems)
	}
	if lenient {
		x = x.Lenient()
	}
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	return e.References(x, object)
}

// TestExtractorRejectsInvalidNames: an invalid name is an error, because the author may have meant another part of the string. In
// built-in fields of Kubernetes it is ignored.
func TestExtractorRejectsInvalidNames(t *testing.T) {
	long := strings.Repeat("a", 254)
	for names, want := range map[string]struct {
		fails    string
		found    []engine.Reference
		anywhere bool // it is an error in built-in fields too
	}{
		"['a', 'b.example']":                           {found: []engine.Reference{{Name: "a"}, {Name: "b.example"}}},
		"['']":                                         {},
		"[{'name': ''}]":                               {},
		"[{'name': null}]":                             {},
		"[{'name': '', 'namespace': 'No Such'}]":       {},
		"[{'name': 'a', 'namespace': ''}]":             {found: []engine.Reference{{Name: "a"}}},
		"[{'name': dyn('a'), 'namespace': dyn(null)}]": {found: []engine.Reference{{Name: "a"}}},
		"[{}]":                                {fails: "element 0: a map has no key name", anywhere: true},
		"[dyn('b'), dyn({'namespace': 'a'})]": {fails: "element 1: a map has no key name", anywhere: true},
		"[{'Name': 'a'}]":                     {fails: "a map has no key name", anywhere: true},
		"[{?'name': object.?spec.name}]":      {fails: "a map has no key name", anywhere: true},
		"[7]":                                 {fails: "int", anywhere: true},
		"['shop/db']":                         {fails: `no object can have the name "shop/db"`},
		"['b', 'A']":                          {fails: `element 1: no object can have the name "A"`, found: []engine.Reference{{Name: "b"}}},
		"[' a']":                              {fails: `no object can have the name " a"`},
		"['a\\n']":                            {fails: `no object can have the name "a\n"`},
		"['" + long + "']":                    {fails: "no object can have the name"},
		"[{'name': 'a', 'namespace': 'x.y'}]": {fails: `no namespace can have the name "x.y"`},
		"[{'name': 'a', 'namespace': '${a}'}, {'name': 'b', 'namespace': 'c'}]": {
			fails: `no namespace can have the name "${a}"`, found: []engine.Reference{{Namespace: "c", Name: "b"}}},
	} {
		t.Run(names, func(t *testing.T) {
			got, err := extract(t, names, false, map[string]any{})
			if want.fails == "" && err != nil || want.fails != "" && (err == nil || !strings.Contains(err.Error(), want.fails)) {
				t.Errorf("declared: %v, %v; want error %q", got, err, want.fails)
			}
			if diff := cmp.Diff(len(want.found), len(got)); want.fails == "" && diff != "" {
				t.Errorf("declared: %v, want %v", got, want.found)
			}
			got, err = extract(t, names, true, map[string]any{})
			if (err != nil) != want.anywhere || len(got) != len(want.found) || len(got) > 0 && !cmp.Equal(got, want.found) {
				t.Errorf("lenient: %v, %v; want %v", got, err, want.found)
			}
		})
	}
}

// TestExtractorLimitsDeclaredReferences: a declared Extractor has a limit. A lenient one has none, so that a single large object does
// not make the references to all objects unknown.
func TestExtractorLimitsDeclaredReferences(t *testing.T) {
	for of, names := range map[string]string{
		"a PodSpec": "configMapsIn(object.spec)",
		"a list":    "object.spec.volumes.map(v, v.configMap.name)",
	} {
		for _, n := range []int{engine.MaxReferences, engine.MaxReferences + 1, 20_000} {
			var volumes []any
			for i := range n {
				volumes = append(volumes, map[string]any{"configMap": map[string]any{"name": fmt.Sprintf("a-%d", i)}})
			}
			object := map[string]any{"spec": map[string]any{"volumes": volumes}}
			if got, err := extract(t, names, false, object); (err != nil) != (n > engine.MaxReferences) {
				t.Errorf("%s, declared: %d of %d, %v", of, len(got), n, err)
			}
			if got, err := extract(t, names, true, object); err != nil || len(got) != n {
				t.Errorf("%s, lenient: %d of %d, %v", of, len(got), n, err)
			}
		}
	}
}
