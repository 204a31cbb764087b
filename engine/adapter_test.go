// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/long"
)

// seedExpressions cover every JSON type and every library that works on lists and maps.
var seedExpressions = []string{
	"object.status.conditions.exists(c, c.type == 'a' && c.status == 'True')",
	"object.status.conditions.filter(c, c.status == 'True')[0].type",
	"object.status.conditions.map(c, c.type).join(',')",
	"object.metadata.labels == {'a': 'b'} || object.metadata.labels != {}",
	"object.metadata.?labels[?'a'].orValue('')",
	"object.metadata.labels.all(k, v, k != v)",
	"object.metadata.labels.transformMap(k, v, v + k)",
	"'a' in object.metadata.labels && 'x' in [object.status.phase]",
	"size(object.status.conditions) + size(object.metadata)",
	"object.status.conditions + object.status.conditions == object.status.conditions",
	"object.status.conditions[-1]",
	"object.status.conditions['a']",
	"object.metadata[1]",
	"object == object && object.status in [object.status]",
	"type(object.metadata) == map && type(object.status.conditions) == list",
	"optional.ofNonZeroValue(object.metadata).hasValue()",
	"sets.contains(object.status.conditions, [])",
	"object.status.conditions.sortBy(c, c.type).distinct()",
	"object.status.conditions.last().?type",
	"string(object.metadata)",
	"'%s %d %s'.format([object.metadata, 1, object.status.conditions])",
	"object.status.conditions.flatten()",
	"object.status.conditions.slice(0, 1)",
	"math.greatest([1, 2])",
	"cel.bind(m, object.metadata, m.?labels.?a.orValue('z'))",
}

// ours reports whether an expression calls our functions, which accept only the values of our adapter.
func ours(text string) bool {
	for _, f := range engine.Functions {
		if strings.Contains(text, f.Name+"(") {
			return true
		}
	}
	return false
}

// TestAdapterAgrees evaluates random expressions with our adapter and with cel-go's.
func TestAdapterAgrees(t *testing.T) {
	c := fixture.Compiler(t)
	for seed := range uint64(long.Cases(2000)) {
		r := &random{Rand: rand.New(rand.NewPCG(seed, 2))}
		text := r.expression(1 + r.IntN(3))
		if int(seed) < len(seedExpressions) {
			text = seedExpressions[seed]
		}
		e, ok := c.Expression(text)
		if !ok || ours(text) {
			continue
		}
		for range 4 {
			compareAdapters(t, text, e, r.object(4))
		}
	}
}

func compareAdapters(t *testing.T, text string, e *engine.Expression, object map[string]any) {
	t.Helper()
	v1, err1 := e.Value(object)
	v2, err2 := e.CommonValue(object)
	if !same(v1, err1, v2, err2) && stable(e.CommonValue, object) {
		t.Fatalf("%s\nobject   %v\nours     %v, %v\ncel-go's %v, %v", text, object, v1, err1, v2, err2)
	}
}

func FuzzAdapter(f *testing.F) {
	for _, text := range seedExpressions {
		f.Add(text, `{"status":{"conditions":[{"type":"a","status":"True"},{}],"phase":"x"},"metadata":{"labels":{"a":"b"}}}`)
	}
	c := fixture.Compiler(f)
	f.Fuzz(func(t *testing.T, text, data string) {
		e, ok := c.Expression(text)
		var object map[string]any
		if !ok || ours(text) || utiljson.Unmarshal([]byte(data), &object) != nil {
			t.Skip()
		}
		v1, err1 := e.Value(object)
		v2, err2 := e.CommonValue(object)
		if !same(v1, err1, v2, err2) && stable(e.CommonValue, object) {
			t.Errorf("%s\nobject   %v\nours     %v, %v\ncel-go's %v, %v", text, object, v1, err1, v2, err2)
		}
	})
}
