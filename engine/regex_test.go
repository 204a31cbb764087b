// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/memory"
)

// TestRegularExpressionsAreCompiledOnce measures the allocations of evaluations: they must be less than one percent of
// the allocations for compiling the regular expression.
func TestRegularExpressionsAreCompiledOnce(t *testing.T) {
	const compiling, evaluations = 200_000, 100 // bytes; compiling allocates at least this
	pattern := v1alpha1.Variable{Name: "pattern", Expression: "'(abc|x[0-9]){900}'"}
	for name, eligible := range map[string]string{
		"a literal":  "object.metadata.name.matches('(abc|x[0-9]){900}')",
		"a variable": "object.metadata.name.matches(variables.pattern)",
		"in a loop":  "['a', 'b'].exists(x, x.matches('(abc|x[0-9]){900}'))",
		"find":       "object.metadata.name.find('(abc|x[0-9]){900}') != ''",
		"the same regular expression of the object": "object.metadata.name.matches(object.metadata.labels.pattern)",
	} {
		t.Run(name, func(t *testing.T) {
			c := fixture.Compiler(t)
			r := rule()
			r.Eligible = eligible
			object := map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]any{"pattern": "(abc|x[0-9]){900}"}}}
			compiled := mustCompile(t, c, r, pattern)
			e := c.NewEvaluator(t.Context())
			defer e.Close()
			facts := func() {
				if f := e.Facts(compiled, object); f.Err != nil {
					t.Fatal(f.Err)
				}
			}
			facts()
			if got := memory.Allocated(func() {
				for range evaluations {
					facts()
				}
			}); got > evaluations*compiling/100 {
				t.Errorf("%d evaluations allocate %d bytes", evaluations, got)
			}
		})
	}
}
