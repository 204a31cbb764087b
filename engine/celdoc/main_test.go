// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestPageIsUpToDate fails if docs/reference/cel.md was not generated again.
func TestPageIsUpToDate(t *testing.T) {
	want, err := render()
	expect.NoError(t, err)
	got, err := os.ReadFile("../../docs/reference/cel.md")
	expect.NoError(t, err)
	expect.Equal(t, "run go generate ./engine", string(want), string(got))
}

// TestPageIsTrue compiles the rules and expressions on the page.
func TestPageIsTrue(t *testing.T) {
	c := fixture.Compiler(t)
	_, rest, _ := strings.Cut(page, "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	var written struct{ Rules []v1alpha1.Rule }
	if err := yaml.UnmarshalStrict([]byte(block), &written); err != nil || len(written.Rules) != 2 {
		t.Fatalf("%d rules: %v", len(written.Rules), err)
	}
	_, rest, _ = strings.Cut(page, "## Fields that may be absent")
	table, _, _ := strings.Cut(rest, "## Sunset's functions")
	for _, match := range regexp.MustCompile("\\| `(.*)` \\|").FindAllStringSubmatch(table, -1) {
		r := written.Rules[0]
		r.Eligible = "type(" + match[1] + ") != null_type"
		written.Rules = append(written.Rules, r)
	}
	expect.Equal(t, "rules", 7, len(written.Rules))
	_, rest, _ = strings.Cut(page, "## References")
	table, _, _ = strings.Cut(rest, "## Images")
	for _, match := range regexp.MustCompile("\\| `([^`]*(?:references|targets|selected)\\.[^`]*)` \\|").FindAllStringSubmatch(table, -1) {
		r := written.Rules[1]
		if strings.Contains(match[1], "selected.") {
			r.Target.Kind = "Service"
		}
		r.Eligible = "type(" + match[1] + ") != null_type"
		written.Rules = append(written.Rules, r)
	}
	expect.Equal(t, "rules", 19, len(written.Rules))
	for _, r := range written.Rules {
		if _, problems := c.Rule(r, nil, "spec.rules[0]"); len(problems) > 0 {
			t.Errorf("%s: %v", r.Eligible, problems)
		}
	}
}
