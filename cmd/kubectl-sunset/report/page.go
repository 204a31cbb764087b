// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"iter"
	"strings"
)

// Page is a page of HTML.
type Page struct {
	Title    string
	Links    []Link // to other pages; none in a file
	Facts    []Fact
	Sections []Section
}

// Link is a link to another page of the same server.
type Link struct{ Name, Path string }

// Fact is a line at the top of a page.
type Fact struct{ Name, Value string }

// Section is a table, with a chart of the same numbers above it.
type Section struct {
	Title string
	Chart *Chart // nil for none
	Table
}

// Table is a table in the order of its rows.
type Table struct {
	Columns []Column
	Len     int
	Row     func(i int) []string // called once for each row, in order
	Colors  bool                 // each row begins with its color in the chart
}

// Column is a column of a Table.
type Column struct {
	Title  string
	Number bool // the cells are numbers, or begin with a number, and may have a unit such as kB
	Action bool // the cells are actions: Keep, Wait or Delete
}

// Columns returns columns without colors. As in a text.Table, a title that starts with ">" is that of numbers.
func Columns(titles ...string) []Column {
	all := make([]Column, len(titles))
	for i, title := range titles {
		all[i].Title, all[i].Number = strings.CutPrefix(title, ">")
	}
	return all
}

// mostRows is the most rows of a table. A browser takes too long to show more.
const mostRows = 50_000

// Rows returns the first rows.
func (t Table) Rows() iter.Seq2[int, []string] {
	return func(yield func(int, []string) bool) {
		for i := range t.Len - t.More() {
			if !yield(i, t.Row(i)) {
				return
			}
		}
	}
}

// More returns the number of rows that the page does not show.
func (t Table) More() int { return max(0, t.Len-mostRows) }

var (
	//go:embed page.html
	html string
	//go:embed page.css
	style string
	//go:embed page.js
	script string

	page = template.Must(template.New("page").Funcs(template.FuncMap{"color": color}).Parse(html))
)

// Write writes a page.
func Write(w io.Writer, p *Page) error {
	b := bufio.NewWriter(w)
	err := page.Execute(b, struct {
		*Page
		Style    template.CSS
		Script   template.JS
		Security string
	}{p, template.CSS(style), template.JS(script), Security})
	if err != nil {
		return err
	}
	return b.Flush()
}

// Security is the Content-Security-Policy of every page.
var Security = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
	sumOf(style), sumOf(script))

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
