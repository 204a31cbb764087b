// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/engine"
)

// cell is an expression, or a part of one, and its value.
type cell struct {
	indent      int
	text, value string
}

// gap separates an expression from its value.
const gap = "   "

// valueColumns is the minimum number of columns for values.
const valueColumns = 22

// expressions writes each expression of a rule with its parts below it, and the values in one column.
func (e *textWriter) expressions(all []Expression) {
	if len(all) > 0 && all[0].Tag != "" {
		e.line(2, "evaluated for each tag; tag %s decides:", all[0].Tag)
	}
	cells := cellsOf(all)
	column := 0
	for _, c := range cells {
		if end := c.indent + text.Columns(c.text) + len(gap); end <= e.style.Width-valueColumns {
			column = max(column, end)
		}
	}
	for _, c := range cells {
		c.write(e, column)
	}
}

// write writes the value after the text, or below it if either is too long.
func (c cell) write(e *textWriter, column int) {
	lines := e.style.Wrap(c.text, c.indent, c.indent+4)
	last := lines[len(lines)-1]
	if text.Columns(last)+len(gap) <= column && column+text.Columns(c.value) <= e.style.Width {
		lines[len(lines)-1] = last + strings.Repeat(" ", column-text.Columns(last)) + c.value
	} else {
		lines = append(lines, below(e.style, c, column)...)
	}
	for _, line := range lines {
		fmt.Fprintln(e.w, line)
	}
}

// below puts a value on separate lines: in the value column if it fits.
func below(style text.Style, c cell, column int) []string {
	if column+text.Columns(c.value) <= style.Width {
		return style.Wrap(c.value, column, column)
	}
	return style.Wrap(c.value, c.indent+4, c.indent+6)
}

func cellsOf(all []Expression) []cell {
	var cells []cell
	for _, e := range all {
		failure := strings.TrimPrefix(e.Error, e.Field+": ")
		cells = append(cells, cell{2, e.Field + ": " + e.Text, gave(e.Value, failure, e.Skipped, hasFailure(e.Parts, 0, failure))})
		for i, p := range e.Parts {
			cells = append(cells, cell{4 + 2*p.Depth, p.Text, gave(p.Value, p.Err, p.Skipped, hasFailure(e.Parts[i+1:], p.Depth+1, p.Err))})
		}
	}
	for i := range cells {
		cells[i].text, cells[i].value = text.Escape(cells[i].text), text.Escape(cells[i].value)
	}
	return cells
}

// gave formats the result of an expression. An error appears only at the part where it occurred.
func gave(value, failure string, skipped, below bool) string {
	switch {
	case skipped:
		return "not needed"
	case below:
		return "failed"
	case failure != "":
		return "error: " + failure
	default:
		return value
	}
}

// hasFailure reports whether one of the next parts, of at least this depth, has the same error.
func hasFailure(next []engine.Part, depth int, failure string) bool {
	for _, p := range next {
		if p.Depth < depth {
			return false
		}
		if failure != "" && p.Err == failure {
			return true
		}
	}
	return false
}
