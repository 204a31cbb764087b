// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestPageHasEveryPanel: docs/operations/dashboard.md explains each panel, and no others.
func TestPageHasEveryPanel(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations/dashboard.md")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Type, Title string }
	}
	read(t, "dashboard.json", &dashboard)
	var panels, rows []string
	for _, p := range dashboard.Panels {
		if p.Type == "row" {
			rows = append(rows, p.Title)
		} else {
			panels = append(panels, p.Title)
		}
	}
	expectSame(t, "rows", rows, first(text, `(?m)^\| ([A-Z][\w ]+) \|`))
	expectSame(t, "panels", panels, first(text, "`([A-Z][^`]+)`"))
}

// first returns the first group of each match.
func first(text []byte, pattern string) (all []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		all = append(all, string(match[1]))
	}
	return all
}

// expectSame compares names in any order.
func expectSame(t *testing.T, what string, want, got []string) {
	t.Helper()
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("docs/operations/dashboard.md lacks %q in its %s", name, what)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("the dashboard lacks %q in its %s", name, what)
		}
	}
}
