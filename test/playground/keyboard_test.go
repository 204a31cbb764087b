// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sunset-k8s/sunset/test/expect"
)

func (b *tab) press(keys ...string) {
	b.t.Helper()
	expect.NoError(b.t, chromedp.Do(b.ctx, chromedp.KeyEvent(strings.Join(keys, ""))))
}

// tabTo presses Tab until an element that matches a selector has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 60 {
		b.press(kb.Tab)
		if value[bool](b, `document.activeElement.matches(`+quote(selector)+`)`) {
			return
		}
	}
	b.t.Fatalf("60 presses of Tab do not reach %s", selector)
}

// waitFor waits until a condition in JavaScript is true. The page may go to another address, which ends its scripts.
func (b *tab) waitFor(condition string) {
	b.t.Helper()
	is, err := false, error(nil)
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end) && !is; time.Sleep(50 * time.Millisecond) {
		is, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](`Boolean(`+condition+`)`))
	}
	if !is {
		state := value[string](b, `document.getElementById("status")?.textContent + ", " + document.activeElement?.outerHTML.slice(0, 100) + ", " + location.href`)
		b.t.Fatalf("%v\nafter 3 minutes, this is not true: %.300s\nthe page shows: %.500s", err, condition, state)
	}
}

// showSite shows a page of the site, and waits until its scripts run: a button does nothing before.
func (b *tab) showSite(url string) {
	b.t.Helper()
	expect.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(url)))
	b.waitFor(`document.getElementById("app")?.__vue_app__`)
}

// TestPageWorksWithTheKeyboard moves only with keys: from the top to the menu, to the slider and to an explanation.
func TestPageWorksWithTheKeyboard(t *testing.T) {
	b := openPlayground(t)
	b.tabTo("#samples")
	b.press("k") // the browser forgets keys after a second, so that more may not be one word
	b.settle()
	if got := value[string](b, `document.getElementById("samples").value`); got != "keep-newest" {
		t.Errorf("the menu shows %q", got)
	}
	b.tabTo(".cm-content")
	b.tabTo("#slider")
	before := value[string](b, `document.getElementById("time").value`)
	b.press(kb.ArrowRight, kb.ArrowRight)
	b.settle()
	if after := value[string](b, `document.getElementById("time").value`); after <= before {
		t.Errorf("the time was %s and is %s", before, after)
	}
	b.tabTo("#verdicts tbody button")
	b.press(kb.Enter)
	b.settle()
	if got := value[string](b, `document.getElementById("explanation").textContent`); !strings.Contains(got, "finishedAt(object)") {
		t.Errorf("no values of expressions: %s", got)
	}
}

// TestReportWorksWithTheKeyboard sorts and filters a table.
func TestReportWorksWithTheKeyboard(t *testing.T) {
	b := openReport(t, previewOfSamples...)
	b.tabTo("th button")
	b.press(kb.Enter)
	if got := value[string](b, `document.activeElement.parentElement.getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("the order is %q", got)
	}
	b.tabTo("input[type=search]")
	b.press("pod expired")
	if got := value[string](b, `document.activeElement.closest("section").querySelector("[role=status]").textContent`); !strings.Contains(got, " rows") || strings.HasPrefix(got, "0 ") {
		t.Errorf("the filter shows %q", got)
	}
}

// TestSiteWorksWithTheKeyboard skips the menu, and searches for a page.
func TestSiteWorksWithTheKeyboard(t *testing.T) {
	b, url := openSite(t)
	b.showSite(url)
	b.tabTo(".VPSkipLink")
	b.press(kb.Enter)
	b.waitFor(`document.activeElement.id === "VPContent" || location.hash === "#VPContent"`)
	b.showSite(url)
	b.tabTo("#local-search button")
	b.press(kb.Enter)
	b.waitFor(`document.activeElement?.id === "localsearch-input"`)
	b.press("windows and freezes")
	b.waitFor(`document.querySelector("#localsearch-list [role=option]")`)
	b.press(kb.Enter)
	b.waitFor(`location.pathname.endsWith(".html") && document.querySelector("h1")`)
}
