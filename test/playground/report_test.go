// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// previewOfSamples and unusedInSamples are commands that write pages. One object of the preview has an error, and there are prices.
var (
	previewOfSamples = append([]string{"preview"}, samplesAsFlags("finished-jobs", "finished-pods", "windows", "keep-newest", "unused-configmaps")...)
	unusedInSamples  = append([]string{"unused", "--prices=PersistentVolumeClaim=0.08,PersistentVolume=0.08", "--currency=EUR"}, samplesAsFlags("unused/network/objects.yaml", "unused/access/objects.yaml", "unused/volumes/objects.yaml")...)
)

func samplesAsFlags(names ...string) (flags []string) {
	for _, name := range names {
		flags = append(flags, "-f="+filepath.Join(samplesDir, name))
	}
	return flags
}

// openReport opens the page that a command writes.
func openReport(t *testing.T, args ...string) *tab {
	t.Helper()
	var page bytes.Buffer
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if code := command.Run(t.Context(), slices.Concat(args, []string{"-o=html"}), genericiooptions.IOStreams{Out: &page, ErrOut: t.Output()}, at); code == command.ExitError {
		t.Fatalf("kubectl sunset %s ends with %d", args[0], code)
	}
	b := openBrowser(t)
	b.show(saved(t, page.Bytes()))
	return b
}

// saved writes a page to a file, and returns its URL.
func saved(t *testing.T, page []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	expect.NoError(t, os.WriteFile(file, page, 0o644))
	return "file://" + file
}

func TestReportsAreAccessible(t *testing.T) {
	for _, args := range [][]string{previewOfSamples, unusedInSamples} {
		t.Run(args[0], func(t *testing.T) {
			b := openReport(t, args...)
			for name, look := range someLooks() {
				b.look(look.scheme, look.width, look.height)
				b.checkLook("report-"+args[0]+"-"+name, wholePage)
			}
			if got := value[string](b, `getComputedStyle(document.querySelector("section")).borderTopStyle`); got != "solid" {
				t.Errorf("the browser does not apply the style: the border is %q", got)
			}
		})
	}
}

// TestReportSortsAndFilters uses the table of objects.
func TestReportSortsAndFilters(t *testing.T) {
	b := openReport(t, previewOfSamples...)
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
