// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// openReport opens the page that kubectl sunset preview -o html writes about some samples. One object has an error.
func openReport(t *testing.T) *tab {
	t.Helper()
	args := []string{"preview", "--at=2026-03-02T12:00:00Z", "-o=html"}
	for _, name := range []string{"finished-jobs", "finished-pods", "windows", "keep-newest", "unused-configmaps"} {
		args = append(args, "-f="+filepath.Join(samplesDir, name))
	}
	var page bytes.Buffer
	if code := command.Run(t.Context(), args, genericiooptions.IOStreams{Out: &page, ErrOut: t.Output()}, time.Time{}); code == command.ExitError {
		t.Fatalf("kubectl sunset preview ends with %d", code)
	}
	file := filepath.Join(t.TempDir(), "preview.html")
	expect.NoError(t, os.WriteFile(file, page.Bytes(), 0o644))
	b := openBrowser(t)
	expect.NoError(t, chromedp.Do(b.ctx, chromedp.Navigate("file://"+file)))
	return b
}

func TestReportIsAccessible(t *testing.T) {
	b := openReport(t)
	for name, look := range looks {
		b.look(look.scheme, look.width, look.height)
		b.checkLook("report-" + name)
	}
	if got := value[string](b, `getComputedStyle(document.querySelector("section")).borderTopStyle`); got != "solid" {
		t.Errorf("the browser does not apply the style: the border is %q", got)
	}
}

// TestReportSortsAndFilters uses the table of objects.
func TestReportSortsAndFilters(t *testing.T) {
	b := openReport(t)
	b.run(`void (window.objects = Array.from(document.querySelectorAll("section")).find((s) => s.querySelector("h2").textContent === "Objects"))`)
	column := func() []string {
		return value[[]string](b, `Array.from(objects.querySelectorAll("tbody tr:not([hidden])"), (row) => row.cells[2].textContent)`)
	}
	all := column()
	if len(all) < 20 {
		t.Fatalf("%d rows", len(all))
	}
	sort := func() { b.run(`objects.querySelectorAll("th button")[2].click()`) }
	sort()
	ascending := column()
	sort()
	descending := column()
	slices.Reverse(descending)
	expect.Equal(t, "first name", ascending[0], descending[0])
	if slices.Equal(all, ascending) {
		t.Error("the rows are not sorted")
	}
	b.run(`(() => { const input = objects.querySelector("input"); input.value = "pod expired"; input.dispatchEvent(new Event("input")); })()`)
	if some := column(); len(some) == 0 || len(some) == len(all) {
		t.Errorf("the filter shows %d of %d rows", len(some), len(all))
	}
}
