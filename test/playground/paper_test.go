// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

// paperWidth is the width of A4 in landscape without margins, in pixels.
const paperWidth = 1032

// someReports returns the commands of all reports, or only one in short tests.
func someReports(one []string) [][]string {
	if long.Enabled() {
		return [][]string{previewOfSamples, unusedInSamples}
	}
	return [][]string{one}
}

// TestReportsPrintWell prints pages from a dark browser: black on white, with all columns and rows, and without what needs a click.
func TestReportsPrintWell(t *testing.T) {
	for _, args := range someReports(previewOfSamples) {
		t.Run(args[0], func(t *testing.T) {
			b := openReport(t, args...)
			b.look("dark", paperWidth, 1000)
			rows := value[int](b, `document.querySelectorAll("tbody tr").length`)
			dark := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}
			call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print", Features: dark})
			if got := value[string](b, `getComputedStyle(document.body).backgroundColor + " " + getComputedStyle(document.body).color`); got != "rgb(255, 255, 255) rgb(0, 0, 0)" {
				t.Errorf("colors of the paper and the text: %s", got)
			}
			if value[bool](b, `Array.from(document.querySelectorAll(".filter, nav")).some((e) => e.checkVisibility())`) {
				t.Error("filters or links are printed")
			}
			if got := value[int](b, `Array.from(document.querySelectorAll("tbody tr")).filter((row) => row.checkVisibility()).length`); got != rows {
				t.Errorf("%d of %d rows are printed", got, rows)
			}
			for _, cut := range value[[]string](b, `Array.from(document.querySelectorAll("section *")).filter((e) => e.getBoundingClientRect().right > `+quote(paperWidth+1)+`).map((e) => e.outerHTML.slice(0, 200))`) {
				t.Errorf("wider than the paper: %s", cut)
			}
			b.shoot("report-"+args[0]+"-print", wholePage)
			b.print("report-" + args[0])
		})
	}
}

// print writes a page as PDF beside the screenshots.
func (b *tab) print(name string) {
	b.t.Helper()
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF(func(p *page.PrintToPDFParams) { p.PreferCSSPageSize = new(true) }))
	expect.NoError(b.t, err)
	b.save(name+".pdf", pdf)
}

// TestReportsWorkWithoutJavaScript: charts and tables are there, and nothing that needs a script.
func TestReportsWorkWithoutJavaScript(t *testing.T) {
	for _, args := range someReports(unusedInSamples) {
		t.Run(args[0], func(t *testing.T) {
			b := openReport(t, args...)
			numbers := func() []int {
				return value[[]int](b, `["tbody tr", "svg rect", "th button, input"].map((q) => document.querySelectorAll(q).length)`)
			}
			with := numbers()
			call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
			b.show(value[string](b, `location.href`))
			without := numbers()
			if with[0] < 10 || with[1] < 3 || with[2] < 10 {
				t.Fatalf("rows, bars and controls with JavaScript: %d", with)
			}
			expect.Equal(t, "rows, bars and controls without JavaScript", []int{with[0], with[1], 0}, without)
			if overflow := value[int](b, `document.documentElement.scrollWidth - innerWidth`); overflow > 0 {
				t.Errorf("the page is %d pixels wider than the window", overflow)
			}
			b.shoot("report-"+args[0]+"-without-javascript", wholePage)
		})
	}
}
