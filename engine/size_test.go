// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/memory"
)

// exploding is a RetentionPolicy of 80 kB that has 9 MB after its three variables are expanded in all of its
// expressions.
func exploding(namespace string) *policy.Policy {
	p := &policy.Policy{Name: "exploding", Namespace: namespace}
	long := strings.TrimSuffix(strings.Repeat("object.metadata.name == 'x' || ", 316), " || ")
	for i := range 3 {
		p.Variables = append(p.Variables, v1alpha1.Variable{Name: fmt.Sprintf("v%d", i), Expression: long})
	}
	for i := range 64 {
		r := rule()
		r.Name = fmt.Sprintf("r%d", i)
		r.Eligible = fmt.Sprintf("variables.v0 && variables.v1 && variables.v2 && size('%d') > 0", i)
		r.StartTime = fmt.Sprintf("variables.v0 && variables.v1 && variables.v2 && size('%d') > 0 ? object.metadata.creationTimestamp : ''", i)
		r.TTL, r.TTLExpression = "", fmt.Sprintf("variables.v0 && variables.v1 && variables.v2 && size('%d') > 0 ? '1h' : '2h'", i)
		p.Rules = append(p.Rules, &policy.Rule{ID: policy.RuleID{Policy: "exploding", Rule: r.Name}, Index: i, Spec: r})
	}
	return p
}

// TestTooLargeExpressionsAreNotCompiled counts allocations and compiled expressions, which are the same on every
// machine.
func TestTooLargeExpressionsAreNotCompiled(t *testing.T) {
	c := fixture.Compiler(t)
	p := exploding("team-a")
	var programs map[string]*engine.Program
	var size int
	allocated := memory.Allocated(func() { programs, size = c.LoadWithin(p, engine.MaxNamespaceSize) })
	if allocated > 10<<20 {
		t.Errorf("allocated %d bytes", allocated)
	}
	if n := c.CompiledCount(); n != 2 { // the two expressions of the program that replaces each rule, which only selects
		t.Errorf("%d expressions were compiled", n)
	}
	if size <= engine.MaxNamespaceSize || len(programs) == 0 {
		t.Errorf("size %d, with %d programs that select", size, len(programs))
	}
	for _, r := range p.Rules {
		if !r.Invalid() || programs[r.Key] == nil {
			t.Fatalf("%s is valid, or has no program that selects: %v", r.ID, r.Problems)
		}
	}
	said := p.Rules[0].Problems[0].String()
	for _, want := range []string{fmt.Sprint(c.Size(p)), fmt.Sprint(engine.MaxNamespaceSize), "all RetentionPolicies of the namespace"} {
		if !strings.Contains(said, want) {
			t.Errorf("problem %q lacks %q", said, want)
		}
	}
}

// TestCostOfCompilingIsBounded fills a namespace with the most expensive expressions and counts allocations, which
// are the same on every machine. The allocations of the type checker are nearly proportional to its time. Invalid
// expressions have the same limit.
func TestCostOfCompilingIsBounded(t *testing.T) {
	const most = 210 << 20
	for _, term := range []string{
		"1+1==2", "1 < 2 && 1==1", "math.greatest(1, 2, 3)==1", "(1==1 ? 1<2 : 1<2)", "string(1)==''", "{}=={}", "[1].all(x, x==1)", "quantity('1')==quantity('1')",
		"object.metadata.name == 'x'", "finished(object)", "object.a.matches('(x{9}|y)*')", "object.a.matches('x{900}')", "unknown", "variables.unknown", "variables.v",
	} {
		for _, length := range []int{300, 2000} {
			c := fixture.Compiler(t)
			filled := func(rules int) *policy.Policy {
				p := &policy.Policy{Name: "p", Namespace: "team-a", Variables: []v1alpha1.Variable{{Name: "v", Expression: "1+1==2"}}}
				for i := range rules {
					r := rule()
					r.Eligible = strings.Repeat(term+"||", length/(len(term)+2)) + fmt.Sprintf("%d > 0", i)
					p.Rules = append(p.Rules, &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: fmt.Sprint(i)}, Index: i, Spec: r})
				}
				return p
			}
			rules := engine.MaxNamespaceSize / c.Size(filled(1))
			allocated := memory.Allocated(func() { fixture.Compiler(t).Load(filled(rules)) })
			if allocated > most {
				t.Errorf("%d rules of %d characters of %s allocate %d MiB", rules, length, term, allocated>>20)
			}
		}
	}
}

