// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestCompiledOnce(t *testing.T) {
	c := fixture.Compiler(t)
	for i := range 3 {
		r := rule()
		r.Name, r.Target.Kind = fmt.Sprint(i), fmt.Sprint("Kind", i)
		mustCompile(t, c, r)
	}
	expect.Equal(t, "expressions compiled for one text each of eligible and startTime", 2, c.CompiledCount())
	r := rule()
	r.StartTime, r.TTLExpression = "object.x", "object.x"
	mustCompile(t, c, r)
	if n := c.CompiledCount(); n != 4 {
		t.Errorf("%d expressions: the same text in two fields is compiled twice", n)
	}
	r.Eligible = "nonsense"
	for range 3 {
		if _, problems := c.Rule(r, nil, "spec.rules[0]"); len(problems) != 1 {
			t.Error(problems)
		}
	}
	if n := c.CompiledCount(); n != 5 {
		t.Errorf("%d expressions: a failure is cached once", n)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := fixture.CompilerWith(t, engine.Options{CacheSize: 16 << 10})
	first := mustCompile(t, c, rule())
	for i := range 10 {
		r := rule()
		r.Eligible = fmt.Sprintf("object.a == %d", i)
		mustCompile(t, c, r)
	}
	if n := c.CompiledCount(); n < 2 || n > 8 {
		t.Errorf("%d expressions of at least 1 kB each are cached", n)
	}
	if got := first.Facts(t.Context(), object(t, "job-complete")); !got.Eligible || got.Err != nil {
		t.Errorf("a rule in use does not work after its eviction: %+v", got)
	}
	if _, err := engine.NewCompiler(engine.Options{CacheSize: -1}); err == nil {
		t.Error("a negative size is accepted")
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	c := fixture.Compiler(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			e := c.NewEvaluator(t.Context())
			defer e.Close()
			o := object(t, "job-complete")
			for j := range 50 {
				r := rule()
				r.Eligible = fmt.Sprintf("variables.done && object.status.conditions.exists(c, c.status == 'True') && %d >= 0", (i+j)%5)
				compiled, problems := c.Rule(r, []v1alpha1.Variable{{Name: "done", Expression: "finished(object)"}}, "spec.rules[0]")
				if len(problems) > 0 {
					t.Error(problems)
					return
				}
				if got := e.Facts(compiled, o); !got.Eligible {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzCompile: any text compiles, or has problems with a position in the text. The compiler never panics.
func FuzzCompile(f *testing.F) {
	for _, text := range seedExpressions {
		f.Add(text, "true")
	}
	for _, text := range []string{"", "variables.v", "variables.v.exists(x, variables.v)", "has(variables.v)", "now()", "duration('7d')", "\x00", "'\\", "{", "a\n.b", "has(object['a'])",
		"cel.bind(x, variables.v, x + variables.v)", "finished(", "🦄.x", "object.x.all(object, true)", "cel.@block([1], 2)", "`a`", "b'\\x'", "object.?a[?0]", strings.Repeat("!", 300), strings.Repeat("[", 300)} {
		f.Add(text, "object.a")
		f.Add("variables.v", text)
	}
	c := fixture.CompilerWith(f, engine.Options{CacheSize: 16 << 10})
	f.Fuzz(func(t *testing.T, text, variable string) {
		r := rule()
		r.Eligible, r.StartTime, r.TTLExpression = text, text, text
		compiled, problems := c.Rule(r, []v1alpha1.Variable{{Name: "v", Expression: variable}}, "spec.rules[0]")
		if (compiled == nil) != (len(problems) > 0) {
			t.Fatalf("rule %v, problems %v", compiled, problems)
		}
		for _, p := range problems {
			if p.Expression != "" && (p.Line < 1 || p.Column < 1) || p.Message == "" || strings.Contains(p.Message, "internal error") {
				t.Errorf("%+v", p)
			}
			p.Snippet()
		}
		if compiled != nil {
			compiled.Facts(t.Context(), map[string]any{"a": "b"})
		}
	})
}
