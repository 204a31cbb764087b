// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestBytes(t *testing.T) {
	const notASize = " is not a size; write a number of bytes or a quantity such as 10Gi"
	for name, test := range map[string]struct {
		bytes string
		want  int64
		err   string
	}{
		"a number":                   {"dyn(1024)", 1024, ""},
		"a calculation":              {"size(object.metadata.name) * 10", 60, ""},
		"an unsigned number":         {"dyn(7u)", 7, ""},
		"a quantity":                 {"dyn('10Gi')", 10 << 30, ""},
		"a quantity with e":          {"dyn('10e9')", 10_000_000_000, ""},
		"a fraction is rounded up":   {"dyn('1500m')", 2, ""},
		"none":                       {"object.?status.?nothing", 0, ""},
		"an optional quantity":       {"optional.of('1k')", 1000, ""},
		"the largest number":         {"dyn(18446744073709551615u)", math.MaxInt64, ""},
		"a quantity above it":        {"dyn('1e19')", math.MaxInt64, ""},
		"a binary quantity above it": {"dyn('20Ei')", math.MaxInt64, ""},
		"negative":                   {"dyn(-1)", 0, "returned -1, but a size cannot be negative"},
		"a negative quantity":        {"dyn('-1Gi')", 0, `"-1Gi"` + notASize},
		"another text":               {"object.metadata.name", 0, `"report"` + notASize},
		"a large exponent":           {"dyn('1e99999')", 0, `"1e99999"` + notASize},
		"a small exponent":           {"dyn('1e-99999')", 0, `"1e-99999"` + notASize},
		"many digits":                {"dyn('" + strings.Repeat("1", 33) + "')", 0, `"` + strings.Repeat("1", 33) + `"` + notASize},
		"another type":               {"dyn(true)", 0, "returned bool, must return int, string or optional"},
		"null":                       {"dyn(null)", 0, "returned null, must return int, string or optional"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rule()
			r.Bytes = test.bytes
			got := factsOf(t, r, object(t, "job-complete"))
			if test.err != "" {
				if got.Err == nil || got.Err.Error() != "bytes: "+test.err || got.Eligible {
					t.Errorf("got %+v, want the error %s", got, test.err)
				}
				return
			}
			expect.NoError(t, got.Err)
			expect.Equal(t, "size", policy.Size{Bytes: test.want}, got.Size)
		})
	}
	r := rule()
	r.Eligible, r.Bytes = "false", "object.nothing"
	expect.Equal(t, "facts of an object that is not eligible", policy.Facts{Selected: true}, factsOf(t, r, object(t, "job-complete")))
	r.Eligible, r.Bytes = "true", "finished(object)"
	if _, problems := fixture.Compiler(t).Rule(r, nil, "spec.rules[0]"); len(problems) != 1 || problems[0].Path != "spec.rules[0].bytes" {
		t.Errorf("a condition as size has the problems %v", problems)
	}
}

// TestBytesOfVolumes: without an expression, the size of a claim or volume is its capacity.
func TestBytesOfVolumes(t *testing.T) {
	capacity := map[string]any{"capacity": map[string]any{"storage": "10Gi"}}
	fast := map[string]any{"storageClassName": "fast"}
	for name, test := range map[string]struct {
		kind         string
		bytes        string
		spec, status map[string]any
		want         policy.Size
	}{
		"a bound claim":       {"PersistentVolumeClaim", "", fast, capacity, policy.Size{Bytes: 10 << 30, Class: "fast"}},
		"a pending claim":     {"PersistentVolumeClaim", "", fast, map[string]any{"phase": "Pending"}, policy.Size{}},
		"a claim of no class": {"PersistentVolumeClaim", "", map[string]any{}, capacity, policy.Size{Bytes: 10 << 30}},
		"another expression":  {"PersistentVolumeClaim", "dyn(7)", fast, capacity, policy.Size{Bytes: 7, Class: "fast"}},
		"a volume":            {"PersistentVolume", "", map[string]any{"storageClassName": "fast", "capacity": capacity["capacity"]}, nil, policy.Size{Bytes: 10 << 30, Class: "fast"}},
		"another kind":        {"Pod", "", fast, capacity, policy.Size{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := v1alpha1.Rule{
				Name: "r", Target: v1alpha1.Target{APIVersion: "v1", Kind: test.kind}, StartTime: "object.metadata.creationTimestamp", TTL: "1d", Bytes: test.bytes,
			}
			got := factsOf(t, r, map[string]any{
				"apiVersion": "v1", "kind": test.kind, "metadata": map[string]any{"name": "x", "uid": "u", "creationTimestamp": "2026-03-01T12:00:00Z"},
				"spec": test.spec, "status": test.status,
			})
			expect.NoError(t, got.Err)
			expect.Equal(t, "size", test.want, got.Size)
		})
	}
	r := v1alpha1.Rule{Name: "r", Target: v1alpha1.Target{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, TTL: "1d"}
	for _, field := range []string{"spec.storageClassName", "status.capacity.storage"} {
		if reads := mustCompile(t, fixture.Compiler(t), r).Reads(); !slices.Contains(reads, field) {
			t.Errorf("the rule reads %v, and not %s", reads, field)
		}
	}
}

// TestMarkStaysIfBytesChanges: facts with another size are other facts, but the time to live does not start again.
func TestMarkStaysIfBytesChanges(t *testing.T) {
	without, _ := loaded(t, "u", markMode)
	with, program := loaded(t, "u", markMode, func(r *v1alpha1.Rule) { r.Bytes = "dyn(7)" })
	if without.Key == with.Key || without.Mark != with.Mark || program.Key() != with.Key {
		t.Errorf("keys %s and %s, marks %s and %s", without.Key, with.Key, without.Mark, with.Mark)
	}
}

// TestBytesIsBounded: the expression has the limits of all others.
func TestBytesIsBounded(t *testing.T) {
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: time.Hour})
	size := func(r v1alpha1.Rule) int { return c.Size(&policy.Policy{Rules: []*policy.Rule{{Spec: r}}}) }
	r := rule()
	without := size(r)
	r.Eligible = "lists.range(620).all(a, lists.range(100).all(b, a >= 0))" // two thirds of the steps
	r.Bytes = r.Eligible + " ? 1 : 0"
	if got := mustCompile(t, c, r).Facts(t.Context(), object(t, "job-complete")); got.Err == nil || !strings.HasPrefix(got.Err.Error(), "bytes: ") {
		t.Errorf("the loops of two expressions: %+v", got)
	}
	r = rule()
	r.Bytes = "object.spec.size"
	if with := size(r); with < without+len(r.Bytes) {
		t.Errorf("the policy has size %d without bytes, and %d with it", without, with)
	}
}
