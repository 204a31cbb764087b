// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variable is what a field at the top of the dashboard sets.
type variable struct {
	Name, Type, Definition, Regex, AllValue string
	Multi, IncludeAll                       bool
}

// TestPanelsFilterByPolicyAndNamespace: each query filters the metrics that have a policy by the fields at the top.
func TestPanelsFilterByPolicyAndNamespace(t *testing.T) {
	var page struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	read(t, "dashboard.json", &page)
	known, filtered := exported(t), 0
	selector := regexp.MustCompile(`\b(sunset_\w+)(\{[^}]*\})?`)
	for _, p := range page.Panels {
		for _, target := range p.Targets {
			for _, use := range selector.FindAllStringSubmatch(target.Expr, -1) {
				if !slices.Contains(known[use[1]], "policy") {
					continue
				}
				filtered++
				for _, matcher := range []string{`policy=~"$policy"`, `policy=~"$namespace.*"`} {
					if !strings.Contains(use[2], matcher) {
						t.Errorf("panel %s: %s lacks the matcher %s in %s", p.Title, use[1], matcher, target.Expr)
					}
				}
			}
		}
	}
	if filtered < 10 {
		t.Errorf("found only %d metrics with a policy", filtered)
	}
}

// TestVariables: the fields at the top select a data source, namespaces and policies.
func TestVariables(t *testing.T) {
	var page struct {
		Templating struct{ List []variable }
	}
	read(t, "dashboard.json", &page)
	byName := map[string]variable{}
	for _, v := range page.Templating.List {
		byName[v.Name] = v
	}
	if byName["datasource"].Type != "datasource" {
		t.Errorf("the data source is %+v", byName["datasource"])
	}
	for _, name := range []string{"namespace", "policy"} {
		// Without allValue, Grafana would replace All by a list of policies, which lacks those of an earlier time.
		if v := byName[name]; !v.Multi || !v.IncludeAll || v.AllValue != ".*" {
			t.Errorf("%s does not select several values, and All as .*: %+v", name, v)
		}
	}
	if of := byName["policy"].Definition; !strings.Contains(of, `policy=~"$namespace.*"`) {
		t.Errorf("the policies are not those of the namespaces: %s", of)
	}
	// Grafana's expressions have the syntax of JavaScript, which writes a slash as \/.
	namespace := regexp.MustCompile(strings.ReplaceAll(strings.Trim(byName["namespace"].Regex, "/"), `\/`, "/"))
	for policy, want := range map[string]string{"team-a/jobs": "team-a/", "batch": ""} {
		if match := namespace.FindStringSubmatch(policy); want == "" && match != nil || want != "" && match[namespace.SubexpIndex("value")] != want {
			t.Errorf("the namespace of policy %s is %q", policy, match)
		}
	}
}
