// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// cell is one text of a table.
type cell struct {
	text  string
	tone  tone
	right bool // aligned
}

// gap is the number of spaces between columns, as in kubectl.
const gap = 3

// table is a header and rows with as many cells.
type table struct {
	header []string
	rows   [][]cell
}

// lines draws the table.
func (t table) lines(p paint) []string {
	widths := t.widths()
	head := make([]cell, len(t.header))
	for i, text := range t.header {
		head[i] = cell{text: text, tone: heading, right: len(t.rows) > 0 && t.rows[0][i].right}
	}
	lines := []string{line(head, widths, p)}
	for _, row := range t.rows {
		lines = append(lines, line(row, widths, p))
	}
	return lines
}

// narrow drops columns in the given order until the table fits in width or all of them are dropped.
func (t table) narrow(width int, columns ...string) table {
	for _, column := range columns {
		if t.width() > width {
			t = t.without(slices.Index(t.header, column))
		}
	}
	return t
}

func (t table) without(column int) table {
	narrower := table{header: slices.Delete(slices.Clone(t.header), column, column+1)}
	for _, row := range t.rows {
		narrower.rows = append(narrower.rows, slices.Delete(slices.Clone(row), column, column+1))
	}
	return narrower
}

func (t table) width() int {
	width := gap * (len(t.header) - 1)
	for _, w := range t.widths() {
		width += w
	}
	return width
}

func (t table) widths() []int {
	widths := make([]int, len(t.header))
	for i, text := range t.header {
		widths[i] = utf8.RuneCountInString(text)
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	return widths
}

func line(cells []cell, widths []int, p paint) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
		text := p.in(c.tone, c.text)
		switch {
		case c.right:
			b.WriteString(pad + text)
		case i < len(cells)-1:
			b.WriteString(text + pad)
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}
