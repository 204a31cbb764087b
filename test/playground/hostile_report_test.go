// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/test/expect"
)

// hostileHTML runs a script in a page that shows it as HTML.
const hostileHTML = `"><img src=x onerror=hacked=1></td></title></style></script><script>hacked=1</script>`

// isNotHacked checks that a report shows hostile text as text, also after it was sorted and filtered.
func (b *tab) isNotHacked(times int) {
	b.t.Helper()
	b.run(`document.querySelectorAll("th button").forEach((button) => button.click())`)
	b.run(`document.querySelectorAll("input[type=search]").forEach((input) => { input.value = "<img"; input.dispatchEvent(new Event("input")); })`)
	b.run(`new Promise((done) => setTimeout(done, 100))`) // an image would have failed by then
	expect.Equal(b.t, "hacked, images, scripts and links to scripts", "undefined,0,1,0",
		value[string](b, `String([typeof hacked, document.images.length, document.scripts.length, document.querySelectorAll("a[href^=javascript]").length])`))
	if got := value[int](b, `document.body.textContent.split("onerror=hacked=1").length - 1`); got < times {
		b.t.Errorf("the page shows the text %d times", got)
	}
}

// TestReportsShowHostileInputAsText: names, namespaces, kinds and messages are HTML.
func TestReportsShowHostileInputAsText(t *testing.T) {
	html := quote(hostileHTML)
	policy := "apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: " + html + "}\nspec:\n  rules:\n" +
		"  - {name: " + html + ", target: {apiVersion: v1, kind: Pod}, eligible: " + quote(`object.metadata.name != 'b' || [][0] == 1`) + ", startTime: object.metadata.creationTimestamp, ttl: 1h}\n"
	object := func(kind, name string) string {
		return "---\napiVersion: v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: " + html + ", creationTimestamp: 2026-01-01T00:00:00Z}\n"
	}
	var objects strings.Builder
	for i := range 10 { // so that there is a filter
		for _, kind := range []string{"Pod", "ConfigMap", "Service"} {
			objects.WriteString(object(kind, quote(fmt.Sprintf("%s %d", hostileHTML, i))))
		}
	}
	file := filepath.Join(t.TempDir(), "objects.yaml")
	expect.NoError(t, os.WriteFile(file, []byte(policy+objects.String()+object("Pod", "b")), 0o644))
	for _, args := range someReports(unusedInSamples) {
		t.Run(args[0], func(t *testing.T) { openReport(t, args[0], "-f="+file).isNotHacked(20) })
	}
}

// TestReportShowsFiftyThousandRows is about the largest table that a page shows.
func TestReportShowsFiftyThousandRows(t *testing.T) {
	onlyLong(t)
	const most = 60_000 // milliseconds; other tests may run at the same time
	var text bytes.Buffer
	expect.NoError(t, report.Write(&text, &report.Page{Title: "Many objects", Sections: []report.Section{{Title: "Objects", Table: report.Table{
		Columns: report.Columns("Namespace", "Kind", "Name", ">Size"), Len: 50_001,
		Row: func(i int) []string {
			return []string{fmt.Sprintf("team-%d", i%40), "Job", fmt.Sprintf("%s %d", hostileHTML, i), fmt.Sprintf("%dMB", i*7919%50_000)}
		},
	}}}}))
	b := openBrowser(t)
	b.look("light", 1440, 900)
	b.show(saved(t, text.Bytes()))
	took := map[string]float64{"opened": value[float64](b, `performance.now()`)}
	for what, act := range map[string]string{
		"sorted":   `document.querySelectorAll("th button")[3].click()`,
		"filtered": `(() => { const input = document.querySelector("input"); input.value = "team-7 9"; input.dispatchEvent(new Event("input")); })()`,
	} {
		took[what] = value[float64](b, `new Promise((done) => { const from = performance.now(); `+act+`; requestAnimationFrame(() => setTimeout(() => done(performance.now() - from))); })`)
	}
	for what, ms := range took {
		t.Logf("%d bytes with 50,000 rows are %s after %.0f ms", text.Len(), what, ms)
		if ms > most {
			t.Errorf("it takes %.0f ms until the rows are %s, more than %d", ms, what, most)
		}
	}
	rows := value[int](b, `document.querySelectorAll("tbody tr").length`)
	expect.Equal(t, "rows", 50_000, rows)
	if got := value[string](b, `document.querySelector("section p").textContent`); !strings.HasPrefix(got, "1 more rows are not shown.") {
		t.Errorf("the page says %q", got)
	}
	b.shoot("report-many-rows", window)
	b.isNotHacked(50_000)
}