// TestSize: an expression that uses a variable twice counts it once, and an expression with a comment, which may hide
// uses, counts all variables.
func TestSize(t *testing.T) {
	variables := []v1alpha1.Variable{{Name: "a", Expression: "1234567890"}, {Name: "b", Expression: "variables.a"}}
	for text, want := range map[string]int{
		"true":                          4,
		"variables.a":                   11 + 10,
		"variables.a == variables.a":    26 + 10,
		"variables . b":                 13 + 21,
		"variables.b == variables.a":    26 + 31,
		"variables // x":                14 + 31,
		"variables.none":                14,
		"object.variables // a comment": 29 + 31,
	} {
		r := v1alpha1.Rule{Eligible: text}
		p := &policy.Policy{Variables: variables, Rules: []*policy.Rule{{Spec: r}}}
		expect.Equal(t, text, want, fixture.Compiler(t).Size(p)-10-21)
	}
	doubling := []v1alpha1.Variable{{Name: "v0", Expression: strings.Repeat("x", 10_000)}}
	for i := range 63 {
		all := make([]string, i+1)
		for k := range all {
			all[k] = fmt.Sprintf("variables.v%d", k)
		}
		doubling = append(doubling, v1alpha1.Variable{Name: fmt.Sprintf("v%d", i+1), Expression: strings.Join(all, " + ")})
	}
	expect.Equal(t, "size after 63 doublings", 1<<40, fixture.Compiler(t).Size(&policy.Policy{Variables: doubling}))
}

// TestCallsCountTowardsTheSize: the square of the number of calls counts, because the type checker takes quadratic
// time.
func TestCallsCountTowardsTheSize(t *testing.T) {
	c := fixture.Compiler(t)
	size := func(eligible string, variables ...v1alpha1.Variable) int {
		return c.Size(&policy.Policy{Variables: variables, Rules: []*policy.Rule{{Spec: v1alpha1.Rule{Eligible: eligible}}}})
	}
	calls := strings.Repeat("!true && ", 80) + "true"
	v := v1alpha1.Variable{Name: "v", Expression: calls}
	if got, want := size(calls)-len(calls), 160*160/16; got != want {
		t.Errorf("160 calls have size %d, want %d", got, want)
	}
	const users = "variables.v && variables.v"
	if got, want := size(users, v)-size("true", v), len(users)-len("true")+len(calls)+161*161/16; got != want {
		t.Errorf("160 calls of a variable and one more have size %d, want %d", got, want)
	}
}

// TestRegularExpressionsCountTowardsTheSize: short repetitions count with their instructions.
func TestRegularExpressionsCountTowardsTheSize(t *testing.T) {
	p := &policy.Policy{Name: "p", Namespace: "team-a"}
	for i := range 3 {
		r := rule()
		r.Name, r.Eligible = fmt.Sprintf("r%d", i), fmt.Sprintf("object.metadata.name.matches('(x%d){900}')", i)
		p.Rules = append(p.Rules, &policy.Rule{Index: i, Spec: r})
	}
	c := fixture.Compiler(t)
	if c.Load(p); p.Rules[0].Invalid() {
		t.Fatalf("few regular expressions: %v", p.Rules[0].Problems)
	}
	for i := range 61 {
		r := p.Rules[i%3].Spec
		r.Eligible = fmt.Sprintf("object.metadata.name.matches('(x%d){900}')", i+100)
		p.Rules = append(p.Rules, &policy.Rule{Index: i + 3, Spec: r})
	}
	if _, size := c.LoadWithin(p, engine.MaxNamespaceSize); size <= engine.MaxNamespaceSize || !p.Rules[0].Invalid() {
		t.Errorf("many regular expressions: size %d, %v", size, p.Rules[0].Problems)
	}
}

// TestVariablesAreDeclaredOnceForAllRules: the size limits the cost of a policy, so many rules must not cost more than
// one rule that uses as much. The variables are too large for the cache.
func TestVariablesAreDeclaredOnceForAllRules(t *testing.T) {
	load := func(eligible string, rules int) uint64 {
		c := fixture.CompilerWith(t, engine.Options{CacheSize: 1 << 20})
		p := &policy.Policy{Name: "p", Namespace: "team-a"}
		for i := range 32 {
			p.Variables = append(p.Variables, v1alpha1.Variable{
				Name: fmt.Sprint("v", i), Expression: strings.Repeat("object.a.b.c.d == 'x' || ", 24) + fmt.Sprintf("%d > 0", i),
			})
		}
		for i := range rules {
			p.Rules = append(p.Rules, &policy.Rule{ID: policy.RuleID{Policy: "p", Rule: fmt.Sprint(i)}, Index: i, Spec: v1alpha1.Rule{
				Name: fmt.Sprint(i), Target: v1alpha1.Target{APIVersion: "v1", Kind: "ConfigMap"}, Eligible: eligible, StartTime: "object.metadata.creationTimestamp",
			}})
		}
		allocated := memory.Allocated(func() { c.Load(p) })
		if len(p.Problems) > 0 {
			t.Fatal(p.Problems)
		}
		return allocated
	}
	for _, eligible := range []string{"true", "references.count == 0"} {
		if one, many := load(eligible, 1), load(eligible, 64); many > 2*one {
			t.Errorf("%s: one rule allocates %d KiB, and 64 allocate %d KiB", eligible, one>>10, many>>10)
		}
	}
}
