// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestProblemsNameMisplacedFieldsOnce: a misspelt or misplaced field is not also reported as missing.
func TestProblemsNameMisplacedFieldsOnce(t *testing.T) {
	const target = `"target": {"apiVersion": "batch/v1", "kind": "Job"}`
	const rest = `"eligible": "true", "startTime": "finishedAt(object)", "ttl": "1d"`
	for name, test := range map[string]struct {
		spec string
		want []string
	}{
		"fields one level up": {`"rules": [{"name": "a", ` + target + `}], ` + rest,
			[]string{"spec.eligible: eligible, startTime and ttl belong in rules[], not in spec (check the indentation)"}},
		"a rule without its list": {`"name": "a", ` + target + `, ` + rest,
			[]string{"spec.name: name, target, eligible, startTime and ttl belong in rules[], not in spec (check the indentation)"}},
		"a target without its level": {`"rules": [{"name": "a", "apiVersion": "batch/v1", "kind": "Job", ` + rest + `}]`,
			[]string{"spec.rules[0].apiVersion: apiVersion and kind belong in target, not in rules[0] (check the indentation)"}},
		"fields one level down": {`"rules": [{"name": "a", "eligible": "true", "target": {"apiVersion": "batch/v1", "kind": "Job", "ttl": "1d"}}]`,
			[]string{"spec.rules[0].target.ttl: ttl belongs in rules[], not in rules[0].target (check the indentation)"}},
		"a misspelt field": {`"rules": [{"name": "a", ` + target + `, "eligable": "true", "ttl": "1d"}]`,
			[]string{"spec.rules[0].eligable: unknown field (did you mean eligible?)"}},
		"a field misspelt in one rule, missing in the other": {
			`"rules": [{"name": "a", ` + target + `, "ttll": "1d"}, {"name": "b", ` + target + `}]`,
			[]string{"spec.rules[0].ttll: unknown field (did you mean ttl?)",
				`spec.rules[1].ttl: missing (write how long to keep the object after startTime, such as 7d, or "0s" to delete it at once)`}},
		"labels beside matchLabels": {`"namespaceSelector": {"app": "web", "example.com/tier": 3}, "rules": [{"name": "a", ` + target + `, ` + rest + `}]`,
			[]string{`spec.namespaceSelector.app: app and example.com/tier belong in matchLabels, not in namespaceSelector (write namespaceSelector: {matchLabels: {app: "web", example.com/tier: "3"}})`}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, `{"spec": {`+test.spec+`}}`).Load(policy.DefaultProtection())
			expect.Equal(t, "problems", test.want, policy.Lines(p.Problems))
			for i, r := range p.Rules {
				if !r.Invalid() {
					t.Errorf("rule %d is valid", i)
				}
			}
		})
	}
}

// TestMisplacedFieldExcusesNoOtherRule: a field in one element does not hide that other elements lack it.
func TestMisplacedFieldExcusesNoOtherRule(t *testing.T) {
	p := parse(t, `{"kind": "RetentionPolicy", "metadata": {"namespace": "n"}, "spec": {"rules": [
		{"name": "a", "target": {"apiVersion": "v1", "kind": "Pod"}, "eligible": "true", "ttl": "1d", "serviceAccountName": "x"},
		{"name": "b", "target": {"apiVersion": "v1", "kind": "Pod"}, "eligible": "true", "ttl": "1d"}]}}`).Load(policy.DefaultProtection())
	for i, r := range p.Rules {
		if !r.Invalid() {
			t.Errorf("rule %d is valid without a ServiceAccount", i)
		}
	}
}

// TestWildcards: a wildcard in a name is a problem, and all objects that it may mean are kept.
func TestWildcards(t *testing.T) {
	p := parse(t, `{"kind": "RetentionPolicy", "metadata": {"namespace": "n"}, "spec": {"overrides": [{"policy": "ci-*", "suspend": true}]}}`).
		Load(policy.DefaultProtection())
	if len(p.Problems) != 1 || p.Problems[0].Path != "spec.overrides[0].policy" {
		t.Errorf("problems %v", p.Problems)
	}
	if o := p.Overrides[0]; !o.Invalid || o.Policy != "" {
		t.Errorf("override %+v, want an invalid one for any policy", o)
	}
}

// TestManyLongUnknownFieldsAreCheap: the webhook parses a policy before it limits the work of a tenant. Unknown fields cost about as much
// as a text of the same size in a known field.
func TestManyLongUnknownFieldsAreCheap(t *testing.T) {
	const size, most = 1_400_000, 20
	fields := func(n int, part string) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, `%q: 1, `, fmt.Sprint(strings.Repeat(part, size/n/len(part)), i))
		}
		return all.String()
	}
	took := func(text string) time.Duration { return fastest(func() { parse(t, text) }) }
	known := took(`{"metadata": {"annotations": {"a": "` + strings.Repeat("a", size) + `"}}, "spec": {"rules": []}}`)
	for name, unknown := range map[string]string{
		"one long field": fields(1, "a"), "a hundred long fields": fields(100, "a"), "one field with dots": fields(1, "a."), "a hundred fields with dots": fields(100, "a."),
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{`{"spec": {` + unknown + `"rules": []}}`, `{"spec": {"rules": [{` + unknown + `"name": "a"}]}}`} {
				if d := parse(t, text); len(d.Problems) == 0 {
					t.Error("no problem")
				}
				until := time.Now().Add(30 * time.Second)
				best := took(text)
				for best > most*known && time.Now().Before(until) { // this machine may be busy
					best = min(best, took(text))
				}
				t.Logf("%s, a known field %s", best, known)
				if best > most*known {
					t.Errorf("took %s, and a known field of the same size %s", best, known)
				}
			}
		})
	}
}
