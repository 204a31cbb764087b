package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// exploding is a RetentionPolicy of 80 kB that would be 9 MB with its three variables written out in all of its expressions.
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

// TestWhatIsTooLargeIsNotCompiled counts allocations, which are the same on every machine.
func TestWhatIsTooLargeIsNotCompiled(t *testing.T) {
	c := newCompiler(t)
	p := exploding("team-a")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	programs, size := c.LoadWithin(p, engine.MaxNamespaceSize)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 10<<20 {
		t.Errorf("allocated %d bytes", allocated)
	}
	if size != 0 || len(programs) == 0 {
		t.Errorf("takes %d, with %d rules that select", size, len(programs))
	}
	for _, r := range p.Rules {
		if !r.Invalid() || programs[r.Key] == nil {
			t.Fatalf("%s is valid, or selects nothing to keep: %v", r.ID, r.Problems)
		}
	}
	said := p.Rules[0].Problems[0].String()
	for _, want := range []string{fmt.Sprint(engine.Size(p)), fmt.Sprint(engine.MaxNamespaceSize), "all RetentionPolicies of the namespace"} {
		if !strings.Contains(said, want) {
			t.Errorf("problem %q lacks %q", said, want)
		}
	}
}

// TestSize writes variables out: once where an expression uses one twice, and all where a comment may hide which it uses.
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
		"object.variables // no matter": 29 + 31,
	} {
		r := v1alpha1.Rule{Eligible: text}
		p := &policy.Policy{Variables: variables, Rules: []*policy.Rule{{Spec: r}}}
		if got := engine.Size(p) - 10 - 21; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	doubling := []v1alpha1.Variable{{Name: "v0", Expression: strings.Repeat("x", 10_000)}}
	for i := range 63 {
		all := make([]string, i+1)
		for k := range all {
			all[k] = fmt.Sprintf("variables.v%d", k)
		}
		doubling = append(doubling, v1alpha1.Variable{Name: fmt.Sprintf("v%d", i+1), Expression: strings.Join(all, " + ")})
	}
	if got := engine.Size(&policy.Policy{Variables: doubling}); got != 1<<40 {
		t.Errorf("what doubles 63 times has size %d", got)
	}
}

// TestRegularExpressionsTakeRoom although they are short to write.
func TestRegularExpressionsTakeRoom(t *testing.T) {
	p := &policy.Policy{Name: "p", Namespace: "team-a"}
	for i := range 3 {
		r := rule()
		r.Name, r.Eligible = fmt.Sprintf("r%d", i), fmt.Sprintf("object.metadata.name.matches('(x%d){900}')", i)
		p.Rules = append(p.Rules, &policy.Rule{Index: i, Spec: r})
	}
	newCompiler(t).Load(p)
	if p.Rules[0].Invalid() {
		t.Fatalf("few: %v", p.Rules[0].Problems)
	}
	for i := range 61 {
		r := p.Rules[i%3].Spec
		r.Eligible = fmt.Sprintf("object.metadata.name.matches('(x%d){900}')", i+100)
		p.Rules = append(p.Rules, &policy.Rule{Index: i + 3, Spec: r})
	}
	if _, size := newCompiler(t).LoadWithin(p, engine.MaxNamespaceSize); size != 0 || !p.Rules[0].Invalid() {
		t.Errorf("many: takes %d, %v", size, p.Rules[0].Problems)
	}
}
