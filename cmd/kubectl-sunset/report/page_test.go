// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/test/expect"
)

func written(t *testing.T, p *report.Page) string {
	t.Helper()
	var b strings.Builder
	expect.NoError(t, report.Write(&b, p))
	return b.String()
}

// tags matches the elements of a page, and their attributes.
var tags = regexp.MustCompile(`<([a-zA-Z0-9]+)([^>]*)>`)

// TestPageShowsHostileTextAsText: names, titles and cells that are HTML add no element and no attribute.
func TestPageShowsHostileTextAsText(t *testing.T) {
	const hostile = `"><img src=x onerror=alert(1)></title></style></script><script>alert(1)</script>` + "\x00\u202e'`{{.}}${1}"
	table := report.Table{
		Columns: []report.Column{{Title: hostile}, {Title: hostile, Number: true}, {Title: hostile, Action: true}},
		Len:     1, Row: func(int) []string { return []string{hostile, hostile, hostile} }, Colors: true,
	}
	links := []report.Link{{Name: hostile, Path: "javascript:alert(1)"}}
	text := written(t, &report.Page{Title: hostile, Links: links, Facts: []report.Fact{{Name: hostile, Value: hostile}}, Sections: []report.Section{
		{Title: hostile, Table: table, Chart: report.NewChart(hostile, []string{hostile}, []report.Days{{Name: hostile, Numbers: []int{1}}})},
	}})
	known := strings.Fields("html meta title link style body main nav a h1 dl dt dd section h2 svg rect text div table thead tr th tbody td i b script")
	for _, tag := range tags.FindAllStringSubmatch(text, -1) {
		attributes := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag[2], "")
		if !slices.Contains(known, tag[1]) || regexp.MustCompile(`\b(on\w+|style|src)\b`).MatchString(attributes) {
			t.Errorf("element %s", tag[0])
		}
	}
	if strings.Contains(text, "javascript:") {
		t.Error("the page has a link that is a script")
	}
	expect.Equal(t, "scripts", 1, strings.Count(text, "<script"))
	if n := strings.Count(html.UnescapeString(text), `onerror=alert(1)></title>`); n < 12 {
		t.Errorf("the text is shown %d times", n)
	}
}

// TestPageAllowsOnlyItsOwnScriptAndStyle: the browser runs the script only if the policy has its hash.
func TestPageAllowsOnlyItsOwnScriptAndStyle(t *testing.T) {
	text := written(t, &report.Page{Title: "t"})
	security := html.UnescapeString(regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)[1])
	if !strings.HasPrefix(security, "default-src 'none'; ") || strings.Contains(security, "unsafe") {
		t.Errorf("policy %s", security)
	}
	for _, element := range []string{"script", "style"} {
		content := regexp.MustCompile(`(?s)<` + element + `>(.*)</` + element + `>`).FindStringSubmatch(text)[1]
		sum := sha256.Sum256([]byte(content))
		if want := element + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(security, want) {
			t.Errorf("%s does not contain %s", security, want)
		}
	}
	if regexp.MustCompile(`https?://`).MatchString(text) {
		t.Error("the page has an address of a server")
	}
}

func TestPageLimitsTheRows(t *testing.T) {
	called := 0
	text := written(t, &report.Page{Sections: []report.Section{{Table: report.Table{
		Columns: []report.Column{{Title: "Name"}}, Len: 50_003, Row: func(int) []string { called++; return []string{"a"} },
	}}}})
	expect.Equal(t, "rows", 50_000, called)
	if !strings.Contains(text, "<p>3 more rows are not shown.") {
		t.Error("the page does not say that rows are missing")
	}
}

// TestChartStacksTheBars: the parts of a bar do not overlap, and groups after the fifth are one part.
func TestChartStacksTheBars(t *testing.T) {
	var groups []report.Days
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		groups = append(groups, report.Days{Name: name, Numbers: []int{10, 0}})
	}
	c := report.NewChart("label", []string{"now", "Mar 1"}, groups)
	expect.Equal(t, "parts", 6, len(c.Bars))
	for i, bar := range c.Bars {
		expect.Equal(t, "color", i, bar.Color)
		if i > 0 {
			expect.Equal(t, "lower end of "+bar.Title, c.Bars[i-1].Y, bar.Y+bar.Height)
		}
	}
	expect.Equal(t, "title", "now, 2 others: 20", c.Bars[5].Title)
	expect.Equal(t, "upper end", 0, c.Bars[5].Y)
	expect.Equal(t, "the largest number", "70", c.Marks[len(c.Marks)-2].Text)
}
