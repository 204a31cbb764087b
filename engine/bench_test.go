// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// BenchmarkFacts measures the hot path: the evaluation of one rule on one finished Job.
func BenchmarkFacts(b *testing.B) {
	rules := map[string]struct{ eligible, startTime string }{
		"functions": {"finished(object)", "finishedAt(object)"},
		"fields":    {"object.status.succeeded > 0", "object.status.completionTime"},
		"loops": {
			"object.status.conditions.exists(c, c.type in ['Complete','Failed'] && c.status == 'True')",
			"timestamp(object.status.conditions.filter(c, c.type in ['Complete','Failed'] && c.status=='True')[0].lastTransitionTime)",
		},
		"not eligible": {"object.status.succeeded > 1", "finishedAt(object)"},
		"an error":     {"object.status.nothing", "finishedAt(object)"},
	}
	job := object(b, "job-complete")
	c := fixture.Compiler(b)
	for name, expressions := range rules {
		r := rule()
		r.Eligible, r.StartTime = expressions.eligible, expressions.startTime
		benchmarkFacts(b, name, c, r, job)
	}
	b.Run("one-off", func(b *testing.B) {
		compiled := mustCompile(b, c, rule())
		b.ReportAllocs()
		for b.Loop() {
			compiled.Facts(b.Context(), job)
		}
	})
}

// benchmarkFacts evaluates one rule on one object.
func benchmarkFacts(b *testing.B, name string, c *engine.Compiler, r v1alpha1.Rule, object map[string]any) {
	b.Helper()
	compiled := mustCompile(b, c, r)
	b.Run(name, func(b *testing.B) {
		e := c.NewEvaluator(b.Context())
		defer e.Close()
		b.ReportAllocs()
		for b.Loop() {
			e.Facts(compiled, object)
		}
	})
}

func BenchmarkSubjectOf(b *testing.B) {
	job := object(b, "job-complete")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engine.SubjectOf(job); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile compiles a rule whose expressions are not in the cache.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		c := fixture.Compiler(b)
		mustCompile(b, c, rule())
	}
}

func BenchmarkCompileAgain(b *testing.B) {
	c := fixture.Compiler(b)
	b.ReportAllocs()
	for b.Loop() {
		mustCompile(b, c, rule())
	}
}

func BenchmarkCheck(b *testing.B) {
	s, err := openapi.SchemaOf(openAPI(b), jobKind)
	expect.NoError(b, err)
	compiled := mustCompile(b, fixture.Compiler(b), rule())
	for b.Loop() {
		compiled.Check(s)
	}
}

// BenchmarkGuarded measures the cost of counting what expressions build.
func BenchmarkGuarded(b *testing.B) {
	c := fixture.Compiler(b)
	job := object(b, "job-complete")
	for name, text := range map[string]string{
		"sum":     "object.metadata.name + '/' == object.kind",
		"in":      "'x' in object.metadata.labels",
		"equal":   "object.metadata.name == object.kind",
		"matches": "object.metadata.name.matches('^rep')",
		"loop":    "object.status.conditions.all(c, c.type + 'x' != object.kind)",
		"time":    "timestamp(object.status.completionTime) > timestamp(0)",
	} {
		r := rule()
		r.Eligible = text + " && false"
		benchmarkFacts(b, name, c, r, job)
	}
}
