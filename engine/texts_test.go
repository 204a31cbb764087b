// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/memory"
)

// TestEvaluatorKeepsNoLongTexts: a user who may change one object can change it all day, with names of a megabyte.
func TestEvaluatorKeepsNoLongTexts(t *testing.T) {
	const changes, most = 200, 32 << 20
	c := fixture.Compiler(t)
	x, problems := c.Extractor("[object.spec.secretName]", "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	before := int64(memory.Heap())
	for i := range changes {
		name := fmt.Sprint(strings.Repeat("x", 1<<20), i)
		object := map[string]any{"spec": map[string]any{"secretName": name}}
		if _, err := e.References(x, object); err == nil {
			t.Fatal("an invalid name is accepted")
		}
		if found, err := e.References(x.Lenient(), object); err != nil || len(found) > 0 {
			t.Fatal(found, err)
		}
	}
	if grown := int64(memory.Heap()) - before; grown > most {
		t.Errorf("%d MiB stay in memory", grown>>20)
	}
	runtime.KeepAlive(e)
}
