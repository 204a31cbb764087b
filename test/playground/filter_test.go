// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/sunset-k8s/sunset/test/expect"
)

// rows returns the action and the name of each row of the table.
func (b *tab) rows() []string {
	b.t.Helper()
	return value[[]string](b, `Array.from(document.querySelectorAll("#verdicts tbody tr:has(button)"), (row) => row.querySelector(".badge").textContent + " " + row.querySelector("th button").textContent)`)
}

// filter writes into the filter of the table.
func (b *tab) filter(text string) {
	b.t.Helper()
	b.run(`(() => { const input = document.querySelector("#verdicts input"); input.value = ` + quote(text) + `; input.dispatchEvent(new Event("input")); })()`)
}

func (b *tab) filterStatus() string {
	b.t.Helper()
	return value[string](b, `document.querySelector("#verdicts [role=status]").textContent`)
}

// TestFiltersCombineAndStay: a row must have the action and all words, also after a change of the verdicts.
func TestFiltersCombineAndStay(t *testing.T) {
	b := openPlayground(t)
	all := b.rows()
	b.run(`document.querySelector("#verdicts .chip.Delete").click()`)
	deleted := b.rows()
	if len(deleted) == 0 || len(deleted) == len(all) || slices.ContainsFunc(deleted, func(row string) bool { return !strings.HasPrefix(row, "Delete ") }) {
		t.Fatalf("with action Delete: %q of %q", deleted, all)
	}
	_, name, _ := strings.Cut(deleted[0], " ")
	b.filter("job " + strings.ToUpper(name))
	expect.Equal(t, "rows with action and words", deleted[0], strings.Join(b.rows(), ","))
	b.run(`document.getElementById("now").click()`)
	b.settle()
	expect.Equal(t, "rows after a change of the time", deleted[0], strings.Join(b.rows(), ","))

	b.filter("undefined")
	expect.Equal(t, "table without rows", "No verdict matches the filters.", value[string](b, `document.querySelector("#verdicts tbody").textContent`))
	if got := b.filterStatus(); !strings.HasPrefix(got, "The filters show 0 of ") {
		t.Errorf("status of the filters: %q", got)
	}
	b.run(`Array.from(document.querySelectorAll("#verdicts .filters button")).at(-1).click()`)
	expect.Equal(t, "number of all rows", len(all), len(b.rows()))
	expect.Equal(t, "status of the filters", "", b.filterStatus())
}

// TestRowKeepsTheFocus: the table is drawn again after a selection, and the keyboard stays at its row.
func TestRowKeepsTheFocus(t *testing.T) {
	b := openPlayground(t)
	b.tabTo("#verdicts tbody button")
	b.press(kb.Tab)
	focused := `document.activeElement.closest("tbody tr")?.querySelector("th button").textContent ?? ""`
	name := value[string](b, focused)
	b.press(kb.Enter)
	b.settle()
	expect.Equal(t, "row with the focus", name, value[string](b, focused))
	expect.Equal(t, "selected row", name, value[string](b, `document.querySelector("#verdicts tr[aria-current=true] th button").textContent`))
}
