// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/long"
)

func TestFields(t *testing.T) {
	tests := map[string]struct {
		expression string
		want       []string
	}{
		"a constant reads nothing":                              {"true", nil},
		"the object as a whole is everything":                   {"object == object", []string{"*"}},
		"a field":                                               {"object.status.phase == 'x'", []string{"status.phase"}},
		"a key is written in brackets":                          {"object.metadata.?labels[?'a/b'].orValue('') == ''", []string{"metadata.labels['a/b']"}},
		"presence reads the field":                              {"has(object.status.conditions)", []string{"status.conditions"}},
		"a loop reads the fields that it uses":                  {"object.status.conditions.exists(c, c.type == 'a' && c.status == 'True')", []string{"status.conditions.*.status", "status.conditions.*.type"}},
		"a filter reads the fields of its result that are used": {"object.status.conditions.filter(c, c.type == 'a')[0].reason == 'x'", []string{"status.conditions.*.reason", "status.conditions.*.type"}},
		"keys of a map":                                         {"object.metadata.labels.exists(k, k == 'a')", []string{"metadata.labels.*"}},
		"a bound value":                                         {"cel.bind(m, object.metadata, m.name == 'a' && m.namespace == 'b')", []string{"metadata.name", "metadata.namespace"}},
		"both branches":                                         {"(object.a ? object.b : object.c).d == 1", []string{"a", "b.d", "c.d"}},
		"an unknown index reads every element":                  {"object.a[object.b] == 1", []string{"a.*", "b"}},
		"an unknown index into the object":                      {"object[object.a].b == 1", []string{"*.b", "a"}},
		"size reads the whole list":                             {"size(object.a) > 0", []string{"a"}},
		"the first element":                                     {"object.a.first().?b == optional.of(1)", []string{"a.*.b"}},
		"finished reads kind and status":                        {"finished(object)", []string{"apiVersion", "kind", "status"}},
		"finished of a part":                                    {"finished(object.spec.inner)", []string{"spec.inner.apiVersion", "spec.inner.kind", "spec.inner.status"}},
		"condition reads conditions":                            {"condition(object, 'Ready')", []string{"status.conditions"}},
		"controllerOf reads owners":                             {"controllerOf(object).hasValue()", []string{"metadata.ownerReferences"}},
		"days reads its argument":                               {"days(int(object.a))", []string{"a"}},
		"a value that is not zero is read":                      {"optional.ofNonZeroValue(object.a).hasValue()", []string{"a"}},
		"a global name behind a loop variable":                  {"[1].exists(x, .object.a == x)", []string{"a"}},
		"an object as an argument is read as a whole":           {"string(object) == ''", []string{"*"}},
	}
	c := fixture.Compiler(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e, ok := c.Expression(tc.expression)
			if !ok {
				t.Fatal("does not compile")
			}
			expect.Equal(t, "fields", tc.want, e.Fields())
		})
	}
}

// same compares two results. Any two errors are equal.
func same(v1 ref.Val, err1 error, v2 ref.Val, err2 error) bool {
	if err1 != nil || err2 != nil {
		return (err1 != nil) == (err2 != nil)
	}
	return types.Equal(v1, v2) == types.True || types.Format(v1) == types.Format(v2)
}

// stable reports whether an evaluation always returns the same result. Loops over a map that the expression builds do
// not: cel-go does not keep an order there.
func stable(evaluate func(map[string]any) (ref.Val, error), object map[string]any) bool {
	first, err := evaluate(object)
	for range 300 {
		if again, errAgain := evaluate(object); !same(first, err, again, errAgain) {
			return false
		}
	}
	return true
}

// TestFieldsAreEnough evaluates random expressions on random objects, and on copies with only the fields that the
// expressions read.
func TestFieldsAreEnough(t *testing.T) {
	c := fixture.Compiler(t)
	cases, compiled, errors := long.Cases(2500), 0, 0
	for seed := range uint64(cases) {
		r := &random{Rand: rand.New(rand.NewPCG(seed, 1))}
		text := r.expression(1 + r.IntN(3))
		e, ok := c.Expression(text)
		if !ok {
			continue
		}
		compiled++
		for range 4 {
			whole := r.object(4)
			v1, err1 := e.Value(whole)
			v2, err2 := e.Value(e.Part(whole))
			if err1 != nil {
				errors++
			}
			if !same(v1, err1, v2, err2) && stable(e.Value, whole) {
				t.Fatalf("%s\nreads %v\nobject %v\nreturns %v, %v\non its part %v\nreturns %v, %v", text, e.Fields(), whole, v1, err1, e.Part(whole), v2, err2)
			}
		}
	}
	t.Logf("%d expressions compiled; %d of %d evaluations failed", compiled, errors, compiled*4)
	if compiled < cases*32/100 {
		t.Errorf("only %d expressions compiled", compiled)
	}
}

func FuzzFields(f *testing.F) {
	for _, text := range seedExpressions {
		f.Add(text, `{"status":{"conditions":[{"type":"a","status":"True"}],"phase":"x"},"metadata":{"labels":{"a":"b"}}}`)
	}
	c := fixture.Compiler(f)
	f.Fuzz(func(t *testing.T, text, data string) {
		e, ok := c.Expression(text)
		var whole map[string]any
		if !ok || utiljson.Unmarshal([]byte(data), &whole) != nil {
			t.Skip()
		}
		v1, err1 := e.Value(whole)
		v2, err2 := e.Value(e.Part(whole))
		if !same(v1, err1, v2, err2) && stable(e.Value, whole) {
			t.Errorf("%s\nreads %v\nobject %v\nreturns %v, %v\non its part\nreturns %v, %v", text, e.Fields(), whole, v1, err1, v2, err2)
		}
	})
}
