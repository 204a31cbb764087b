// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// gap separates columns.
const gap = "   "

// Table writes rows in columns. Each column is as wide as its widest cell so far. Cells are escaped.
type Table struct {
	// Paint returns a cell of a column in color; nil for no colors.
	Paint func(column int, cell string) string

	header []string
	right  []bool
	widths []int
}

// NewTable returns a table. A column whose header starts with ">" is aligned to the right.
func NewTable(header ...string) *Table {
	t := &Table{header: make([]string, len(header)), right: make([]bool, len(header)), widths: make([]int, len(header))}
	for c := range header {
		t.header[c], t.right[c] = strings.CutPrefix(header[c], ">")
		t.widths[c] = utf8.RuneCountInString(t.header[c])
	}
	return t
}

// Write writes the header and the rows. It calls row twice for each row, and stores none.
func (t *Table) Write(w io.Writer, rows int, row func(int) []string) error {
	for i := range rows {
		t.measure(row(i))
	}
	if _, err := fmt.Fprintln(w, t.aligned(t.header, nil)); err != nil {
		return err
	}
	for i := range rows {
		if err := t.Append(w, row(i)); err != nil {
			return err
		}
	}
	return nil
}

// Append writes one more row.
func (t *Table) Append(w io.Writer, cells []string) error {
	t.measure(cells)
	_, err := fmt.Fprintln(w, t.aligned(cells, t.Paint))
	return err
}

func (t *Table) measure(cells []string) {
	for c, cell := range cells {
		t.widths[c] = max(t.widths[c], utf8.RuneCountInString(EscapeLine(cell)))
	}
}

// aligned returns one line of the table.
func (t *Table) aligned(cells []string, paint func(int, string) string) string {
	var line strings.Builder
	for c, cell := range cells {
		if c > 0 {
			line.WriteString(gap)
		}
		cell = EscapeLine(cell)
		pad := strings.Repeat(" ", t.widths[c]-utf8.RuneCountInString(cell))
		if paint != nil && cell != "" {
			cell = paint(c, cell)
		}
		if t.right[c] {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(line.String(), " ")
}
